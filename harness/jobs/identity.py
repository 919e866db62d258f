"""Job ids: the SHA-256 of everything that a job's result depends on, as canonical JSON.

What does not change results (the number of workers, the address of the database, timeouts) is left out. So
sweeps that share jobs share results, and a sweep that is run again reuses existing results.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from bat.errors import InvalidInputError

# Part of every id: increased when the same specification gives a different result or record of it.
RESULT_VERSION = 2

# The name of a corpus or model that is a local file. Its content identifies it; its path, which is beside
# the name as a title for people, is not part of any id.
LOCAL = "local"

# JSON: null, booleans, integers, finite floats, strings, lists and mappings with strings for keys.
SpecJson = Mapping[str, Any]


def job_id(kind: str, spec: SpecJson) -> str:
    """64 hexadecimal digits."""
    return sha256_of({"version": RESULT_VERSION, "kind": kind, "spec": _without_paths(spec)})


def _without_paths(value: Any) -> Any:
    match value:
        case Mapping():
            left_out = ("title",) if value.get("name") == LOCAL else ()
            return {key: _without_paths(entry) for key, entry in value.items() if key not in left_out}
        case list() | tuple():
            return [_without_paths(entry) for entry in value]
    return value


def sha256_of(value: Any) -> str:
    """The SHA-256 of a JSON value, in hexadecimal digits."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def canonical_json(value: Any) -> str:
    """Canonical JSON: sorted keys, no spaces, shortest floats, ASCII.

    Equal numbers are written alike (1.0 as 1), so a parameter from YAML, a command line or a database gives
    the same id.
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
