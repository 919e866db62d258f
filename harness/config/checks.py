"""Whether the sections of a sweep fit together: names, references between methods, the order of stages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bat.errors import InvalidInputError
from bat.rules import get_rule_form, rule_names
from harness.config.errors import Path, Problem, spell, suggest
from harness.config.methods import Choice, Match, Method, parameter_problem, unmeasured_temperature
from harness.scoring.facts import facts_of
from workers.names import FIXED_ENGINE_OPTIONS, is_fake_name

if TYPE_CHECKING:
    from harness.config.schema import SweepConfig
    from harness.config.stages import Stage


def find_problems(config: SweepConfig) -> Iterator[Problem]:
    """Find what is wrong with a sweep whose sections are each valid; nothing if it can be run."""
    problems = [*_names(config), *_references(config), *_chosen_by(config), *_engine(config)]
    if not problems:
        # What a stage needs is only defined once all names and references are valid.
        problems = [*_measured_once(config), *_stages(config)]
    yield from dict.fromkeys(problems)


def find_match(method: Method) -> Match | None:
    """Return what a method is matched to; None if it is not matched."""
    return method.parameter.match if isinstance(method.parameter, Choice) else None


def get_reference(config: SweepConfig, match: Match) -> Method:
    """Return the method that another one is matched to: one of the sweep, or a rule with a parameter."""
    listed = next((method for method in config.methods if method.title == match.method), None)
    if listed is None:
        return Method(rule=match.method, parameter=match.parameter)
    return listed if match.parameter is None else listed.model_copy(update={"parameter": match.parameter})


def find_selection(config: SweepConfig, before: Stage, model: str, method: Method) -> Stage | None:
    """Return the last stage before `before` that runs all candidates of a method with a best parameter."""
    best = method.parameter.best if isinstance(method.parameter, Choice) else None
    for stage in reversed(_before(config, before)):
        runs = stage.kind == "generate" and method.title in [
            other.title for other in config.methods_of(stage)
        ]
        if best and runs and stage.text_split == best.split and _has(config, stage, model):
            return stage
    return None


def _names(config: SweepConfig) -> Iterator[Problem]:
    methods = [method.title for method in config.methods]
    models = [model.title for model in config.models]
    yield from _unique("methods", methods, "name")
    yield from _import_names(config)
    yield from _unique("models", models, "label")
    yield from _unique("stages", [stage.name for stage in config.stages], "name")
    for i, method in enumerate(config.methods):
        if method.title != method.rule and method.title in rule_names():
            sentence = (
                f"{method.title!r} is the name of a rule other than {method.rule}. Choose another name."
            )
            yield Problem(("methods", i, "name"), sentence)
    for i, stage in enumerate(config.stages):
        for key, chosen, defined in (("methods", stage.methods, methods), ("models", stage.models, models)):
            for j, title in enumerate(chosen or ()):
                if title not in defined:
                    sentence = f"there is no {key[:-1]} {title!r} in this sweep.{suggest(title, defined)}"
                    yield Problem(("stages", i, key, j), sentence)
        imported = any(source.stages is None or stage.name in source.stages for source in config.imports)
        if stage.kind == "generate" and not methods and not imported:
            yield Problem(
                ("stages", i),
                "the stage has no methods to run. Add methods to the sweep, or set kind: measure.",
            )


def _import_names(config: SweepConfig) -> Iterator[Problem]:
    methods = [method.title for method in config.methods]
    names = [source.name for source in config.imports]
    yield from _unique("imports", names, "name")
    stages = [stage.name for stage in config.stages if stage.kind == "generate"]
    models = [model.title for model in config.models]
    for i, source in enumerate(config.imports):
        if source.name in methods:
            sentence = f"{source.name!r} is already {spell(('methods', methods.index(source.name)))}."
            yield Problem(("imports", i, "name"), f"{sentence} Give the import another name.")
        for key, chosen, defined in (("stages", source.stages, stages), ("models", source.models, models)):
            for j, title in enumerate(chosen or ()):
                if title not in defined:
                    kind = "generate stage" if key == "stages" else "model"
                    sentence = f"there is no {kind} {title!r} in this sweep.{suggest(title, defined)}"
                    yield Problem(("imports", i, key, j), sentence)


def _unique(key: str, titles: Sequence[str], name_key: str) -> Iterator[Problem]:
    for i, title in enumerate(titles):
        first = titles.index(title)
        if first < i:
            sentence = f"{title!r} is already {spell((key, first))}. Give one of them another {name_key}."
            yield Problem((key, i), sentence)


def _references(config: SweepConfig) -> Iterator[Problem]:
    titles = [method.title for method in config.methods]
    for i, method in enumerate(config.methods):
        match = find_match(method)
        if match is None:
            continue
        path: Path = ("methods", i, "parameter", "match")
        if match.method in titles:
            rule = config.get_method(match.method).rule_class
            if problem_of := unmeasured_temperature(config.get_method(match.method)):
                yield Problem((*path, "method"), problem_of)
        else:
            try:
                rule = get_rule_form(match.method)
            except InvalidInputError:
                sentence = f"there is no method or rule {match.method!r}."
                yield Problem((*path, "method"), sentence + suggest(match.method, [*titles, *rule_names()]))
                continue
            if match.parameter is None and not rule.takes_no_parameter:
                sentence = (
                    f"no method is called {match.method!r}, so the rule with that name needs a parameter."
                )
                yield Problem((*path, "method"), sentence)
        for j, value in enumerate(match.parameter or ()):
            if problem := parameter_problem(rule, value, (*path, "parameter", j)):
                yield problem
    yield from _cycles(config)


def _chosen_by(config: SweepConfig) -> Iterator[Problem]:
    """Scores that parameters are chosen by must be computed."""
    for i, method in enumerate(config.methods):
        best = method.parameter.best if isinstance(method.parameter, Choice) else None
        family = None if best is None else facts_of(best.metric).family
        if best is not None and family is not None and family not in config.scoring.statistics:
            sentence = (
                f"{best.metric} belongs to the statistic {family!r}, which scoring.statistics leaves out. "
                f"Add {family!r} to it."
            )
            yield Problem(("methods", i, "parameter", "best", "metric"), sentence)


def _engine(config: SweepConfig) -> Iterator[Problem]:
    """What vLLM cannot do, and options that are not for it."""
    options = config.generation.engine_options or {}
    path: Path = ("generation", "engine_options")
    if config.generation.engine == "transformers":
        if options:
            sentence = f"options such as {next(iter(options))} are for vLLM. Set generation.engine: vllm."
            yield Problem(path, sentence)
        return
    for name in options:
        if name in FIXED_ENGINE_OPTIONS:
            yield Problem((*path, name), f"{name} cannot be set here: the sweep decides about it.")
    for i, model in enumerate(config.models):
        if is_fake_name(model.name):
            sentence = (
                f"vLLM reads a model from its files, and {model.name!r} has none. Set generation.engine: "
                "transformers, or use another model."
            )
            yield Problem(("models", i, "name"), sentence)


def _cycles(config: SweepConfig) -> Iterator[Problem]:
    by_title = {method.title: method for method in config.methods}
    for i, method in enumerate(config.methods):
        walk = [method.title]
        following = method
        while (match := find_match(following)) and match.parameter is None and match.method in by_title:
            walk.append(match.method)
            if match.method in walk[:-1]:
                # A cycle is reported for its members, not for methods that lead into it.
                if match.method == method.title:
                    cycle = " -> ".join(walk)
                    sentence = f"methods are matched in a cycle, {cycle}. Give one of them a parameter."
                    yield Problem(("methods", i, "parameter", "match"), sentence)
                break
            following = by_title[match.method]


def _measured_once(config: SweepConfig) -> Iterator[Problem]:
    measured: dict[str, str] = {}
    for i, stage in enumerate(config.stages):
        for model in config.models_of(stage) if stage.kind == "measure" else ():
            if model.title in measured:
                other = measured[model.title]
                sentence = (
                    f"stage {other!r} already measures model {model.title!r}. Remove it from one of them."
                )
                yield Problem(("stages", i), sentence)
            measured.setdefault(model.title, stage.name)


def _stages(config: SweepConfig) -> Iterator[Problem]:
    for i, stage in enumerate(config.stages):
        for method in config.methods_of(stage):
            for needed in _with_references(config, method):
                missing = [
                    list(_missing(config, i, model.title, needed)) for model in config.models_of(stage)
                ]
                # One model is enough: the others usually miss the same.
                yield from next(filter(None, missing), [])


def _with_references(config: SweepConfig, method: Method) -> Iterator[Method]:
    yield method
    while match := find_match(method):
        method = get_reference(config, match)
        yield method


def _missing(config: SweepConfig, index: int, model: str, method: Method) -> Iterator[Problem]:
    """What a stage needs for a method but does not have."""
    if not isinstance(method.parameter, Choice):
        return
    stage, title, path = config.stages[index], method.title, ("stages", index)
    best = method.parameter.best
    if best is not None:
        if stage.text_split != best.split and find_selection(config, stage, model, method) is None:
            yield Problem(
                path,
                f"method {title!r} takes its best parameter on {best.split}, but no earlier stage runs it "
                f"there for model {model!r}. Put a stage with split: {best.split} first.",
            )
        return
    if not any(
        earlier.kind == "measure" and _has(config, earlier, model) for earlier in _before(config, stage)
    ):
        yield Problem(
            path,
            f"method {title!r} needs the rejection rates of model {model!r}, but no earlier stage measures "
            "them. Put a stage with kind: measure first.",
        )
    match = method.parameter.match
    methods = [method] if match is None else [method, get_reference(config, match)]
    numbers = {number for involved in methods for number in involved.constraint_counts if number is not None}
    for constraints in sorted(numbers):
        measured = config.measurement.constraints
        if constraints not in measured:
            yield Problem(
                ("methods", [other.title for other in config.methods].index(title)),
                f"its parameter needs rejection rates with {constraints} constraints, but "
                f"measurement.constraints is {list(measured)}. Add {constraints} to it.",
            )


def _before(config: SweepConfig, stage: Stage) -> tuple[Stage, ...]:
    return config.stages[: [other.name for other in config.stages].index(stage.name)]


def _has(config: SweepConfig, stage: Stage, model: str) -> bool:
    return model in [other.title for other in config.models_of(stage)]
