"""Jobs: units of work that can fail, be retried and be resumed alone.

A job's id is the SHA-256 of everything its result depends on, in one canonical spelling. What does not change
results (the number of workers, the database's address, time-outs) stays out, so that two sweeps that share
jobs share results, and running a sweep again finds what is there already.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from bat.errors import InvalidInputError

# Part of every id: raised when the same specification would give another result, or another record of it.
RESULT_VERSION = 2

# JSON: null, booleans, integers, finite floats, strings, lists and mappings with strings for keys.
Spec = Mapping[str, Any]


class JobKind(StrEnum):
    """What a job does; see docs/design/queue.md."""

    MEASURE = "measure"  # a shard of human text, a model -> a row for each token
    GENERATE = "generate"  # a shard of prefixes, a model, a method -> a text for each prefix
    FEATURIZE = "featurize"  # a shard of texts, a model -> a vector for each text
    SCORE = "score"  # sets of features and texts -> numbers


@dataclass(frozen=True)
class Job:
    """One unit of work. `needs` are the ids of jobs whose results it reads."""

    kind: JobKind
    spec: Spec
    needs: tuple[str, ...] = ()

    @cached_property
    def id(self) -> str:
        """64 hexadecimal digits."""
        text = canonical_json({"version": RESULT_VERSION, "kind": self.kind.value, "spec": self.spec})
        return hashlib.sha256(text.encode()).hexdigest()


def is_commit(revision: str | None) -> bool:
    """Whether the revision in a model's identity is a commit; models that are no repository tell otherwise
    what they are."""
    return revision is not None and len(revision) == 40


def canonical_json(value: Any) -> str:
    """The one spelling of a JSON value: sorted keys, no spaces, shortest floats, ASCII.

    Numbers that are equal are spelled alike (1.0 as 1), so a parameter read from YAML, a command line or a
    database gives the same id.
    """
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)


def _plain(value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case int():
            return int(value)
        case float():
            if not math.isfinite(value):
                raise InvalidInputError(f"a job's specification holds finite numbers only; got {value}.")
            return int(value) if value.is_integer() and abs(value) < 2**53 else value
        case Mapping():
            if not all(isinstance(key, str) for key in value):
                raise InvalidInputError(f"a job's specification has strings for keys only; got {value!r}.")
            return {key: _plain(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_plain(entry) for entry in value]
    raise InvalidInputError(
        f"a job's specification holds JSON values only; got {type(value).__name__} ({value!r})."
    )
