"""Rules by name: "eta", "ba-eta=0.024", "top-p"."""

from __future__ import annotations

import difflib

from bat.errors import InvalidInputError
from bat.rules.base import Rule
from bat.rules.falling import BasisAwareNucleus, BasisAwareTopK, Nucleus, TopK
from bat.rules.fixed import Ancestral, Greedy
from bat.rules.rising import BasisAwareEpsilon, BasisAwareEta, BasisAwareMinP, Epsilon, Eta, MinP
from bat.rules.typical import Typical

_PLAIN: tuple[type[Rule], ...] = (Ancestral, Greedy, TopK, Nucleus, MinP, Typical, Epsilon, Eta)
_BASIS_AWARE: tuple[type[Rule], ...] = (
    BasisAwareEpsilon,
    BasisAwareEta,
    BasisAwareNucleus,
    BasisAwareTopK,
    BasisAwareMinP,
)
_RULES: dict[str, type[Rule]] = {rule.name: rule for rule in (*_PLAIN, *_BASIS_AWARE)}
_ALIASES = {"top-p": "nucleus", "ba-top-p": "ba-nucleus", "locally-typical": "typical"}


def rule_names() -> tuple[str, ...]:
    """Every rule's name, the plain ones first."""
    return tuple(_RULES)


def get_rule_class(name: str) -> type[Rule]:
    """The rule of that name without a parameter, for questions that need none (critical parameters)."""
    if not isinstance(name, str):
        raise InvalidInputError(f"a rule's name must be a string; got {name!r}.")
    plain = name.strip().lower().replace("_", "-")
    plain = _ALIASES.get(plain, plain)
    if plain not in _RULES:
        near = difflib.get_close_matches(plain, [*_RULES, *_ALIASES], n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInputError(f"rule must be one of {', '.join(_RULES)}; got {name!r}.{guess}")
    return _RULES[plain]


def get_rule(name: str, parameter: float | None = None) -> Rule:
    """The rule ``get_rule("ba-eta", 0.024)``, also spelled ``get_rule("ba-eta=0.024")``.

    ``str(rule)`` gives the second spelling, so rules survive a trip through text.
    """
    if isinstance(name, str) and "=" in name:
        spelled, _, text = name.partition("=")
        rule_class = get_rule_class(spelled)
        if parameter is not None:
            raise InvalidInputError(f"a rule takes one parameter; got {name!r} and {parameter!r}.")
        try:
            parameter = float(text)
        except ValueError:
            raise rule_class.refusal(text.strip()) from None
    else:
        rule_class = get_rule_class(name)
    return rule_class(parameter)
