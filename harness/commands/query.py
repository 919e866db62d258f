"""bat-harness query"""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness.commands import options
from harness.commands.console import get_console

if TYPE_CHECKING:
    from harness.store import QueryRows

# Default limit of a table, for readability.
_TABLE_ROWS = 100


def query(
    sql: Annotated[
        str | None, typer.Argument(metavar="SQL", show_default=False, help="A SELECT statement.")
    ] = None,
    db: options.Database = options.DEFAULT_DATABASE,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Run a named query instead.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN",
            show_default=False,
            help="The run that a named query is about: its name, number or NAME#NUMBER, or all; default: the "
            "latest. In SQL of your own, :runs stands for its number.",
        ),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the named queries with their SQL.")] = False,
    output_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            show_default=False,
            help="table, csv, json or parquet; default: the suffix of the output file, otherwise a table "
            "on a terminal and csv in a pipe.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write to.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            show_default=False,
            help=f"Maximum number of rows; default: {_TABLE_ROWS} for a table, all for files.",
        ),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Query the database with SQL, or run a named query.

    Queries are read-only and do not block a running sweep. Tables and views are
    described in docs/database.md. A named query is about one run, or all; every view
    has the columns run_id and run. Results of any size are streamed.

    Examples:

        bat-harness query --name scores --run demo
        bat-harness query "SELECT * FROM scores_view" --output scores.parquet
    """
    from harness.api.queries import about_runs
    from harness.export.row_files import STREAMED, check_absent, write_rows
    from harness.store import open_reader
    from harness.words import counted

    if listing:
        _list_queries(as_json=as_json)
        return
    statement = _choose(sql, name)
    chosen = "json" if as_json else _choose_format(output_format, output)
    if output is not None:
        check_absent(output, force=force)
    with open_reader(db) as reader, reader.query(about_runs(reader, statement, run)) as answer:
        if chosen == "table":
            _print_table(answer, limit or _TABLE_ROWS)
            return
        if chosen != "csv":
            _check_names(answer.columns)
        rows = islice(answer.rows, limit)
        if output is None:
            STREAMED[chosen](answer.columns, rows, sys.stdout)
            return
        count = write_rows(chosen, answer.columns, rows, output)
    Console(stderr=True, highlight=False).print(f"{output}: {counted(count, 'row')}", style="dim")


def _choose(sql: str | None, name: str | None) -> str:
    from bat.errors import InvalidInputError
    from harness.api.queries import check_read_only
    from harness.store.queries import get_query

    if name is not None and sql is None:
        return get_query(name).sql
    if sql is None:
        raise InvalidInputError(
            "a query is required: write SQL, or choose a named query with --name. "
            "List the named queries with: bat-harness query --list"
        )
    if name is not None:
        raise InvalidInputError("a query must be SQL or --name; got both. Leave one out.")
    check_read_only(sql)
    return sql


def _choose_format(requested: str | None, output: Path | None) -> str:
    from bat.errors import InvalidInputError
    from harness.export.row_files import FORMATS

    by_name = output.suffix.lower().removeprefix(".") if output is not None else ""
    if requested is None:
        if output is None:
            return "table" if Console().is_terminal else "csv"
        if by_name not in FORMATS:
            raise InvalidInputError(
                f"the file name must end with .csv, .json or .parquet; got {output}. Rename it, or choose "
                "the format with --format."
            )
        return by_name
    if requested not in ("table", *FORMATS):
        raise InvalidInputError(f"--format must be table, csv, json or parquet; got {requested!r}.")
    if requested == "table" and output is not None:
        raise InvalidInputError(
            "a table can only be printed; got --output. Write csv, json or parquet instead."
        )
    if requested == "parquet" and output is None:
        raise InvalidInputError("Parquet needs a file to write to. Name one, such as: -o answer.parquet")
    return requested


def _check_names(columns: tuple[str, ...]) -> None:
    from bat.errors import InvalidInputError

    (name, count) = Counter(columns).most_common(1)[0]
    if count > 1:
        raise InvalidInputError(
            f"column names must be unique in this format; {count} are called {name!r}. Rename them with AS."
        )


def _print_table(answer: QueryRows, limit: int) -> None:
    from harness.commands.query_view import render_rows
    from harness.words import counted

    console = get_console()
    rows = list(islice(answer.rows, limit + 1))
    console.print(render_rows(answer.columns, rows[:limit], console))
    note = counted(len(rows), "row")
    if len(rows) > limit:
        note = f"first {counted(limit, 'row')}; show more with --limit, or write all with -o FILE"
    console.print(note, style="dim", highlight=False)


def _list_queries(*, as_json: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from harness.store.queries import NAMED_QUERIES

    if as_json:
        records = [
            {"name": query.name, "question": query.question, "sql": query.sql.strip()}
            for query in NAMED_QUERIES.values()
        ]
        typer.echo(json.dumps(records, indent=2))
        return
    console = get_console()
    for query in NAMED_QUERIES.values():
        console.print(Text.assemble((query.name, "bold"), f"  {query.question}"))
        console.print(Padding(Text(query.sql.strip(), "dim"), (0, 0, 1, 4)))
