"""What a request asks of its rule, in `SamplingParams.extra_args`, and what cannot be combined with a rule.

bat_rule            the rule, such as "ba-eta=0.02"; a request without it is left alone
bat_seed, bat_run, bat_prefix, bat_sample
                    the address of the random numbers; the prefix is named by the prompt's tokens by default
bat_constraints, bat_max_tries, bat_fallback, bat_solver
                    as in `workers.generation_record.GenerationSettings`
bat_temperature, bat_temperature_order
                    as in `bat.Temperature`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bat.arguments import require_integers
from bat.errors import BatError, InvalidInputError
from bat.random import Key
from bat.rules import get_rule
from bat.suggestions import did_you_mean
from bat.temperature import Temperature
from workers.generation_record import GenerationSettings

_START = "bat_"
_RULE = "bat_rule"
_AS_IN_SETTINGS = ("seed", "run", "sample", "constraints", "max_tries", "fallback", "solver")
_NAMES = (
    _RULE,
    *(_START + name for name in (*_AS_IN_SETTINGS, "prefix", "temperature", "temperature_order", "trace")),
)

# What must stay as vLLM has it by default, and the advice if it does not. Temperature and truncation are the
# rule's own. Penalties come after the rule in one of vLLM's two samplers, which would ignore them silently.
_BY_THE_RULE = "the rule does the truncating"
_NO_PENALTIES = "penalties cannot be combined with a rule"
_NEUTRAL: dict[str, tuple[tuple[Any, ...], str]] = {
    "temperature": ((1.0,), "give it as bat_temperature"),
    "top_p": ((1.0,), _BY_THE_RULE),
    "top_k": ((0, -1), _BY_THE_RULE),
    "min_p": ((0.0,), _BY_THE_RULE),
    "presence_penalty": ((0.0,), _NO_PENALTIES),
    "frequency_penalty": ((0.0,), _NO_PENALTIES),
    "repetition_penalty": ((1.0,), _NO_PENALTIES),
    "seed": ((None,), "give it as bat_seed"),
    "n": ((1,), "send one request for each text, with bat_sample 0, 1 and so on"),
}


@dataclass(frozen=True, slots=True)
class RuleParameters:
    """What a request asks for."""

    settings: GenerationSettings
    prefix: str | None  # None: the name of the prompt's tokens
    trace: int | None = None  # its row in the record that is open (see recording)
    problem: str | None = None  # why it cannot be sampled as it asks

    def key(self, prefix: str) -> Key:
        """The address of its random numbers, for a prompt of this name unless the request gives another."""
        settings = self.settings
        name = prefix if self.prefix is None else self.prefix
        return Key(settings.seed, settings.run, name, settings.sample)


def parse_parameters(extra_args: Mapping[str, Any] | None) -> RuleParameters | None:
    """What a request asks for; None without a rule, and InvalidInputError for what cannot be used."""
    given = {name: value for name, value in (extra_args or {}).items() if name.startswith(_START)}
    for name in given:
        if name not in _NAMES:
            raise InvalidInputError(
                f"{name} is not a parameter of rules; these are {', '.join(_NAMES[:-1])}."
                f"{did_you_mean(name, _NAMES)}"
            )
    if not given:
        return None
    if _RULE not in given:
        raise InvalidInputError(
            f"{_RULE} must say which rule samples where {next(iter(given))} is given; add it, as in "
            f'"{_RULE}": "ba-eta=0.02".'
        )
    for name in (_RULE, "bat_run", "bat_prefix"):
        if not isinstance(given.get(name, ""), str):
            raise InvalidInputError(f"{name} must be a string; got {given[name]!r}.")
    trace = given.get("bat_trace")
    if trace is not None:
        require_integers(bat_trace=(trace, 0))
    settings = {name: given[_START + name] for name in _AS_IN_SETTINGS if _START + name in given}
    try:
        asked = GenerationSettings(get_rule(given[_RULE]), temperature=_temperature(given), **settings)
    except InvalidInputError as error:
        raise InvalidInputError(_with_name_of_request(str(error))) from error
    return RuleParameters(asked, given.get("bat_prefix"), trace)


def write_parameters(
    settings: GenerationSettings, prefix: str, trace: int | None = None
) -> dict[str, str | int | float]:
    """The `extra_args` that `parse_parameters` reads as these settings."""
    written: dict[str, str | int | float] = {_RULE: str(settings.rule), "bat_prefix": prefix}
    written |= {_START + name: getattr(settings, name) for name in _AS_IN_SETTINGS}
    if isinstance(settings.temperature, Temperature):
        heat = settings.temperature
        written |= {"bat_temperature": heat.value, "bat_temperature_order": heat.order or "last"}
    return written if trace is None else {**written, "bat_trace": trace}


def check_sampling(sampling_params: Any) -> None:
    """Raise unless a request's parameters can be used; a request without a rule may ask for anything.

    ValueError is what vLLM turns into an answer to the request, and InvalidInputError is one.
    """
    if parse_parameters(sampling_params.extra_args) is None:
        return
    for name, (neutral, advice) in _NEUTRAL.items():
        value = getattr(sampling_params, name, neutral[0])
        if value not in neutral:
            raise InvalidInputError(
                f"{name} must be {neutral[0]} beside {_RULE}; got {value!r}, from the request or from the "
                f"model's generation_config: {advice}."
            )


def admit(sampling_params: Any) -> RuleParameters | None:
    """What a request that is in the engine already asks for; None without a rule.

    Whoever let it in should have called `check_sampling`. If not, an exception would end the engine here.
    """
    try:
        check_sampling(sampling_params)
        return parse_parameters(sampling_params.extra_args)
    except BatError as error:
        return RuleParameters(GenerationSettings(get_rule("ancestral")), None, problem=str(error))


def _with_name_of_request(sentence: str) -> str:
    """Call a setting what the request calls it: vLLM has a seed and a temperature of its own."""
    name = sentence.partition(" ")[0]
    return _START + sentence if _START + name in _NAMES else sentence


def _temperature(given: Mapping[str, Any]) -> Temperature | None:
    value, order = given.get("bat_temperature"), given.get("bat_temperature_order")
    if value is None:
        if order is not None:
            raise InvalidInputError(
                f"bat_temperature_order says when bat_temperature comes; got {order!r} without a temperature."
            )
        return None
    return Temperature(value, order)
