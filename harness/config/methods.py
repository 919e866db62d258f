"""Methods: a rule, and where its parameter comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from bat.errors import InvalidInputError
from bat.rules import RuleForm, builtin_rule_names, get_rule_form
from bat.suggestions import did_you_mean
from bat.temperature import Order, Temperature, resolve_temperature
from harness.config.errors import ConfigError, Path, Problem
from harness.config.sections import (
    DISTINCT,
    NOT_EMPTY,
    Added,
    Enters,
    Fraction,
    Label,
    MethodLabel,
    Natural,
    Section,
    Split,
    one_or_several,
)
from harness.scoring.facts import SCORES, Better, facts_of

DEFAULT_CONSTRAINTS = 20  # "typically 20" (the paper, section 4)

Numbers = Annotated[tuple[float, ...], one_or_several(float), NOT_EMPTY, DISTINCT]
Rates = Annotated[tuple[Fraction, ...], one_or_several(Fraction), NOT_EMPTY, DISTINCT]
Sizes = Annotated[tuple[Natural, ...], one_or_several(Natural), NOT_EMPTY, DISTINCT]


class Best(Section):
    """Run every candidate on one split, and use the one with the best score on other splits."""

    metric: Annotated[str, Field(min_length=1, examples=["mauve", "recall", "perplexity"])] = "mauve"
    """The score to choose by, averaged over seeds: any score in docs/scores.md, or one of a plug-in."""

    better: Annotated[Literal["higher", "lower", "human"] | None, Added] = None
    """Which values of the score are better: `higher`, `lower`, or close to `human` text; default: as
    docs/scores.md says for the score."""

    split: Split = "validation"
    """Stages on this split run all candidates. Stages on other splits run the best one."""

    among: Annotated[tuple[float, ...], NOT_EMPTY, DISTINCT]
    """The candidates."""

    @model_validator(mode="after")
    def _says_what_is_better(self) -> Best:
        if self.better is None and self.metric not in SCORES:
            sentence = (
                f"a score must be one of {', '.join(SCORES)}; got {self.metric!r}."
                f"{did_you_mean(self.metric, SCORES)} For the score of a plug-in, set `better`, too."
            )
            raise ConfigError([Problem(("metric",), sentence)])
        if self.direction is None:
            sentence = (
                f"{self.metric} does not say how good texts are. Set `better` to higher, lower or human, or "
                "choose another score."
            )
            raise ConfigError([Problem(("metric",), sentence)])
        if self.direction is Better.HUMAN and not facts_of(self.metric).of_human_text:
            sentence = f"human text has no {self.metric} to be close to. Set `better` to higher or lower."
            raise ConfigError([Problem(("better",), sentence)])
        return self

    @property
    def direction(self) -> Better | None:
        """Which values are better."""
        return facts_of(self.metric).better if self.better is None else Better(self.better)


class Match(Section):
    """Use the parameter that rejects as much human text as another method does."""

    method: Label
    """The other method, by its name in `methods`. With `parameter`, it can also be the name of a rule."""

    parameter: Numbers | None = None
    """The other method's parameter; default: each of its parameters in the same stage."""


