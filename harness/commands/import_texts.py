"""bat-harness import"""

from __future__ import annotations

import shlex
import sys
from typing import Annotated

import typer

from harness.commands import options
from harness.commands.console import program_name
from harness.commands.run import execute


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
    again = shlex.join([program_name(), *sys.argv[1:]])
    execute(config, db, lambda _: again, workers=workers, as_json=as_json)


def _label_and_column(text: str, default: str) -> tuple[str, str]:
    """What --method says: the column stands behind the last equals sign, as labels may have one."""
    label, _, column = text.rpartition("=")
    return (label, column) if label and column else (text, default)
