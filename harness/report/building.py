"""A report, put together from all its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from harness.report.loading import load_cost, load_results, load_revisions
from harness.report.parts import Missing, Part, Picture, Report, Section, Table
from harness.report.results import Results
from harness.report.tables import Sources, build
from harness.store import Reader, Run
from harness.words import counted

# Told the name and the size of a long step as it begins, returns what to call with the amount done so far.
Stage = Callable[[str, int], Callable[[int], None]]


def build_tables(reader: Reader, runs: Sequence[Run]) -> tuple[Sources, list[Table | Missing]]:
    """All tables of runs, from rows alone."""
    sources = Sources(
        load_results(reader, runs),
        measurement=lambda measured: reader.measurement(measured.jobs),
        cost=lambda result: load_cost(reader, result),
    )
    return sources, build(sources)


def build_report(reader: Reader, runs: Sequence[Run], *, device: str | None, stage: Stage) -> Report:
    """Everything that the runs have data for; with a device, also what only a model can show."""
    from harness.report.provenance import provenance

    told = stage("Tables and figures", 3)
    sources, tables = build_tables(reader, runs)
    told(1)
    parts = _Parts(tables)
    parts.add(_pictures(sources, parts.tables))
    told(2)
    parts.add(_samples(reader, sources.results))
    told(3)
    if device is None:
        parts.add(_without_model(reader, runs))
    else:
        parts.add(_with_model(reader, sources.results, device, stage))
    parts.add([_human_judges(reader, runs)])
    _check_not_empty(reader, sources.results, parts)
    return Report(
        title=f"{', '.join(run.name for run in runs)}: sampling methods compared",
        summary=_summary(reader, sources.results, parts.tables),
        sections=parts.sections(),
        missing=tuple(parts.missing),
        provenance=provenance(reader, sources.results),
    )


# Titles, what stands before the parts, and the names with which the parts' own begin.
_SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Which methods write most like people",
        "",
        ("comparison", "mauve-by-method", "spreads", "differences", "imported"),
    ),
    (
        "What the texts are like",
        "Every statistic is of the continuations alone, in the tokens of the model; those of people are of "
        "the same prefixes. What each is: docs/scores.md.",
        ("statistics",),
    ),
    ("How tokens were accepted, and what it cost", "", ("sampling",)),
    (
        "The paper's further experiments",
        "",
        ("lower-entropy", "eta-sweep", "figure-eta-sweep", "constraints", "figure-constraints"),
    ),
    ("How much human text is refused", "", ("rates", "rejection-curves", "rejection")),
    ("How parameters were chosen", "", ("matching", "selection")),
    ("Side by side", "", ("samples",)),
    (
        "The next token",
        "Which tokens each method accepts after the paper's seven prompts.",
        ("next-tokens",),
    ),
    ("Why it works", "", ("toy", "rank")),
)


class _Parts:
    """Parts by name, and what is missing."""

    def __init__(self, parts: Iterable[Part | Missing]) -> None:
        self.found: dict[str, Part] = {}
        self.missing: list[Missing] = []
        self.add(parts)

    def add(self, parts: Iterable[Part | Missing]) -> None:
        """Take further parts."""
        for part in parts:
            if isinstance(part, Missing):
                self.missing.append(part)
            else:
                self.found[part.name] = part

    @property
    def tables(self) -> list[Table]:
        return [part for part in self.found.values() if isinstance(part, Table)]

    def sections(self) -> tuple[Section, ...]:
        """The parts in the order of _SECTIONS; sections without any are left out."""
        made = []
        for title, text, names in _SECTIONS:
            chosen = [part for name in names for part in self.found.values() if _is_called(part, name, names)]
            if chosen:
                made.append(Section(title, text, tuple(chosen)))
        return tuple(made)


def _is_called(part: Part, name: str, names: Sequence[str]) -> bool:
    """Whether the part's name is this one, perhaps with more behind it, and no other fits better."""
    best = max((other for other in names if _begins(part.name, other)), key=len, default=None)
    return best == name


def _begins(name: str, beginning: str) -> bool:
    return name == beginning or name.startswith(f"{beginning}-")


