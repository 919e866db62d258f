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

# Rows of a table, unless --limit says otherwise: what one can still read.
_TABLE_ROWS = 100

# Refused here in plainer words than the database's own, which refuses all that would change it.
_CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "CREATE", "DROP", "ALTER", "TRUNCATE"})


def query(
    sql: Annotated[
        str | None, typer.Argument(metavar="SQL", show_default=False, help="A question, such as a SELECT.")
    ] = None,
    db: options.Database = options.DEFAULT_DATABASE,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="Ask a question that has a name instead.")
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List the questions that have names, with their SQL.")
    ] = False,
    output_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            show_default=False,
            help="table, csv, json or parquet; if not said, what the file's name ends with, or else a table "
            "in a terminal and csv elsewhere.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="ROWS",
            min=1,
            show_default=False,
            help=f"How many rows at most; a table has {_TABLE_ROWS} if not said, files have all.",
        ),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Ask the database in SQL; it cannot be changed this way.

    Tables and views are described in docs/database.md. Asking never holds up a
    sweep, and answers of any size are written as they are read.
    """
    from harness.export.row_files import STREAMED, check_absent, write_rows
    from harness.named_queries import get_query
    from harness.store import open_reader
    from harness.words import counted

    if listing:
        _list_queries(as_json=as_json)
        return
    question = _choose(sql, None if name is None else get_query(name).sql)
    chosen = "json" if as_json else _choose_format(output_format, output)
    if output is not None:
        check_absent(output, force=force)
    with open_reader(db) as reader, reader.query(question) as answer:
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


def _choose(sql: str | None, named: str | None) -> str:
    from bat.errors import InvalidInputError

    if sql is None and named is None:
        raise InvalidInputError(
            "a question is needed: write it in SQL, or name one with --name. "
            "bat-harness query --list shows those that have names."
        )
    if sql is not None and named is not None:
        raise InvalidInputError("a question is given in SQL or by --name; got both. Leave one out.")
    question = sql or named or ""
    first = question.split(maxsplit=1)[0].upper() if question.strip() else ""
    if first in _CHANGES:
        raise InvalidInputError(
            f"query only asks, and {first} would change the database. What may change one: bat-harness run, "
            "retry and db migrate."
        )
    return question


def _choose_format(asked: str | None, output: Path | None) -> str:
    from bat.errors import InvalidInputError
    from harness.export.row_files import FORMATS

    by_name = output.suffix.lower().removeprefix(".") if output is not None else ""
    if asked is None:
        if output is None:
            return "table" if Console().is_terminal else "csv"
        if by_name not in FORMATS:
            raise InvalidInputError(
                f"the file's name must end with .csv, .json or .parquet; got {output}. Rename it, or say "
                "what to write with --format."
            )
        return by_name
    if asked not in ("table", *FORMATS):
        raise InvalidInputError(f"--format must be table, csv, json or parquet; got {asked!r}.")
    if asked == "table" and output is not None:
        raise InvalidInputError("a table is for reading in a terminal. Write csv, json or parquet to a file.")
    if asked == "parquet" and output is None:
        raise InvalidInputError("Parquet is written to a file. Name one with -o, such as -o answer.parquet.")
    return asked


def _check_names(columns: tuple[str, ...]) -> None:
    from bat.errors import InvalidInputError

    (name, count) = Counter(columns).most_common(1)[0]
    if count > 1:
        raise InvalidInputError(
            f"columns must have different names to be written so; {count} are called {name!r}. "
            "Tell them apart with AS."
        )


def _print_table(answer: QueryRows, limit: int) -> None:
    from harness.commands.rows_view import render_rows
    from harness.words import counted

    console = get_console()
    rows = list(islice(answer.rows, limit + 1))
    console.print(render_rows(answer.columns, rows[:limit], console))
    note = counted(len(rows), "row")
    if len(rows) > limit:
        note = f"{counted(limit, 'row')}, and there are more: --limit shows them, -o FILE writes them"
    console.print(note, style="dim", highlight=False)


def _list_queries(*, as_json: bool) -> None:
    from rich.padding import Padding
    from rich.text import Text

    from harness.named_queries import NAMED_QUERIES

    if as_json:
        records = [
            {"name": one.name, "question": one.question, "sql": one.sql.strip()}
            for one in NAMED_QUERIES.values()
        ]
        typer.echo(json.dumps(records, indent=2))
        return
    console = get_console()
    for one in NAMED_QUERIES.values():
        console.print(Text.assemble((one.name, "bold"), f"  {one.question}"))
        console.print(Padding(Text(one.sql.strip(), "dim"), (0, 0, 1, 4)))
