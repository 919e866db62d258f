"""Names of rules, parameters, settings and methods in a report."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from bat.rules import Rule
from harness.config.expansion import IMPORTED, setting_details

# Constraints and temperature at the end of a setting, which go without brackets inside others.
_DETAILS = re.compile(r" \(([cT]=[^()]*)\)$")


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


def short_name(
    rule: str,
    parameter: float | None,
    constraints: int | None = None,
    temperature: float | None = None,
    temperature_order: str | None = None,
) -> str:
    """Rule, parameter, number of constraints and temperature, such as "ba-eta=0.0153 (c=20, T=0.7)"."""
    value = "" if parameter is None else f"={parameter_text(parameter)}"
    return f"{rule}{value}{setting_details(rule, constraints, temperature, temperature_order)}"


def setting_name(
    method: str,
    rule: str | None,
    parameter: float | None,
    constraints: int | None,
    temperature: float | None = None,
    temperature_order: str | None = None,
) -> str:
    """What its sweep calls a setting, with rule and parameter beside: "tight (eta=0.0009)".

    A method without a name of its own has that of its rule, so the setting alone is shown. Texts without a
    rule, such as human text, have the name of their method.
    """
    if rule is None:
        return method
    if rule == IMPORTED:
        return f"{method} ({IMPORTED})"
    return with_method(method, rule, short_name(rule, parameter, constraints, temperature, temperature_order))


def with_method(method: str, rule: str, setting: str) -> str:
    """The text of a setting after the name of its method, if that has one of its own."""
    if method == rule:
        return setting
    inside = _DETAILS.sub(r", \1", setting)
    return f"{method} ({inside})"


def by_name(rules: Iterable[Rule]) -> dict[str, Rule]:
    """Rules by the names of their settings."""
    return {name_of(rule): rule for rule in rules}


def name_of(rule: Rule) -> str:
    """The same for a rule object."""
    return short_name(rule.name, rule.parameter)
