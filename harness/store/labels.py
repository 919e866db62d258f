"""What a job's specification says about it in a word, for columns that people sort by and claims prefer.

A specification may have `model`, `corpus`, `rule` (or `method`), `parameter` and `constraints`. A thing is
named by text, or by a mapping with a `name`; what else the mapping holds stays in the specification, but for
a split and an unusual precision, without which a name would say too little: "news test", "gpt2 float16".
"""

from __future__ import annotations

from typing import Any

from harness.jobs import Spec, canonical_json

_USUAL_DTYPE = "float32"


def labels(spec: Spec) -> dict[str, Any]:
    """The columns of a job that bear these names; None for what its specification does not name."""
    return {
        "model": label(spec.get("model")),
        "corpus": label(spec.get("corpus")),
        "method": label(spec.get("rule", spec.get("method"))),
        "parameter": _number(spec.get("parameter")),
        "basis_size": _number(spec.get("constraints")),
    }


def label(value: Any) -> str | None:
    """One line of text that names a thing of a specification."""
    match value:
        case None | str():
            return value
        case {"name": str(name), "split": str(split)}:
            return f"{name} {split}"
        case {"name": str(name), "dtype": str(dtype)} if dtype != _USUAL_DTYPE:
            return f"{name} {dtype}"
        case {"name": str(name)}:
            return name
    return canonical_json(value)


def _number(value: Any) -> int | float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else None
