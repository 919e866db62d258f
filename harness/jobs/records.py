"""A frozen dataclass as JSON and back: how typed specifications are stored.

Every field becomes a key with its own name, or with the older name that `stored_as` gives. A field whose
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


def stored_as(key: str) -> Any:
    """A field that was renamed: its key in the JSON stays what it was, and so do the ids."""
    return dataclasses.field(metadata={"key": key})


def to_json(record: Any) -> dict[str, Any]:
    """The record as JSON values."""
    written = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if value is None and field.default is None:
            continue
        written[_key(field)] = _to_json_value(value)
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
        name, kind = fields[key]
        values[name] = _from_json_value(kind, value)
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
def _fields_by_key(record: Any) -> dict[str, tuple[str, Any]]:
    """The name and the type of the field with each key."""
    hints = typing.get_type_hints(record)
    return {_key(field): (field.name, hints[field.name]) for field in dataclasses.fields(record)}


def _key(field: dataclasses.Field[Any]) -> str:
    key: str = field.metadata.get("key", field.name)
    return key
