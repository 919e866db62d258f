"""Building a report from all its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from harness.report.loading import load_cost, load_results, load_revisions
from harness.report.parts import Missing, Part, Picture, Report, Section, Table
from harness.report.results import Results
from harness.report.tables import Sources, build
from harness.store import Reader, Run
from harness.words import counted

# Called with the name and size of a long step as it begins; returns a function to call with the progress.
Stage = Callable[[str, int], Callable[[int], None]]


def build_tables(reader: Reader, runs: Sequence[Run]) -> tuple[Sources, list[Table | Missing]]:
    """All tables of runs, from stored results only."""
    sources = Sources(
        load_results(reader, runs),
        measurement=lambda measured: reader.measurement(measured.jobs),
        cost=lambda result: load_cost(reader, result),
    )
    return sources, build(sources)


def build_report(reader: Reader, runs: Sequence[Run], *, device: str | None, stage: Stage) -> Report:
    """Every part for which the runs have data; with a device, also the parts that need the model."""
    from harness.report.provenance import provenance

    progress = stage("Tables and figures", 3)
    sources, tables = build_tables(reader, runs)
    progress(1)
    parts = _Parts(tables)
    parts.add(_pictures(sources, parts.tables))
    progress(2)
    parts.add(_samples(reader, sources.results))
    progress(3)
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


# Title, introduction, and the beginnings of the names of the parts.
_SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Which methods write most like people",
        "",
        ("comparison", "mauve-by-method", "spreads", "differences", "imported"),
    ),
    (
        "What the texts are like",
        "Every statistic is of the continuations only, in the tokens of the model. Human continuations are "
        "of the same prefixes. docs/scores.md defines each statistic.",
        ("statistics",),
    ),
    ("How tokens were accepted, and at what cost", "", ("sampling",)),
    (
        "The paper's further experiments",
        "",
        ("lower-entropy", "eta-sweep", "figure-eta-sweep", "constraints", "figure-constraints"),
    ),
    ("How much human text is rejected", "", ("rates", "rejection-curves", "rejection")),
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
        self.by_name: dict[str, Part] = {}
        self.missing: list[Missing] = []
        self.add(parts)

    def add(self, parts: Iterable[Part | Missing]) -> None:
        """Add parts."""
        for part in parts:
            if isinstance(part, Missing):
                self.missing.append(part)
            else:
                self.by_name[part.name] = part

    @property
    def tables(self) -> list[Table]:
        return [part for part in self.by_name.values() if isinstance(part, Table)]

    def sections(self) -> tuple[Section, ...]:
        """The parts in the order of _SECTIONS; empty sections are left out."""
        sections = []
        for title, text, names in _SECTIONS:
            chosen = [
                part for name in names for part in self.by_name.values() if _is_called(part, name, names)
            ]
            if chosen:
                sections.append(Section(title, text, tuple(chosen)))
        return tuple(sections)


def _is_called(part: Part, name: str, names: Sequence[str]) -> bool:
    """Whether the part's name is this one, or begins with it and matches no longer one of the names."""
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
    names = " ".join(run.name for run in runs)
    command = f"bat-harness report {names} --with-model -o DIR --db {reader.address}"
    return [
        Missing("Next tokens (Figures 1 and 4, Tables 5 to 11 of the paper)", "they need the model", command),
        Missing("Rank of the outputs (Figure 10 of the paper)", "it needs the model", command),
    ]


def _human_judges(reader: Reader, runs: Sequence[Run]) -> Missing:
    return Missing(
        "Judgements by people (Table 2 of the paper)",
        "they need people; to export the texts to show them:",
        f"bat-harness export {runs[0].name} -o DIR --db {reader.address}",
    )


def _check_not_empty(reader: Reader, results: Results, parts: _Parts) -> None:
    from bat.errors import InvalidInputError

    if results.results or results.measured:
        return
    names = " and ".join(repr(run.name) for run in results.runs)
    raise InvalidInputError(
        f"a report needs scores or measured human text; {names} in {reader.address} has neither yet "
        f"({counted(results.unfinished, 'job')} not done). Resume the sweep with the command that started "
        f"it, or see: bat-harness status {results.runs[0].name} --db {reader.address}"
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
                f"{counted(len(ends), 'basis-aware setting')} against the plain one with the same rejection "
                f"rate: higher MAUVE for {higher}, lower for {len(shown) - higher}, and for "
                f"{len(ends) - len(shown) - unknown} no difference shown."
            )
            if unknown:
                sentences.append(f"{counted(unknown, 'difference')} without an interval.")
    if results.unfinished:
        sentences.append(f"{counted(results.unfinished, 'job')} of the sweep not done yet.")
    return " ".join(sentences)


def _what_was_compared(reader: Reader, results: Results) -> str:
    if not results.results:
        return "Human text was measured; no texts were generated."
    own = [result for result in results.results if not result.is_imported]
    models = ", ".join(dict.fromkeys(result.model for result in own))
    settings = {(result.model, result.setting) for result in own}
    seeds = len({scored.seed for result in own for scored in result.seeds})
    set_ids = dict.fromkeys(result.prefix_set for result in results.results)
    text = ", ".join(
        f"{counted(prefixes.prefixes, 'prefix', 'prefixes')} of {prefixes.corpus} ({prefixes.split})"
        for prefixes in map(reader.prefix_set, set_ids)
    )
    imported = ", ".join(dict.fromkeys(result.method for result in results.results if result.is_imported))
    if not own:
        return f"Imported texts continue {text}: {imported}."
    beside = f" Imported beside them: {imported}." if imported else ""
    return (
        f"{models} continued {text} under {counted(len(settings), 'setting')} with {counted(seeds, 'seed')}."
        f"{beside}"
    )
