"""A sweep as plain data, to identify its runs and to write it as YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from harness.config.loading import parse_config
from harness.config.schema import SweepConfig
from harness.config.sections import Added, Enters, Section, Unordered

_CURRENT_NAMES = {
    old: new for section in Section.__subclasses__() for old, new in section.former_names().items()
}


def run_identity(config: SweepConfig) -> dict[str, Any]:
    """Everything in a sweep except how the work is done, as JSON values. Equal if one run resumes another.

    Defaults are included, single values become lists, and lists whose order does not matter are sorted, so
    two ways to write the same sweep are equal. Job ids depend on less: see `Enters`.
    """
    identity = _canonical(config)
    for stage, plain in zip(config.stages, identity["stages"], strict=True):
        plain["methods"] = [method.title for method in config.methods_of(stage)]
        plain["models"] = [model.title for model in config.models_of(stage)]
        plain["seeds"] = sorted(config.seeds_of(stage))
        plain["split"] = None if stage.kind == "measure" else stage.text_split
    for method, plain in zip(config.methods, identity["methods"], strict=True):
        numbers = [number for number in method.constraint_counts if number is not None]
        plain |= {"name": method.title, "constraints": sorted(numbers)}
    for model, plain in zip(config.models, identity["models"], strict=True):
        plain["label"] = model.title
    return identity


def from_identity(identity: Mapping[str, Any]) -> SweepConfig:
    """A sweep with that identity. What does not enter it, such as resources, has its default."""
    return parse_config(as_written(identity))


def as_written(identity: Mapping[str, Any]) -> dict[str, Any]:
    """An identity as one would write it in YAML: without empty values."""
    sweep = {key: value for key, value in identity.items() if key in SweepConfig.model_fields}
    written = _without_empty(sweep)
    assert isinstance(written, dict)
    return written


def _without_empty(value: Any) -> Any:
    match value:
        case Mapping():
            kept = {key: _without_empty(entry) for key, entry in value.items()}
            may_be_empty = ("statistics", "basis_sizes")  # an empty list is not their default
            return {
                _CURRENT_NAMES.get(key, key): entry
                for key, entry in kept.items()
                if key in may_be_empty or entry not in (None, [])
            }
        case list() | tuple():
            return [_without_empty(entry) for entry in value]
    return value


def to_yaml(config: SweepConfig) -> str:
    """A sweep as YAML with all defaults; reading it gives an equal sweep."""
    data = config.model_dump(mode="json", exclude_none=True)
    return yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110)


def _canonical(section: Section) -> dict[str, Any]:
    kept = {}
    stored_names = {new: old for old, new in section.former_names().items()}
    for field in type(section).model_fields:
        value = getattr(section, field)
        outside = isinstance(value, Section) and value.enters is Enters.NOTHING
        unset = value == type(section).model_fields[field].default and Added in section.marks_of(field)
        if outside or unset or section.enters_of(field) is Enters.NOTHING:
            continue
        plain = _plain(value)
        name = stored_names.get(field, field)
        kept[name] = sorted(plain) if Unordered in section.marks_of(field) else plain
    return kept


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return _canonical(value)
    return [_plain(entry) for entry in value] if isinstance(value, tuple) else value
