"""What all parts of a sweep's schema share: strictness, plain types, and what enters an identity.

A key belongs to one of three groups, and `Enters` says to which:

    JOBS      results depend on it: it goes, in some form, into the ids of jobs. This is the default
    RUN       a name: it tells the rows of a run apart, but renaming runs no job again
    NOTHING   how the work is done: may be changed at any time, also between a run and its resumption
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from enum import StrEnum
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from bat.acceptance import Fallback as Fallback
from bat.solvers import SOLVER_NAMES, check_solver
from harness.scoring.statistics import STATISTIC_NAMES, check_statistic
from workers.names import Dtype as Dtype
from workers.names import Split as Split

Item = TypeVar("Item", bound=Hashable)


class Enters(StrEnum):
    """What a key is part of the identity of."""

    JOBS = "jobs"
    RUN = "run"
    NOTHING = "nothing"


class Unordered:
    """Marks a list whose order changes nothing, so that it is sorted before it is hashed."""


class Added:
    """Marks a key that came later: it enters identities only where it is set, so that runs from before are
    resumed as they are."""


class Section(BaseModel):
    """A part of a sweep: frozen, no key that is not declared, no value turned into another type."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        # Descriptions are written once, under each field; the guide and the JSON Schema take them from there.
        use_attribute_docstrings=True,
    )

    enters: ClassVar[Enters] = Enters.JOBS

    @classmethod
    def marks_of(cls, field: str) -> list[Any]:
        """What was written beside a field's type."""
        return cls.model_fields[field].metadata

    @classmethod
    def enters_of(cls, field: str) -> Enters:
        """Return the group that a field is in: its own mark, else that of the section."""
        return next((mark for mark in cls.marks_of(field) if isinstance(mark, Enters)), cls.enters)


def _distinct(values: tuple[Item, ...]) -> tuple[Item, ...]:
    twice = [value for index, value in enumerate(values) if value in values[:index]]
    if twice:
        raise ValueError(f"every entry must be listed once; got {twice[0]!r} twice")
    return values


def _several(value: object) -> object:
    return value if isinstance(value, tuple) else (value,)


def one_or_several(entry: Any) -> BeforeValidator:
    """Let a single value stand for a list of one; `entry` is its type, for the JSON Schema."""
    return BeforeValidator(_several, json_schema_input_type=entry | tuple[entry, ...])


DISTINCT: Callable[..., Any] = AfterValidator(_distinct)  # type: ignore[assignment]
NOT_EMPTY = Field(min_length=1)

Text = Annotated[str, Field(min_length=1)]
# Spelt on command lines and in file names.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._=-]*$", max_length=64)]
Label = Annotated[str, Field(pattern=r"^\S(.*\S)?$", max_length=96)]
Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Fraction = Annotated[float, Field(gt=0, lt=1)]

Seeds = Annotated[tuple[Natural, ...], one_or_several(Natural), NOT_EMPTY, DISTINCT, Unordered]
BasisSizes = Annotated[tuple[Natural, ...], one_or_several(Natural), DISTINCT, Unordered]

# Plug-ins may add to these, so the JSON Schema shows the project's own as examples.
Solver = Annotated[str, Field(examples=list(SOLVER_NAMES)), AfterValidator(check_solver)]
Statistic = Annotated[str, Field(examples=list(STATISTIC_NAMES)), AfterValidator(check_statistic)]
