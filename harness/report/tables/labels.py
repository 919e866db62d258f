"""Which results a table shows, and what its rows and files are called: never two of them the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from bat.errors import InvalidInputError
from harness.config.methods import Choice
from harness.config.schema import SweepConfig
from harness.report import paper
from harness.report.results import Result, Results

# What may tell two results of one label apart; only what does is used.
_PLACES: tuple[Callable[[Result], str], ...] = (
    lambda result: result.stage,
    lambda result: result.run,
    lambda result: result.method,
    lambda result: str(result.asked),
)


def distinct(results: Iterable[Result], *, by_role: bool = False) -> list[Result]:
    """The results without those that are there already, from the same jobs: another run may have them too.

    One setting may have several roles, such as that of the best and that of a number written down, or the
    match of two others. With `by_role` it is kept in each of them.
    """
    found: dict[tuple[object, ...], Result] = {}
    for result in results:
        jobs = tuple(seed.score_job for seed in result.seeds)
        key = (result.model, result.setting, result.prefix_set, jobs, result.asked if by_role else None)
        found.setdefault(key, result)
    return list(found.values())


def config_of(results: Results, result: Result) -> SweepConfig:
    """The sweep that a result is of."""
    for run, config in zip(results.runs, results.configs, strict=True):
        same_run = run.name == result.run and result.run_id in (0, run.id)
        methods = {method.title for method in config.methods} | {each.name for each in config.imports}
        if same_run and result.method in methods:
            return config
    raise InvalidInputError(
        f"every result must be of a method of its run's sweep; run {result.run!r} has no {result.method!r}."
    )


def is_candidate(results: Results, result: Result) -> bool:
    """Whether it was run to choose a parameter, rather than to be compared."""
    if result.is_imported:
        return False
    parameter = config_of(results, result).get_method(result.method).parameter
    best = parameter.best if isinstance(parameter, Choice) else None
    return best is not None and best.split == result.split


def candidates(results: Results) -> list[Result]:
    """The candidates of selections."""
    return distinct(result for result in results.results if is_candidate(results, result))


def compared(results: Results, *, by_role: bool = False) -> list[Result]:
    """All results but the candidates of selections."""
    found = (result for result in results.results if not is_candidate(results, result))
    return distinct(found, by_role=by_role)


def shown(results: Results) -> list[Result]:
    """What is compared; the candidates where there is nothing else."""
    return compared(results) or candidates(results)


def models_of(results: Iterable[Result]) -> dict[str, str]:
    """Titles of models, in order, and the names they were loaded by."""
    return {result.model: result.model_name for result in results}


def labels(
    results: Sequence[Result],
    base: Callable[[Result], str] = lambda result: result.label,
    *,
    by_model: bool = False,
    by_split: bool = True,
) -> list[str]:
    """Name each result by rule and parameter, and by as much of where it is from as tells all apart.

    Tables with a column for each model (`by_model`) may have one name for results of different models. What
    does not depend on the prefixes needs no word on where they are from (`by_split`).
    """
    used: list[Callable[[Result], str]] = []
    if not by_model and len(models_of(results)) > 1:
        used.append(lambda result: result.model)
    if by_split and len({result.split for result in results}) > 1:
        used.append(lambda result: result.stage)

    def named(getters: Sequence[Callable[[Result], str]]) -> list[tuple[str, str]]:
        names = (_joined([get(result) for get in getters], base(result)) for result in results)
        return [(name, one.model if by_model else "") for name, one in zip(names, results, strict=True)]

    for get in _PLACES:
        if len(set(named([*used, get]))) > len(set(named(used))):
            used.append(get)
    return _numbered(named(used))


def table_names(base: str, titles: Sequence[str]) -> list[str]:
    """Names of tables that are made once for each title: the base alone where there is one."""
    if len(titles) == 1:
        return [base]
    slugs = [re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "model" for title in titles]
    return [re.sub(r" \((\d+)\)$", r"-\1", name) for name in _numbered([(f"{base}-{s}", "") for s in slugs])]


def paper_columns(models: dict[str, str]) -> list[tuple[str, str | None, str | None]]:
    """Columns for a run's models and the paper's: heading, title of the model, the paper's size.

    Where the run has a model of the paper, its column has both; else the paper's four have columns of theirs.
    """
    own: list[tuple[str, str | None, str | None]] = [
        (title, title, paper.find_size(name)) for title, name in models.items()
    ]
    if any(size for _, _, size in own):
        return own
    return own + [(f"paper, GPT-2 {size}", None, size) for size in paper.SIZES]


def _joined(before: Sequence[str], name: str) -> str:
    return f"{', '.join(dict.fromkeys(before))}: {name}" if before else name


def _numbered(places: Sequence[tuple[str, str]]) -> list[str]:
    """The names, with a number behind those that were there before in the same place."""
    seen: Counter[tuple[str, str]] = Counter()
    made = []
    for place in places:
        seen[place] += 1
        made.append(place[0] if seen[place] == 1 else f"{place[0]} ({seen[place]})")
    return made
