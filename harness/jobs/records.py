"""A frozen dataclass as JSON and back: how typed specifications are stored.

Every field becomes a key with its own name, or with the older name that `StoredAs` gives. A field whose
default is None is left out while it is None; a field without a default is always written, even if it is None.
Job ids are hashes of this JSON, so a field that is added later must default to None.
"""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from bat.errors import InvalidInputError

Record = TypeVar("Record")


@dataclasses.dataclass(frozen=True, slots=True)
class StoredAs:
    """Annotates a field that was renamed: its key in the JSON stays what it was, and so do the ids."""

    key: str


def to_json(record: Any) -> dict[str, Any]:
    """The record as JSON values."""
    written = {}
    for key, (field, _) in _fields_by_key(cast(Any, type(record))).items():
        value = getattr(record, field.name)
        if value is None and field.default is None:
            continue
        written[key] = _to_json_value(value)
    return written


def _to_json_value(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return to_json(value)
    if isinstance(value, tuple):
        return [_to_json_value(entry) for entry in value]
    return value


def from_json(record: type[Record], data: Mapping[str, Any]) -> Record:
    """The record from its JSON; InvalidInputError if a key is missing or unknown."""
    fields = _fields_by_key(cast(Any, record))
    unknown = sorted(data.keys() - fields.keys())
    if unknown:
        raise InvalidInputError(
            f"{record.__name__} has no field {unknown[0]!r}. A newer bat-harness may have written it: "
            "use that one."
        )
    values = {}
    for key, value in data.items():
        field, kind = fields[key]
        values[field.name] = _from_json_value(kind, value)
    try:
        return record(**values)
    except TypeError as error:
        raise InvalidInputError(f"a stored {record.__name__} is not complete: {error}.") from error


def _from_json_value(kind: Any, value: Any) -> Any:
    if value is None:
        return None
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        (kind,) = (option for option in typing.get_args(kind) if option is not types.NoneType)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return from_json(kind, value)
    if typing.get_origin(kind) is tuple:
        return tuple(value)
    return value


@functools.cache
def _fields_by_key(record: Any) -> dict[str, tuple[dataclasses.Field[Any], Any]]:
    """The field with each key, and its type."""
    hints = typing.get_type_hints(record, include_extras=True)
    fields = {}
    for field in dataclasses.fields(record):
        key, kind = field.name, hints[field.name]
        if typing.get_origin(kind) is typing.Annotated:
            kind, stored = typing.get_args(kind)
            key = stored.key
        fields[key] = (field, kind)
    return fields
