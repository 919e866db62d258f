"""Names of rules, parameters and settings in a report."""

from __future__ import annotations

import math

from bat.rules import Rule


def parameter_text(value: float | None) -> str:
    """A parameter in a few significant digits: 0.0009, 0.0153, 0.99962, 1000."""
    if value is None:
        return ""
    if value >= 1 and value == round(value):
        return f"{value:.0f}"
    if 0.99 < value < 1:  # near one, the distance from one matters
        digits = 1 - math.floor(math.log10(1 - value))
        return f"{value:.{digits}f}".rstrip("0")
    return f"{value:.3g}"


def short_name(rule: str, parameter: float | None, constraints: int | None = None) -> str:
    """Rule, parameter and number of constraints, such as "ba-eta=0.0153 (c=20)"."""
    value = "" if parameter is None else f"={parameter_text(parameter)}"
    size = "" if constraints is None else f" (c={constraints})"
    return f"{rule}{value}{size}"


def name_of(rule: Rule) -> str:
    """The same for a rule object."""
    return short_name(rule.name, rule.parameter)
