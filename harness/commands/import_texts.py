"""bat-harness import"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from harness.commands import options
from harness.commands.console import ExitCode, growing_bars, program_name

if TYPE_CHECKING:
    from harness.config import SweepConfig


def import_texts(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", show_default=False, help="A .jsonl, .jsonl.gz or .parquet file, a row per prefix."
        ),
    ],
    run: Annotated[
        str,
        typer.Option(
            "--run",
            metavar="NAME",
            show_default=False,
            help="The run that the texts join, or the name of a new run.",
        ),
    ],
    method: Annotated[
        list[str],
        typer.Option(
            "--method",
            metavar="LABEL[=COLUMN]",
            show_default=False,
            help="What reports call the texts, and the column that holds them. Repeatable.",
        ),
    ],
    continuation: Annotated[
        str,
        typer.Option(
            "--continuation-column", metavar="COLUMN", help="The texts of a --method that names no column."
        ),
    ] = "continuation",
    prefix: Annotated[
        str | None,
        typer.Option("--prefix-column", metavar="COLUMN", help="The prefixes as text; default: prefix."),
    ] = None,
    prefix_id: Annotated[
        str | None,
        typer.Option(
            "--prefix-id-column",
            metavar="COLUMN",
            help="The ids of prefixes of the run, instead of their text.",
        ),
    ] = None,
    human: Annotated[
        str,
        typer.Option("--human-column", metavar="COLUMN", help="What people wrote, for a new run."),
    ] = "human",
    features: Annotated[
        str | None,
        typer.Option(
            "--features", metavar="MODEL", help="The model that reads texts for MAUVE; default: smollm2-135m."
        ),
    ] = None,
    tokenizer: Annotated[
        str | None,
        typer.Option(
            "--tokenizer",
            metavar="MODEL",
            help="For a new run: the model whose tokens are counted; default: that of --features.",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            "--max-tokens",
            metavar="N",
            min=1,
            help="For a new run: tokens that texts and human text are cut to; default: 256.",
        ),
    ] = None,
    written_by: Annotated[
        str | None,
        typer.Option("--written-by", metavar="LABEL", help="For a new run: what reports call the writer."),
    ] = None,
    db: options.Database = options.DEFAULT_DATABASE,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="Number of workers; default: as many as fit.", min=1),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Import texts made elsewhere, and score them like our own.

    Texts join a finished run whose prefixes they continue. If there is no run of
    that name, a new one is made of the file's prefixes and human texts. Run the
    same command again to resume. Then see: bat-harness report.

    Examples:

        bat-harness import texts.jsonl --run demo --method theirs --prefix-id-column prefix
        bat-harness import pairs.jsonl --run pairs --method eta=eta --method nucleus=topp
    """
    from harness.planning.import_sweep import ImportOptions, import_sweep
    from harness.store import NoStoreError, open_reader

    asked = ImportOptions(
        run=run,
        file=file,
        columns=tuple(_label_and_column(each, continuation) for each in method),
        prefix=prefix,
        prefix_id=prefix_id,
        human=human,
        features=features,
        tokenizer=tokenizer,
        max_tokens=max_tokens,
        written_by=written_by,
    )
    try:
        reader = open_reader(db)
    except NoStoreError:
        config = import_sweep(asked, None)
    else:
        with reader:
            config = import_sweep(asked, reader)
    _run(config, db, workers, as_json=as_json)


def _label_and_column(text: str, default: str) -> tuple[str, str]:
    """What --method says: the column stands behind the last equals sign, as labels may have one."""
    label, _, column = text.rpartition("=")
    return (label, column) if label and column else (text, default)


def _run(config: SweepConfig, db: str, workers: int | None, *, as_json: bool) -> None:
    """Run the sweep as `bat-harness run` does."""
    from harness.commands.run import _NOTHING, _STOPPING, _drive, _sentences
    from harness.driver.log import log_to_file
    from harness.driver.stopping import Stop
    from harness.planning.finished import is_finished, stored_identity
    from harness.store import RetryPolicy, open_store
    from harness.versions import library_versions

    notes = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)
    again = shlex.join([program_name(), *sys.argv[1:]])
    with open_store(db, retry=RetryPolicy(max_failures=config.resources.max_attempts)) as store:
        run_id = store.add_run(config.name, stored_identity(config), library_versions())
        if is_finished(store, run_id):
            if as_json:
                typer.echo(json.dumps({"run": run_id, "done": 0, "complete": True}))
            notes.print(_NOTHING)
            return
        log = log_to_file(store.address, config.name)
        notes.print(f"Run {config.name!r} in {store.address}, log in {log}", style="dim")
        stop = Stop()
        with growing_bars() as bars, stop.listening(lambda: bars.say(_STOPPING)):
            try:
                summary = _drive(config, store, run_id, "local", workers, bars, stop, ship_code=False)
            except KeyboardInterrupt:
                bars.say(f"Stopped at once. Resume with: {again}")
                raise typer.Exit(ExitCode.INTERRUPTED) from None
            finally:
                bars.end_step()
        failures = store.failed(run_id)
    if as_json:
        typer.echo(json.dumps({"run": run_id, **asdict(summary), "complete": summary.complete}))
    else:
        for line in _sentences(summary, failures, again, store.address):
            notes.print(line)
    if not summary.complete:
        raise typer.Exit(ExitCode.INTERRUPTED if summary.stopped else ExitCode.UNFINISHED)
