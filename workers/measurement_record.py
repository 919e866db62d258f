"""What a pass over human text leaves behind: a few numbers for each token a person wrote.

They are facts about the model's distribution there (``bat.rules.TokenFacts``), so the parameter at which any
rule rejects the token follows from them bit for bit, without the model or the distribution.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from bat.arrays import AnyArray, BoolArray, FloatArray, IntArray, TextArray
from bat.errors import InvalidInputError
from bat.program import Status
from bat.rules import TokenFacts, get_rule_form
from bat.rules.facts import EXTRA_FACTS, as_levels
from bat.suggestions import did_you_mean

_Record = TypeVar("_Record", "Thresholds", "Measurement")


# A record's columns are its fields of these types, as the annotations spell them.
_KINDS: dict[object, type[np.generic]] = {
    "FloatArray": np.float64,
    "IntArray": np.int64,
    "TextArray": np.str_,
    "FloatArray | None": np.float64,  # measured where a sweep has a rule that asks for it
}


@dataclass(frozen=True, slots=True, eq=False)
class Thresholds:
    """Critical thresholds at one number of constraints, a row for each token.

    A solve that did not close keeps the valid, wider interval it reached, and says so in ``status``.
    ``rank`` and ``mass`` are what ba-top-k and ba-nucleus ask at either bound.
    """

    lower: FloatArray  # [n]: lower <= tau* <= upper
    upper: FloatArray
    lower_rank: IntArray
    upper_rank: IntArray
    lower_mass: FloatArray
    upper_mass: FloatArray
    status: TextArray  # values of bat.Status
    pivots: IntArray
    passes: IntArray
    seconds: FloatArray  # time taken: the one column that differs from run to run
    lower_entropy_share: FloatArray | None = None  # what ba-top-h asks
    upper_entropy_share: FloatArray | None = None

    def __post_init__(self) -> None:
        _settle(self)

    def __len__(self) -> int:
        return len(self.lower)

    @property
    def closed(self) -> BoolArray:
        """Which intervals reached the tolerance, [n]."""
        return np.asarray(self.status == Status.CLOSED.value)


class CriticalParameters(NamedTuple):
    """Per token, where a rule begins to reject it, to be read with ``Rule.rejects``.

    A token is rejected for certain where ``certain`` says so, and possibly where ``possible`` does. The two
    differ for basis-aware rules only, by the width of the token's interval.
    """

    certain: FloatArray  # [n]
    possible: FloatArray  # [n]


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """A row for each (document, position); all columns have the same length n."""

    document: TextArray  # [n]: ids
    position: IntArray  # tokens before the one asked about
    token: IntArray  # the token a person wrote
    probability: FloatArray
    entropy: FloatArray  # of the distribution, nats
    maximum: FloatArray  # the largest probability
    rank: IntArray  # tokens strictly likelier
    mass_above: FloatArray  # what nucleus asks
    mass_nearer: FloatArray  # what typical asks
    deviation: FloatArray | None = None  # what top-n-sigma asks
    collision: FloatArray | None = None  # what p-less asks
    entropy_share: FloatArray | None = None  # what top-h asks
    thresholds: Mapping[int, Thresholds] = field(default_factory=dict)  # by number of constraints

    def __post_init__(self) -> None:
        _settle(self)
        object.__setattr__(self, "thresholds", dict(sorted(self.thresholds.items())))
        for size, rows in self.thresholds.items():
            if len(rows) != len(self):
                raise InvalidInputError(
                    f"columns must have one length; thresholds at {size} constraints have {len(rows)} rows, "
                    f"the measurement {len(self)}."
                )

    def __len__(self) -> int:
        return len(self.document)

    @property
    def constraints(self) -> tuple[int, ...]:
        """The numbers of constraints measured, ascending."""
        return tuple(self.thresholds)

    def get_thresholds(self, constraints: int) -> Thresholds:
        """Return the critical thresholds at a number of constraints that was measured."""
        if constraints not in self.thresholds:
            known = ", ".join(map(str, self.thresholds)) or "none"
            raise InvalidInputError(
                f"the number of constraints must be one that was measured ({known}); got {constraints}. "
                f"Measure it with constraints=({constraints},)."
            )
        return self.thresholds[constraints]

    def critical_parameters(self, rule_name: str, constraints: int = 20) -> CriticalParameters:
        """Return where the rule begins to reject each token; ``constraints`` matters to basis-aware rules."""
        rule = get_rule_form(rule_name)
        if not rule.basis_aware:
            certain = rule.critical_parameter(self._plain_facts(), self.probability)
            return CriticalParameters(certain, certain)
        rows = self.get_thresholds(constraints)
        ends = []
        for bound, rank, mass, share in (
            (rows.upper, rows.upper_rank, rows.upper_mass, rows.upper_entropy_share),
            (rows.lower, rows.lower_rank, rows.lower_mass, rows.lower_entropy_share),
        ):
            levels = as_levels(len(self), bound, self.probability, basis_aware=True)
            extra = self._extra_facts(share)
            facts = TokenFacts(*levels, self.maximum, self.entropy, rank, mass, extra=extra)
            ends.append(rule.critical_parameter(facts, bound, self.probability))
        return CriticalParameters(*ends)

    def _plain_facts(self) -> TokenFacts:
        levels = as_levels(len(self), self.probability, None, basis_aware=False)
        masses, extra = (self.mass_above, self.mass_nearer), self._extra_facts(self.entropy_share)
        return TokenFacts(*levels, self.maximum, self.entropy, self.rank, *masses, extra)

    def _extra_facts(self, entropy_share: FloatArray | None) -> dict[str, FloatArray]:
        values = (self.deviation, self.collision, entropy_share)
        return {name: value for name, value in zip(EXTRA_FACTS, values, strict=True) if value is not None}

    def answers(self, rule_name: str) -> bool:
        """Whether it was measured with all that the rule asks."""
        return all(getattr(self, name) is not None for name in get_rule_form(rule_name).rule.extra_facts)

    def select(self, rows: slice | AnyArray | Sequence[int]) -> Measurement:
        """Return the rows given by a mask, by indices or by a slice."""
        chosen = rows if isinstance(rows, slice | np.ndarray) else list(rows)
        return Measurement.from_columns({name: values[chosen] for name, values in self.to_columns().items()})

    def to_columns(self) -> dict[str, AnyArray]:
        """Return every column under a name of its own: ``entropy``, and ``lower_20`` at 20 constraints."""
        columns = {name: getattr(self, name) for name in _names(Measurement)}
        for size, rows in self.thresholds.items():
            columns |= {f"{name}_{size}": getattr(rows, name) for name in _names(Thresholds)}
        return {name: values for name, values in columns.items() if values is not None}

    @classmethod
    def from_columns(cls, columns: Mapping[str, npt.ArrayLike]) -> Measurement:
        """Build the measurement that ``to_columns`` took apart; lists will do for arrays."""
        own: dict[str, npt.ArrayLike] = {}
        by_size: dict[int, dict[str, npt.ArrayLike]] = {}
        for name, values in columns.items():
            suffixed = re.fullmatch(r"(.+)_(\d+)", name)
            if name in _names(cls):
                own[name] = values
            elif suffixed and suffixed[1] in _names(Thresholds):
                by_size.setdefault(int(suffixed[2]), {})[suffixed[1]] = values
            else:
                known = [*_names(cls), *(f"{column}_20" for column in _names(Thresholds))]
                raise InvalidInputError(f"a measurement has no column {name!r}.{did_you_mean(name, known)}")
        thresholds = {size: _build(Thresholds, columns, f"_{size}") for size, columns in by_size.items()}
        return _build(cls, own, "", thresholds=thresholds)


def concatenate(measurements: Sequence[Measurement]) -> Measurement:
    """Join measurements of different tokens, such as shards, one after another."""
    if not measurements:
        raise InvalidInputError("at least one measurement is needed to concatenate; got none.")
    first = measurements[0]
    for other in measurements[1:]:
        if other.constraints != first.constraints:
            raise InvalidInputError(
                f"measurements must share their numbers of constraints to be concatenated; got "
                f"{first.constraints} and {other.constraints}."
            )
    parts = [measurement.to_columns() for measurement in measurements]
    shared = set.intersection(*(set(part) for part in parts))  # a fact that some lack is known of none
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name in shared}
    order = np.lexsort((columns["position"], columns["document"]))
    documents, positions = columns["document"][order], columns["position"][order]
    repeated = (documents[1:] == documents[:-1]) & (positions[1:] == positions[:-1])
    if repeated.any():
        row = int(np.argmax(repeated))
        raise InvalidInputError(
            f"a token may be measured once; got position {positions[row]} of document "
            f"{str(documents[row])!r} more than once. Leave out what was measured twice."
        )
    return Measurement.from_columns(columns)


def _names(record: type) -> tuple[str, ...]:
    return tuple(column.name for column in dataclasses.fields(record) if column.type in _KINDS)


def _build(record: type[_Record], columns: Mapping[str, Any], suffix: str, **rest: Any) -> _Record:
    required = [column.name for column in dataclasses.fields(record) if column.default is not None]
    missing = [f"{name}{suffix}" for name in _names(record) if name in required and name not in columns]
    if missing:
        raise InvalidInputError(f"a measurement needs the columns {', '.join(missing)}; they are missing.")
    return record(**columns, **rest)


def _settle(record: Thresholds | Measurement) -> None:
    """Turn every column into a flat array of its kind, and check that all have one length."""
    length: int | None = None
    for column in dataclasses.fields(record):
        if column.type not in _KINDS or getattr(record, column.name) is None:
            continue
        values = np.asarray(getattr(record, column.name)).astype(_KINDS[column.type], copy=False)
        length = len(values) if length is None and values.ndim == 1 else length
        if values.shape != (length,):
            raise InvalidInputError(
                f"columns must be flat and have one length; got shape {list(values.shape)} for "
                f"{column.name!r} beside {length} rows."
            )
        object.__setattr__(record, column.name, values)
