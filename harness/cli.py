"""The command line: what is common to all commands. Each command is a file of harness/commands."""

from __future__ import annotations

import errno
import importlib.metadata
import io
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from harness.commands import (
    database,
    doctor,
    export,
    next_tokens,
    plan,
    preview,
    query,
    report,
    retry,
    run,
    sample,
    status,
    trace,
)

app = typer.Typer(
    name="bat-harness",
    help="Basis-aware threshold sampling, measured.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; a mistake the project foresaw prints as one sentence and exits with 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a letter shows its number instead
            stream.reconfigure(errors="backslashreplace")
    try:
        app(arguments)
    except Exception as error:
        # Imported late, like everything that brings in torch: --help should not wait for it.
        from bat.errors import BatError

        if isinstance(error, BatError):
            sentence = str(error)
        elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
            # Files of ours are told with their names; what is left is where the output goes.
            sentence = "the output cannot be written: its disk is full. Make room, or send it elsewhere."
        else:
            raise
        sys.stderr.write(f"error: {sentence}\n")
        sys.exit(1)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bat-harness {importlib.metadata.version('bat-harness')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


app.command()(preview.preview)
app.command("next")(next_tokens.next_tokens)
app.command()(sample.sample)
app.command()(plan.plan)
app.command()(run.run)
app.command()(status.status)
app.command()(retry.retry)
app.command()(query.query)
app.command()(export.export)
app.command()(report.report)
app.command()(trace.trace)
app.add_typer(database.app)
app.command()(doctor.doctor)
