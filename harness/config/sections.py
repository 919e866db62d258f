"""What all sections of a sweep share: strictness, simple types, and which keys enter an identity.

Every key belongs to one of three groups (`Enters`):

    JOBS      results depend on it, so it enters job ids in some form. This is the default
    RUN       a name: it identifies rows of a run, but renaming does not run any job again
    NOTHING   how the work is done: can be changed at any time, also before resuming
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from bat.acceptance import Fallback as Fallback
from bat.solvers import SOLVER_NAMES, check_solver
from harness.scoring.statistics import STATISTIC_NAMES, check_statistic
from workers.names import Dtype as Dtype
from workers.names import Engine as Engine
from workers.names import Split as Split
from workers.names import SplitOn as SplitOn

Item = TypeVar("Item", bound=Hashable)


class Enters(StrEnum):
    """The identities that a key is part of."""

    JOBS = "jobs"
    RUN = "run"
    NOTHING = "nothing"


class Unordered:
    """Marks a list whose order does not matter, so it is sorted before hashing."""


class Added:
    """Marks a key that was added later: it enters identities only if it is not the default, so older runs can
    be resumed."""


@dataclass(frozen=True, slots=True)
class Formerly:
    """Marks a key that was renamed: sweeps may still use the old name, and identities keep it, so older runs
    can be resumed."""

    name: str


class Section(BaseModel):
    """A section of a sweep: frozen, without unknown keys, and values keep their type."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        # The guide and the JSON Schema take their descriptions from the docstrings of fields.
        use_attribute_docstrings=True,
    )

    enters: ClassVar[Enters] = Enters.JOBS

    @classmethod
    def marks_of(cls, field: str) -> list[Any]:
        """The metadata in a field's annotation."""
        return cls.model_fields[field].metadata

    @classmethod
    def enters_of(cls, field: str) -> Enters:
        """Return the group of a field: its own mark or, by default, that of the section."""
        return next((mark for mark in cls.marks_of(field) if isinstance(mark, Enters)), cls.enters)

    @classmethod
    def former_names(cls) -> dict[str, str]:
        """The old names of renamed fields, each with the field's name."""
        return {
            mark.name: field
            for field in cls.model_fields
            for mark in cls.marks_of(field)
            if isinstance(mark, Formerly)
        }

    @model_validator(mode="before")
    @classmethod
    def _rename(cls, data: Any) -> Any:
        former = cls.former_names()
        if not isinstance(data, Mapping) or former.keys().isdisjoint(data):
            return data
        for old, new in former.items():
            if old in data and new in data:
                raise ValueError(f"{new!r} and its old name {old!r} must not both be set; keep {new!r}")
        return {former.get(key, key): value for key, value in data.items()}


def _distinct(values: tuple[Item, ...]) -> tuple[Item, ...]:
    duplicates = [value for index, value in enumerate(values) if value in values[:index]]
    if duplicates:
        raise ValueError(f"entries must be distinct; got {duplicates[0]!r} twice")
    return values


def _several(value: object) -> object:
    return value if isinstance(value, tuple) else (value,)


def one_or_several(entry: Any) -> BeforeValidator:
    """Accept a single value instead of a list; `entry` is its type, for the JSON Schema."""
    return BeforeValidator(_several, json_schema_input_type=entry | tuple[entry, ...])


DISTINCT: Callable[..., Any] = AfterValidator(_distinct)  # type: ignore[assignment]
NOT_EMPTY = Field(min_length=1)

Text = Annotated[str, Field(min_length=1)]


LONGEST_NAME = 64
NAME_RULE = (
    f"must have letters, digits and . _ = - only, {LONGEST_NAME} at most, and begin with a letter or digit"
)


def is_name(name: str) -> bool:
    """Letters, digits and marks of any script, and four signs: safe on command lines and in file names."""
    fits = all(character in "._=-" or unicodedata.category(character)[0] in "LNM" for character in name)
    return fits and name[:1].isalnum() and len(name) <= LONGEST_NAME


def _check_name(name: str) -> str:
    if not is_name(name):
        raise ValueError(f"a name {NAME_RULE}; got {name!r}")
    return name


Name = Annotated[
    str,
    AfterValidator(_check_name),
    Field(json_schema_extra={"minLength": 1, "maxLength": LONGEST_NAME}),
]
RESERVED_LABEL = "human"  # what scores of human text are listed under


def _not_reserved(label: str) -> str:
    if label == RESERVED_LABEL:
        raise ValueError(f"{label!r} is reserved for what people wrote; choose another name")
    return label


Label = Annotated[str, Field(pattern=r"^\S(.*\S)?$", max_length=96)]
MethodLabel = Annotated[Label, AfterValidator(_not_reserved)]


def _whole(value: object) -> object:
    """A whole number may be written as 1e3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_WHOLE = BeforeValidator(_whole)
EngineOption = bool | int | float | str | list[str] | list[int]
Positive = Annotated[int, Field(ge=1), _WHOLE]
Natural = Annotated[int, Field(ge=0), _WHOLE]
AtLeastTwo = Annotated[int, Field(ge=2), _WHOLE]
Fraction = Annotated[float, Field(gt=0, lt=1)]

Seeds = Annotated[tuple[Natural, ...], one_or_several(Natural), NOT_EMPTY, DISTINCT, Unordered]
ConstraintCounts = Annotated[tuple[Natural, ...], one_or_several(Natural), DISTINCT, Unordered]

# Plug-ins can add to these, so the JSON Schema lists the built-in ones as examples only.
Solver = Annotated[str, Field(examples=list(SOLVER_NAMES)), AfterValidator(check_solver)]
Statistic = Annotated[str, Field(examples=list(STATISTIC_NAMES)), AfterValidator(check_statistic)]
