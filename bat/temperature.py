"""Temperature: logits are divided by it before the softmax, and the order says what the rule sees.

    first    the rule sees the flattened distribution, as in transformers: temperature, then truncation
    last     the rule sees the model's own, and the accepted tokens are drawn in proportion to the flattened
             one, as in llama.cpp: truncation, then temperature

Plain rules take either, ``first`` by default. Basis-aware rules take ``last`` alone: their constraints
W^T q = W^T p hold for the distribution that the model was trained to give, and no flattened one is of that
form. With ``last``, what is accepted does not depend on the temperature, and neither do rejection rates. At a
temperature of one the two orders are the same, and sampling is what it is without.

Why sampling stays exact with ``last``. Let f be the flattened distribution and C the accepted set, which the
model's distribution alone determines. Candidates are drawn from f without replacement until one is in C.
Given that the first r candidates are the tokens R, none of them in C, the next is token i with probability
f_i / (1 - f(R)). It ends the row with probability f(C) / (1 - f(R)), because C and R share no token; given
that it does, it is token i of C with probability f_i / f(C), whatever R and r are. So the token that ends the
row has the distribution f conditioned on C, which is softmax(logits / T) over the accepted tokens, and so has
a last draw from f restricted to C, if the tries are used up. (Draws with replacement, ordinary rejection
sampling, end in the same distribution.) The argument needs nothing of f but that it is positive on C.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from bat.errors import InvalidInputError
from bat.rules.base import Rule
from bat.rules.form import RuleForm
from bat.suggestions import did_you_mean

Order = Literal["first", "last"]
ORDERS: tuple[Order, ...] = get_args(Order)


@dataclass(frozen=True, slots=True)
class Temperature:
    """A temperature, and whether it comes before or after the rule. ``order`` None: as the rule prefers."""

    value: float
    order: Order | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", check_temperature(self.value))
        if self.order is not None and self.order not in ORDERS:
            raise InvalidInputError(
                f"temperature_order must be one of {', '.join(ORDERS)}; got {self.order!r}."
                f"{did_you_mean(str(self.order), ORDERS)}"
            )

    @property
    def is_first(self) -> bool:
        """Whether the rule sees the flattened distribution."""
        return self.order == "first"


def check_temperature(value: object) -> float:
    """The temperature as a float; InvalidInputError unless it is a finite number above zero."""
    is_real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    number = float(value) if is_real else math.nan  # type: ignore[arg-type]
    if number == 0.0:
        raise InvalidInputError(
            f"temperature must be a finite number above 0; got {value!r}, which would leave the most likely "
            "token alone. Use the rule greedy instead."
        )
    if not 0.0 < number < math.inf:  # also NaN
        raise InvalidInputError(
            f"temperature must be a finite number above 0; got {value!r}. Use a number such as 0.7, or 1 for "
            "the model's own distribution."
        )
    return number


def resolve_temperature(
    temperature: float | Temperature | None, rule: Rule | RuleForm, order: Order | None = None
) -> Temperature | None:
    """The temperature with its order under a rule; None for the model's own distribution, at one.

    InvalidInputError where the rule does not go together with it.
    """
    given = temperature if isinstance(temperature, Temperature) else Temperature(
        1.0 if temperature is None else temperature, order
    )  # fmt: skip
    if rule.basis_aware and given.is_first:
        raise InvalidInputError(
            f"temperature_order must be last for {rule.name}: its constraints hold for the distribution that "
            "the model was trained to give, not for a flattened one; got 'first'. Leave the order out."
        )
    if given.value == 1.0:
        return None
    kind = type(rule) if isinstance(rule, Rule) else rule.rule
    if kind.keeps_one_token:
        raise InvalidInputError(
            f"{rule.name} takes the most likely token at every temperature; got {given.value:g}. Leave "
            "temperature out, or use ancestral."
        )
    if kind.keeps_every_token:
        return Temperature(given.value, "first")  # nothing is truncated, so the orders are the same
    return Temperature(given.value, given.order or default_order(rule))


def default_order(rule: Rule | RuleForm) -> Order:
    """The order that is used if none is given."""
    return "last" if rule.basis_aware else "first"
