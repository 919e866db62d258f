"""What rules and settings are called in a report."""

from __future__ import annotations

from bat.rules import Rule


def short_name(rule: str, parameter: float | None, constraints: int | None = None) -> str:
    """Rule, parameter and number of constraints, in a few letters: three digits tell parameters apart."""
    value = "" if parameter is None else f"={parameter:.3g}"
    size = "" if constraints is None else f" (c={constraints})"
    return f"{rule}{value}{size}"


def name_of(rule: Rule) -> str:
    """The same for a rule that has its parameter."""
    return short_name(rule.name, rule.parameter)
