"""Options that several commands take, each described once. Defaults belong to the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_MODEL = "smollm2-135m"
DEFAULT_DATABASE = "sqlite:///results.db"

Sweep = Annotated[
    Path, typer.Argument(metavar="SWEEP", show_default=False, help="A sweep, such as configs/demo.yaml.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        show_default=False,
        help="Another value than the sweep has, such as prefixes.count=100; may be given several times.",
    ),
]

Model = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help="smollm2-135m (embedded), a model of the hub, a folder, a .gguf file, or fake:v=1000,d=16.",
    ),
]
Revision = Annotated[
    str | None,
    typer.Option("--revision", metavar="NAME", help="Branch, tag or commit of a hub model."),
]
Device = Annotated[
    str,
    typer.Option("--device", metavar="NAME", help="cpu, cuda, cuda:1, mps, or auto: a GPU if there is one."),
]
Dtype = Annotated[
    str, typer.Option("--dtype", metavar="NAME", help="Numbers to compute with: float32, bfloat16, float16.")
]
Seed = Annotated[
    int, typer.Option("--seed", help="Where random numbers start: the same seed draws the same again.")
]
Constraints = Annotated[
    int,
    typer.Option(
        "--constraints", help="How many directions of the output matrix basis-aware methods look at."
    ),
]
DocumentStart = Annotated[
    bool,
    typer.Option(
        " /--no-document-start",
        show_default=False,
        help="Begin with the prompt itself, without the token that stands between documents.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, with every number in full.")]


def _address(db: str) -> str:
    return db if "://" in db else f"sqlite:///{db}"


Database = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="URL",
        envvar="BAT_HARNESS_DB",
        callback=_address,
        help="The results database: sqlite:///FILE, or FILE alone, or postgresql://USER@HOST/NAME.",
    ),
]
RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        show_default=False,
        help="Name or number of a run; if not said, the one started last.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Write over what is there already.")]
