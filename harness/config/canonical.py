"""A sweep as plain data: for hashing, and for writing it out again."""

from __future__ import annotations

from typing import Any

import yaml

from harness.config.schema import SweepConfig
from harness.config.sections import Enters, Section, Unordered


def run_identity(config: SweepConfig) -> dict[str, Any]:
    """Everything of a sweep but how the work is done, as JSON values: equal where one run resumes another.

    Defaults are written out, single values stand as lists, and lists without an order are sorted, so that two
    spellings of one sweep are equal. Job ids hold less: see `Enters`.
    """
    identity = _canonical(config)
    for stage, plain in zip(config.stages, identity["stages"], strict=True):
        plain["methods"] = [method.title for method in config.methods_of(stage)]
        plain["models"] = [model.title for model in config.models_of(stage)]
        plain["seeds"] = sorted(config.seeds_of(stage))
        plain["split"] = None if stage.kind == "measure" else stage.text_split
    for method, plain in zip(config.methods, identity["methods"], strict=True):
        sizes = [size for size in method.basis_sizes if size is not None]
        plain |= {"name": method.title, "constraints": sorted(sizes)}
    for model, plain in zip(config.models, identity["models"], strict=True):
        plain["label"] = model.title
    return identity


def to_yaml(config: SweepConfig) -> str:
    """Write a sweep out in full, defaults included; reading it again gives an equal one."""
    data = config.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)


def _canonical(section: Section) -> dict[str, Any]:
    kept = {}
    for field in type(section).model_fields:
        value = getattr(section, field)
        outside = isinstance(value, Section) and value.enters is Enters.NOTHING
        if outside or section.enters_of(field) is Enters.NOTHING:
            continue
        plain = _plain(value)
        kept[field] = sorted(plain) if Unordered in section.marks_of(field) else plain
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return _canonical(value)
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
