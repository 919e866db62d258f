"""bat-harness judge report, list, export and import"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from harness.commands import options
from harness.commands.console import get_console, plain_table
from harness.commands.serving import say


def report(
    study: options.Study,
    min_attention: Annotated[
        float,
        typer.Option(
            "--min-attention", metavar="SHARE", help="Leave out judges who pass fewer attention checks."
        ),
    ] = 0.75,
    max_speed: Annotated[
        float,
        typer.Option(
            "--max-speed",
            metavar="WPM",
            help="Leave out judges whose median answer is faster, in words a minute.",
        ),
    ] = 1500.0,
    db: options.Database = options.DEFAULT_DATABASE,
    as_json: options.Json = False,
) -> None:
    """Print what a study shows: wins, ties, agreement, and who was left out.

    Intervals are resampled over prefixes and judges together. If judges are left
    out, the table is given with and without them. `bat-harness report` has the same
    tables for a run whose texts were judged.

    Examples:

        bat-harness judge report first
        bat-harness judge report first --min-attention 0.5 --json
    """
    from harness.api.judging import report_study
    from harness.commands.report_view import print_table
    from harness.judge.exclusion import ExclusionRules
    from harness.judge.tables import study_tables

    results = report_study(db, study, ExclusionRules(min_attention, max_speed))
    tables = study_tables(results)
    if as_json:
        typer.echo(json.dumps([asdict(table) for table in tables], indent=2))
        return
    console = get_console()
    for table in tables:
        print_table(console, table)
        console.print()


def list_(db: options.Database = options.DEFAULT_DATABASE, as_json: options.Json = False) -> None:
    """List the studies of a database, and how far they are.

    Examples:

        bat-harness judge list
        bat-harness judge list --json
    """
    from harness.api.judging import list_studies
    from harness.judge.design import StudyDesign
    from harness.words import moment

    studies = list_studies(db)
    if as_json:
        records = [{"id": study.id, "name": study.name, **asdict(progress)} for study, progress in studies]
        typer.echo(json.dumps(records, indent=2))
        return
    if not studies:
        say(["There is no study yet. Make one with: bat-harness judge make"])
        return
    table = plain_table()
    for heading in ("study", "pairs", "votes", "judges", "made"):
        table.add_column(
            heading, overflow="fold", justify="right" if heading in ("votes", "judges") else "left"
        )
    for study, progress in studies:
        pairs = StudyDesign.from_record(study.design).pairs
        table.add_row(
            study.name,
            "\n".join(f"{pair.first} : {pair.second}" for pair in pairs),
            f"{progress.votes:,} of {progress.wanted:,}",
            f"{progress.judges:,}",
            moment(study.created_at),
        )
    get_console().print(table)


def export(
    study: options.Study,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="A .csv (answers) or .jsonl (everything) file.",
        ),
    ],
    tasks: Annotated[
        bool, typer.Option("--tasks", help="Write what another platform shows to judges, instead of answers.")
    ] = False,
    platform_ids: Annotated[
        bool,
        typer.Option(
            "--platform-ids", help="Name judges by their ids on the platform, not by salted hashes."
        ),
    ] = False,
    force: options.Force = False,
    db: options.Database = options.DEFAULT_DATABASE,
) -> None:
    """Export a study: answers as CSV in the batch format, or everything as JSONL.

    Either file has all that the statistics need. Judges are named by salted hashes.

    Examples:

        bat-harness judge export first --output answers.csv
        bat-harness judge export first --output first.jsonl --force
    """
    from harness.api.judging import export_study
    from harness.words import counted

    rows = export_study(db, study, output, tasks=tasks, platform_ids=platform_ids, force=force)
    say([f"{counted(rows, 'row')} in {output}"])


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", show_default=False, help="A .csv file in the batch format, or a .jsonl file."
        ),
    ],
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Name of the study, if it is new.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="WHAT=COLUMN",
            show_default=False,
            help="The column of a CSV that holds worker, prefix, text_1, text_2, setting_1, setting_2, "
            "choice, seconds or remark, if it has another name. Repeatable.",
        ),
    ] = None,
    pair: Annotated[
        str | None,
        typer.Option(
            "--pair", metavar="A:B", help="Whose text 1 and text 2 are, for a CSV that does not say."
        ),
    ] = None,
    db: options.Database = options.DEFAULT_DATABASE,
) -> None:
    """Import answers that were given elsewhere.

    Answers to tasks that `judge export --tasks` wrote join their study. Others make
    a study of their own. Importing a file again changes nothing.

    Examples:

        bat-harness judge import batch_results.csv --name theirs
        bat-harness judge import batch_results.csv --name theirs --column choice=Answer.preference
    """
    from bat.errors import InvalidInputError
    from harness.api.judging import import_answers
    from harness.report.tables.comparing import split_sides
    from harness.words import counted

    columns = dict(option.partition("=")[::2] for option in column or ())
    for what, title in columns.items():
        if not what or not title:
            raise InvalidInputError(f"--column must be WHAT=COLUMN; got {what or title!r}.")
    settings = split_sides(pair)[0] if pair else None
    imported = import_answers(db, file, name, columns=columns, settings=settings)
    known = imported.given - imported.answers
    old = f"; {counted(known, 'answer')} had been there" if known else ""
    verb = "New study" if imported.is_new else "Study"
    say([f"{verb} {imported.study.name}: {counted(imported.answers, 'new answer')}{old}."])
