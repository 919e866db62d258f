"""A sweep as plain data: for hashing, and for writing it out again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from harness.config.loading import parse_config
from harness.config.schema import SweepConfig
from harness.config.sections import Added, Enters, Section, Unordered


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


def from_identity(identity: Mapping[str, Any]) -> SweepConfig:
    """A sweep with that identity: what does not enter it, such as resources, is at its defaults."""
    return parse_config(as_written(identity))


def as_written(identity: Mapping[str, Any]) -> dict[str, Any]:
    """An identity as somebody would write it in YAML: what stands for nothing in it is left out."""
    known = {key: value for key, value in identity.items() if key in SweepConfig.model_fields}
    written = _without_nothing(known)
    assert isinstance(written, dict)
    return written


def _without_nothing(value: Any) -> Any:
    match value:
        case Mapping():
            kept = {key: _without_nothing(entry) for key, entry in value.items()}
            chosen = ("statistics", "basis_sizes")  # none at all is a choice there, and not the default
            return {key: entry for key, entry in kept.items() if key in chosen or entry not in (None, [])}
        case list() | tuple():
            return [_without_nothing(entry) for entry in value]
    return value


def to_yaml(config: SweepConfig) -> str:
    """Write a sweep out in full, defaults included; reading it again gives an equal one."""
    data = config.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)


def _canonical(section: Section) -> dict[str, Any]:
    kept = {}
    for field in type(section).model_fields:
        value = getattr(section, field)
        outside = isinstance(value, Section) and value.enters is Enters.NOTHING
        unset = value in (None, ()) and Added in section.marks_of(field)
        if outside or unset or section.enters_of(field) is Enters.NOTHING:
            continue
        plain = _plain(value)
        kept[field] = sorted(plain) if Unordered in section.marks_of(field) else plain
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return _canonical(value)
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