class Choice(Section):
    """A parameter that results decide. Set exactly one of these keys."""

    best: Best | None = None
    """The candidate with the best score on a split."""

    match: Match | None = None
    """The parameter with the same human-text rejection rate as another method. Only for basis-aware rules."""

    hrr: Rates | None = None
    """The human-text rejection rate, or a list of them. At 0.25, a quarter of human tokens is rejected."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Choice:
        given = [name for name in ("best", "match", "hrr") if getattr(self, name) is not None]
        if len(given) != 1:
            listed = " and ".join(given) or "none"
            raise ValueError(f"a parameter takes one of the keys best, match and hrr; got {listed}")
        return self


def _form(value: object) -> str:
    return "choice" if isinstance(value, Mapping | Choice) else "numbers"


Parameter = Annotated[
    Annotated[Numbers, Tag("numbers")] | Annotated[Choice, Tag("choice")], Discriminator(_form)
]


class Method(Section):
    """A sampling rule, its parameter and, for a basis-aware rule, its number of constraints."""

    name: Annotated[MethodLabel | None, Enters.RUN] = None
    """Name used in stages, `match` and reports; default: the rule's name."""

    rule: Annotated[str, Field(min_length=1, examples=list(builtin_rule_names()))]
    """The sampling rule. The basis-aware form of a threshold rule has the prefix `ba-`."""

    parameter: Parameter | None = None
    """A number, a list of numbers, or one of `best`, `match` and `hrr`. Omit it for ancestral and greedy."""

    constraints: Sizes | None = None
    """How many singular vectors a basis-aware rule uses, or a list of such numbers; default: 20."""

    temperature: Annotated[Numbers | None, Added] = None
    """What logits are divided by, or a list of such numbers; default: 1."""

    temperature_order: Annotated[Order | None, Added] = None
    """`first`: the rule truncates the flattened distribution, as in transformers. `last`: it truncates the
    model's own, and the tokens that remain are drawn with the temperature, as in llama.cpp. Default: `first`
    for plain rules, `last` for basis-aware rules, which take no other."""

    @field_validator("rule")
    @classmethod
    def _known(cls, rule: str) -> str:
        return get_rule_form(rule).name

    @model_validator(mode="after")
    def _fits_the_rule(self) -> Method:
        problems = list(self._problems())
        if problems:
            raise ConfigError(problems)
        return self

    @property
    def title(self) -> str:
        """The name used in stages and reports."""
        return self.name or self.rule

    @property
    def rule_class(self) -> RuleForm:
        """The rule without a parameter."""
        return get_rule_form(self.rule)

    @property
    def constraint_counts(self) -> tuple[int | None, ...]:
        """The numbers of constraints it is run with; a single None for a plain rule."""
        if not self.rule_class.basis_aware:
            return (None,)
        return (DEFAULT_CONSTRAINTS,) if self.constraints is None else self.constraints

    @property
    def temperatures(self) -> tuple[Temperature | None, ...]:
        """The temperatures it is run with; None is the model's own distribution, at 1."""
        values = (1.0,) if self.temperature is None else self.temperature
        return tuple(resolve_temperature(value, self.rule_class, self.temperature_order) for value in values)

    def literals(self) -> Iterator[tuple[Path, float]]:
        """The parameters that the sweep gives for this rule as numbers, each with its path."""
        match self.parameter:
            case Choice(best=Best() as best):
                yield from ((("parameter", "best", "among", i), value) for i, value in enumerate(best.among))
            case tuple() as values:
                yield from ((("parameter", i), value) for i, value in enumerate(values))

    def _problems(self) -> Iterator[Problem]:
        rule = self.rule_class
        for path, value in self.literals():
            if problem := parameter_problem(rule, value, path):
                yield problem
        if self.parameter is None and (problem := parameter_problem(rule, None, ("parameter",))):
            yield problem
        if isinstance(self.parameter, Choice):
            if rule.takes_no_parameter:
                yield Problem(("parameter",), f"{rule.name} {rule.requirement}. {rule.advice}")
            elif self.parameter.match is not None and not rule.basis_aware:
                yield Problem(
                    ("parameter", "match"),
                    f"only basis-aware rules are matched to another method; got {rule.name}. "
                    "Give both methods the same hrr instead.",
                )
        problems = list(self._temperature_problems())
        yield from problems
        by_rate = isinstance(self.parameter, Choice) and self.parameter.hrr is not None
        if by_rate and not problems and (sentence := unmeasured_temperature(self)):
            yield Problem(("temperature",), sentence)
        if self.constraints is not None and not rule.basis_aware:
            advice = _basis_aware_form(rule)
            yield Problem(
                ("constraints",),
                f"{rule.name} is a plain rule and takes no constraints. Leave them out{advice}.",
            )

    def _temperature_problems(self) -> Iterator[Problem]:
        given = (1.0,) if self.temperature is None else self.temperature
        for i, value in enumerate(given):
            try:
                resolve_temperature(value, self.rule_class, self.temperature_order)
            except InvalidInputError as error:
                is_order = str(error).startswith("temperature_order")
                yield Problem(("temperature_order",) if is_order else ("temperature", i), str(error))
                if is_order:
                    return


def unmeasured_temperature(method: Method) -> str | None:
    """Why a method has no rejection rate to match, in a sentence; None if it has one.

    Human text is measured under the model's own distribution, which is what rules with a temperature last
    see, too.
    """
    first = [heat.value for heat in method.temperatures if heat is not None and heat.is_first]
    if not first:
        return None
    return (
        f"rejection rates are those of the model's own distribution, but at temperature {first[0]:g} "
        f"{method.title!r} rejects by a flattened one. Set temperature_order: last, or give the parameter as "
        "a number."
    )


def parameter_problem(rule: RuleForm, value: float | None, path: Path) -> Problem | None:
    """What is wrong with a parameter, as its rule words it; None if it is valid."""
    try:
        rule.check_parameter(value)
    except InvalidInputError as error:
        return Problem(path, str(error))
    return None


def _basis_aware_form(rule: RuleForm) -> str:
    try:
        return f", or use {get_rule_form(f'ba-{rule.name}').name}"
    except InvalidInputError:
        return ""
