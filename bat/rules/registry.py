"""Rules by name: "eta", "ba-eta=0.024", "top-p", "my_module:MyRule"."""

from __future__ import annotations

from functools import cache

from bat.errors import InvalidInputError
from bat.plugins import PluginError, Registry, is_reference
from bat.rules.base import Rule
from bat.rules.form import BASIS_AWARE_PREFIX, RuleForm

RULES: Registry[type[Rule]] = Registry(
    group="bat_harness.rules",
    noun="rule",
    builtins={
        "ancestral": "bat.rules.fixed:Ancestral",
        "greedy": "bat.rules.fixed:Greedy",
        "top-k": "bat.rules.falling:TopK",
        "nucleus": "bat.rules.falling:Nucleus",
        "min-p": "bat.rules.rising:MinP",
        "typical": "bat.rules.typical:Typical",
        "epsilon": "bat.rules.rising:Epsilon",
        "eta": "bat.rules.rising:Eta",
        "top-n-sigma": "bat.rules.falling:TopNSigma",
        "top-h": "bat.rules.falling:TopH",
        "p-less": "bat.rules.fixed:PLess",
    },
    accepts=lambda entry: isinstance(entry, type) and issubclass(entry, Rule),
    requirement="must be a subclass of bat.rules.Rule",
)
_ALIASES = {"top-p": "nucleus", "ba-top-p": "ba-nucleus", "locally-typical": "typical"}


def rule_names() -> tuple[str, ...]:
    """Every rule's name, the plain ones first; those of installed packages included."""
    return _with_basis_aware(RULES.names())


def builtin_rule_names() -> tuple[str, ...]:
    """The names of the project's own rules, whatever else is installed."""
    return _with_basis_aware(tuple(RULES.builtins))


def get_rule_form(name: str) -> RuleForm:
    """The rule of that name without a parameter, for questions that need none (critical parameters)."""
    if not isinstance(name, str):
        raise InvalidInputError(f"a rule's name must be a string; got {name!r}.")
    spelled = name.strip()
    if ":" not in spelled:  # modules and classes are spelled exactly
        spelled = spelled.lower().replace("_", "-")
    spelled = _ALIASES.get(spelled, spelled)
    plain = spelled.removeprefix(BASIS_AWARE_PREFIX)
    rule = RULES.find(plain)
    if rule is None:
        raise RULES.unknown(name, rule_names(), aliases=tuple(_ALIASES))
    if plain != spelled and not rule.has_basis_aware_form:
        with_form = [known for known in rule_names() if known.startswith(BASIS_AWARE_PREFIX)]
        raise InvalidInputError(
            f"{plain} has no basis-aware form. Use {plain}, or one of {', '.join(with_form)}."
        )
    if not is_reference(plain) and rule.plain_name != plain:
        raise PluginError(
            f"a rule's entry point must have the rule's own name; {plain!r} leads to {rule.__qualname__}, "
            f"whose plain_name is {rule.plain_name!r}. Make them equal."
        )
    return RuleForm(rule, basis_aware=plain != spelled)


def get_rule(name: str, parameter: float | None = None) -> Rule:
    """The rule ``get_rule("ba-eta", 0.024)``, also spelled ``get_rule("ba-eta=0.024")``.

    ``str(rule)`` gives the second spelling, so rules survive a trip through text.
    """
    if isinstance(name, str) and "=" in name:
        spelled, _, text = name.partition("=")
        form = get_rule_form(spelled)
        if parameter is not None:
            raise InvalidInputError(f"a rule takes one parameter; got {name!r} and {parameter!r}.")
        try:
            parameter = float(text)
        except ValueError:
            raise form.invalid_parameter(text.strip()) from None
    else:
        form = get_rule_form(name)
    return form(parameter)


def provenance(name: str) -> dict[str, str] | None:
    """What results under a rule must record about where it came from: None for the project's own."""
    return RULES.provenance(get_rule_form(name).plain_name)


@cache
def name_of(rule: type[Rule]) -> str:
    """What a rule's class is found by: its own name where that leads back to it, else module:Class."""
    own: str | None = getattr(rule, "plain_name", None)
    try:
        if own is not None and not is_reference(own) and RULES.find(own) is rule:
            return own
    except PluginError:
        pass  # another package's trouble; a reference needs no entry point
    return f"{rule.__module__}:{rule.__qualname__}"


def _with_basis_aware(plain: tuple[str, ...]) -> tuple[str, ...]:
    return (*plain, *(f"{BASIS_AWARE_PREFIX}{name}" for name in plain if _has_basis_aware_form(name)))


def _has_basis_aware_form(name: str) -> bool:
    try:
        return RULES.get(name).has_basis_aware_form
    except PluginError:
        return False  # a list of names is no time to fail; whoever uses the plug-in is told