def _pictures(sources: Sources, tables: Sequence[Table]) -> Iterable[Picture]:
    from harness.report.figures.toy import toy
    from harness.report.pictures import (
        picture_of_comparison,
        picture_of_constraints,
        picture_of_eta_sweep,
        pictures_of_rejection,
    )

    models = list(dict.fromkeys(result.model for result in sources.results.results))
    drawn: list[Picture | None] = [toy(), *pictures_of_rejection(sources)]
    for table in tables:
        if table.name == "comparison":
            drawn.append(picture_of_comparison(table, models))
        elif _begins(table.name, "eta-sweep"):
            drawn.append(picture_of_eta_sweep(table))
        elif _begins(table.name, "constraints"):
            drawn.append(picture_of_constraints(table))
    return [picture for picture in drawn if picture is not None]


def _samples(reader: Reader, results: Results) -> list[Part | Missing]:
    from harness.report.samples import side_by_side
    from harness.report.tokenizers import token_texts

    revisions = load_revisions(reader, results)

    def decode(model: str, context: Sequence[int], tokens: Sequence[int]) -> list[str]:
        return token_texts(model, context, tokens, revisions.get(model))

    return [side_by_side(reader, results, decode)]


def _with_model(reader: Reader, results: Results, device: str, stage: Stage) -> list[Part | Missing]:
    from harness.report.with_model.parts import model_parts

    return list(model_parts(results, load_revisions(reader, results), device, stage))


def _without_model(reader: Reader, runs: Sequence[Run]) -> list[Missing]:
    named = " ".join(run.name for run in runs)
    again = f"bat-harness report {named} --with-model -o DIR --db {reader.address}"
    return [
        Missing("Next tokens (Figures 1 and 4, Tables 5 to 11 of the paper)", "they take the model", again),
        Missing("Rank of the outputs (Figure 10 of the paper)", "it takes the model", again),
    ]


def _human_judges(reader: Reader, runs: Sequence[Run]) -> Missing:
    return Missing(
        "Judgements by people (Table 2 of the paper)",
        "no command can stand in for people; the texts to show them come with",
        f"bat-harness export {runs[0].name} -o DIR --db {reader.address}",
    )


def _check_not_empty(reader: Reader, results: Results, parts: _Parts) -> None:
    from bat.errors import InvalidInputError

    if results.results or results.measured:
        return
    named = " and ".join(repr(run.name) for run in results.runs)
    raise InvalidInputError(
        f"a report needs scores or measured human text; {named} in {reader.address} has neither as yet "
        f"({counted(results.unfinished, 'job')} not done). Go on with the sweep by the command that started "
        f"it, or look: bat-harness status {results.runs[0].name} --db {reader.address}"
    )


def _summary(reader: Reader, results: Results, tables: Sequence[Table]) -> str:
    sentences = [_what_was_compared(reader, results)]
    for table in tables:
        if table.name == "differences":
            ends = [(row.cells[0].low, row.cells[0].high) for row in table.rows]
            shown = [low for low, high in ends if low is not None and high is not None and low * high > 0]
            higher = sum(low > 0 for low in shown)
            unknown = sum(low is None for low, _ in ends)
            sentences.append(
                f"{counted(len(ends), 'basis-aware setting')} against the plain one that rejects as much "
                f"human text: higher MAUVE for {higher}, lower for {len(shown) - higher}, and for "
                f"{len(ends) - len(shown) - unknown} no difference that these texts can show."
            )
            if unknown:
                sentences.append(f"{counted(unknown, 'difference')} without an interval.")
    if results.unfinished:
        sentences.append(f"{counted(results.unfinished, 'job')} of the sweep not done yet.")
    return " ".join(sentences)


def _what_was_compared(reader: Reader, results: Results) -> str:
    if not results.results:
        return "Human text was measured; no texts were written."
    own = [result for result in results.results if not result.is_imported]
    models = ", ".join(dict.fromkeys(result.model for result in own))
    settings = {(result.model, result.setting) for result in own}
    seeds = len({scored.seed for result in own for scored in result.seeds})
    sets = [reader.prefix_set(named) for named in dict.fromkeys(r.prefix_set for r in results.results)]
    text = ", ".join(
        f"{counted(one.prefixes, 'prefix', 'prefixes')} of {one.corpus} ({one.split})" for one in sets
    )
    imported = ", ".join(dict.fromkeys(result.method for result in results.results if result.is_imported))
    if not own:
        return f"Imported texts continue {text}: {imported}."
    beside = f" Imported beside them: {imported}." if imported else ""
    return (
        f"{models} continued {text} under {counted(len(settings), 'setting')} with {counted(seeds, 'seed')}."
        f"{beside}"
    )
