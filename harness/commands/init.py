"""bat-harness init"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from harness.commands import options
from harness.commands.console import program_name


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Folder to write to; created if it does not exist.")
    ] = Path("configs"),
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write the sample sweeps into a folder, to run or to start from.

    Writes a quick test (smoke.yaml), the demo, the paper's experiments, scripts for
    clusters, and a JSON schema with which editors check sweeps.

    Examples:

        bat-harness init
        bat-harness init my-sweeps --force
    """
    from harness.sample_sweeps import write_samples
    from harness.words import counted

    written = write_samples(folder, force=force)
    if as_json:
        typer.echo(json.dumps({"folder": str(folder), "files": [str(path) for path in written]}, indent=2))
        return
    for path in written:
        typer.echo(f"  {path}")
    typer.echo(f"{counted(len(written), 'file')} written. Try: {program_name()} run {folder / 'smoke.yaml'}")
