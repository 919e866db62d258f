"""Which results a table shows, and unique names for its rows and files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from harness.config.methods import Choice
from harness.report import paper
from harness.report.results import Result, Results

# What may distinguish two results with the same label; only what does is used.
_DISTINCTIONS: tuple[Callable[[Result], str], ...] = (
    lambda result: result.stage,
    lambda result: result.origin,
    lambda result: result.method,
    lambda result: str(result.asked),
)


def distinct(results: Iterable[Result], *, by_role: bool = False) -> list[Result]:
    """The results without duplicates from the same jobs, which several runs and stages may share.

    Methods with different names stay separate, even if they resolve to the same setting. One setting of a
    method may have several roles: the best of several, a given number, or the match of another setting. With
    `by_role` it is kept once for each role.
    """

    def key(result: Result) -> Hashable:
        jobs = tuple(seed.score_job for seed in result.seeds)
        role = result.asked if by_role else None
        return (result.model, result.method, result.setting, result.prefix_set, jobs, role)

    return merged(results, key)


def merged(results: Iterable[Result], key: Callable[[Result], Hashable]) -> list[Result]:
    """The first result of each key, with the runs of the others that have the same key."""
    by_key: dict[Hashable, Result] = {}
    for result in results:
        of = key(result)
        by_key[of] = by_key[of].shared_with(result) if of in by_key else result
    return list(by_key.values())


def is_candidate(results: Results, result: Result) -> bool:
    """Whether a result is a candidate for the choice of a parameter, and not to be compared."""
    if result.is_imported:
        return False
    parameter = results.config_of(result).get_method(result.method).parameter
    best = parameter.best if isinstance(parameter, Choice) else None
    return best is not None and best.split == result.split


def candidates(results: Results) -> list[Result]:
    """The candidates of selections."""
    return distinct(result for result in results.results if is_candidate(results, result))


def compared(results: Results, *, by_role: bool = False) -> list[Result]:
    """All results but the candidates of selections."""
    others = (result for result in results.results if not is_candidate(results, result))
    return distinct(others, by_role=by_role)


def shown(results: Results) -> list[Result]:
    """The results that are compared, or the candidates if there are no others."""
    return compared(results) or candidates(results)


def models_of(results: Iterable[Result]) -> dict[str, str]:
    """Titles of models, in order, and the names by which they were loaded."""
    return {result.model: result.model_name for result in results}


def labels(
    results: Sequence[Result],
    names: Sequence[str] | None = None,
    *,
    by_model: bool = False,
    by_split: bool = True,
) -> list[str]:
    """Unique names: those given, or by method, rule and parameter, with as much of the origin as is needed.

    If the report has several runs, every name begins with the run. In tables with a column for each model
    (`by_model`), results of different models may share a name. Without `by_split`, the origin of the prefixes
    is left out.
    """
    bases = [result.label for result in results] if names is None else names
    used: list[Callable[[Result], str]] = []
    if any(result.of_several_runs for result in results):
        used.append(lambda result: result.origin)
    if not by_model and len(models_of(results)) > 1:
        used.append(lambda result: result.model)
    if by_split and len({result.split for result in results}) > 1:
        used.append(lambda result: result.stage)

    def names_with(getters: Sequence[Callable[[Result], str]]) -> list[tuple[str, str]]:
        """The name and the column of each result."""
        return [
            (joined([get(result) for get in getters], base), result.model if by_model else "")
            for result, base in zip(results, bases, strict=True)
        ]

    for get in _DISTINCTIONS:
        if len(set(names_with([*used, get]))) > len(set(names_with(used))):
            used.append(get)
    return _numbered(names_with(used))


def table_names(base: str, titles: Sequence[str]) -> list[str]:
    """Names of the tables for each title: only the base if there is one title."""
    if len(titles) == 1:
        return [base]
    names = [(f"{base}-{slug(title) or 'model'}", "") for title in titles]
    return [re.sub(r" \((\d+)\)$", r"-\1", name) for name in _numbered(names)]


def slug(title: str) -> str:
    """A title as part of a file name."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def paper_columns(
    models: dict[str, str], *, with_paper: bool = True
) -> list[tuple[str, str | None, str | None]]:
    """Columns for a run's models and the paper's: heading, title of the model, the paper's size.

    If the run has a model of the paper, its column has both; otherwise the paper's four have their own,
    unless they are left out.
    """
    own: list[tuple[str, str | None, str | None]] = [
        (title, title, paper.find_size(name)) for title, name in models.items()
    ]
    if not with_paper or any(size for _, _, size in own):
        return own
    return own + [(f"paper, GPT-2 {size}", None, size) for size in paper.SIZES]


def joined(before: Sequence[str], name: str) -> str:
    """A name after its origin: "run, stage: name"."""
    return f"{', '.join(dict.fromkeys(before))}: {name}" if before else name


def _numbered(names: Sequence[tuple[str, str]]) -> list[str]:
    """The names, with a number added to those that occurred before in the same column."""
    seen: Counter[tuple[str, str]] = Counter()
    numbered = []
    for name, column in names:
        seen[name, column] += 1
        count = seen[name, column]
        numbered.append(name if count == 1 else f"{name} ({count})")
    return numbered
