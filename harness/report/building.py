"""Building a report from all its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from harness.report import paper as the_paper
from harness.report.loading import load_cost, load_results, load_revisions
from harness.report.parts import Missing, Part, Picture, Report, Table
from harness.report.results import Results
from harness.report.sections import Parts, begins
from harness.report.summary import summarize
from harness.report.tables import Sources, build, with_footnotes
from harness.report.tables.comparing import find_comparison
from harness.report.tables.differences import comparison_table
from harness.store import Reader, Run
from harness.words import counted

# Called with the name and size of a long step as it begins; returns a function to call with the progress.
Stage = Callable[[str, int], Callable[[int], None]]


def build_tables(
    reader: Reader, runs: Sequence[Run], *, paper: bool = False, compare: Sequence[str] = ()
) -> tuple[Sources, list[Table | Missing]]:
    """All tables of runs, from stored results only; those of `compare` (`A:B`) come first.

    With `paper`, its numbers are shown even if no run repeats one of its experiments.
    """
    results = load_results(reader, runs)
    sources = Sources(
        results,
        measurement=lambda measured: reader.measurement(measured.jobs),
        cost=lambda result: load_cost(reader, result),
        paper=paper or any(map(the_paper.mirrored_by, results.configs)),
    )
    asked = [
        comparison_table(find_comparison(results, text), "compare" if number == 1 else f"compare-{number}")
        for number, text in enumerate(compare, start=1)
    ]
    return sources, [*map(with_footnotes, asked), *build(sources)]


def build_report(
    reader: Reader,
    runs: Sequence[Run],
    *,
    device: str | None,
    stage: Stage,
    paper: bool = False,
    compare: Sequence[str] = (),
    judged: Iterable[Part | Missing] = (),
) -> Report:
    """Every part for which the runs have data; with a device, also the parts that need the model.

    `judged` are the parts that come from people.
    """
    from harness.report.provenance import provenance

    progress = stage("Tables and figures", 3)
    sources, tables = build_tables(reader, runs, paper=paper, compare=compare)
    _check_not_empty(reader, sources.results)
    progress(1)
    parts = Parts(tables)
    parts.add(_pictures(sources, parts.tables))
    progress(2)
    parts.add(_samples(reader, sources.results))
    progress(3)
    if device is None:
        parts.add(_without_model(reader, runs, paper=sources.paper))
    else:
        parts.add(_with_model(reader, sources, device, stage))
    parts.add(judged)
    return Report(
        title=f"{', '.join(run.name for run in runs)}: sampling methods compared",
        summary=summarize(reader, sources.results, parts.tables),
        sections=parts.sections(),
        missing=tuple(_missed(parts.missing, reader, runs, paper=sources.paper)),
        provenance=provenance(reader, sources.results),
    )


def _missed(
    missing: Iterable[Missing], reader: Reader, runs: Sequence[Run], *, paper: bool
) -> Iterable[Missing]:
    """What is missing; parts of the paper only where it is reproduced."""
    yield from (part for part in missing if paper or not part.of_paper)
    if not paper:
        command = f"bat-harness report {_names(runs)} --paper -o DIR --db {reader.address}"
        why = "the sweep repeats none of its experiments; to see its numbers and what would repeat them:"
        yield Missing("The paper's tables and figures", why, command)


def _names(runs: Sequence[Run]) -> str:
    return " ".join(run.name for run in runs)


def _pictures(sources: Sources, tables: Sequence[Table]) -> Iterable[Picture]:
    from harness.report.figures.toy import toy
    from harness.report.pictures import (
        picture_of_comparison,
        picture_of_constraints,
        picture_of_eta_sweep,
        pictures_of_parameters,
        pictures_of_plane,
        pictures_of_rejection,
    )

    models = list(dict.fromkeys(result.model for result in sources.results.results))
    drawn: list[Picture | None] = [
        *pictures_of_rejection(sources),
        *pictures_of_parameters(sources),
        *pictures_of_plane(sources),
    ]
    if sources.paper:
        drawn.append(toy())
    for table in tables:
        if table.name == "comparison":
            drawn.append(picture_of_comparison(table, models))
        elif begins(table.name, "eta-sweep"):
            drawn.append(picture_of_eta_sweep(table))
        elif begins(table.name, "constraints"):
            drawn.append(picture_of_constraints(table))
    return [picture for picture in drawn if picture is not None]


def _samples(reader: Reader, results: Results) -> list[Part | Missing]:
    from harness.report.samples import side_by_side
    from harness.report.tokenizers import token_texts

    revisions = load_revisions(reader, results)

    def decode(model: str, context: Sequence[int], tokens: Sequence[int]) -> list[str]:
        return token_texts(model, context, tokens, revisions.get(model))

    return [side_by_side(reader, results, decode)]


def _with_model(reader: Reader, sources: Sources, device: str, stage: Stage) -> list[Part | Missing]:
    from harness.report.with_model.parts import model_parts

    revisions = load_revisions(reader, sources.results)
    return list(model_parts(sources.results, revisions, device, stage, paper=sources.paper))


def _without_model(reader: Reader, runs: Sequence[Run], *, paper: bool) -> list[Missing]:
    command = f"bat-harness report {_names(runs)} --with-model -o DIR --db {reader.address}"
    if not paper:
        return [Missing("Next tokens and the rank of the outputs", "they need the model", command)]
    return [
        Missing("Next tokens (Figures 1 and 4, Tables 5 to 11 of the paper)", "they need the model", command),
        Missing("Rank of the outputs (Figure 10 of the paper)", "it needs the model", command),
    ]


def _check_not_empty(reader: Reader, results: Results) -> None:
    from bat.errors import InvalidInputError

    if results.results or results.measured:
        return
    names = " and ".join(repr(run.name) for run in results.runs)
    raise InvalidInputError(
        f"a report needs scores or measured human text; {names} in {reader.address} has neither yet "
        f"({counted(results.unfinished, 'job')} not done). Resume the sweep with the command that started "
        f"it, or see: bat-harness status {results.runs[0].name} --db {reader.address}"
    )
