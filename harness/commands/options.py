"""Options that several commands share, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_MODEL = "smollm2-135m"
DEFAULT_DATABASE = "sqlite:///results.db"

Sweep = Annotated[
    Path, typer.Argument(metavar="SWEEP", show_default=False, help="The sweep, such as configs/demo.yaml.")
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        show_default=False,
        help="Override a value of the sweep, such as prefixes.count=100. Repeatable.",
    ),
]

Model = Annotated[
    str,
    typer.Option(
        "--model",
        metavar="NAME",
        help="smollm2-135m (the demo model), a hub model, a folder, a .gguf file, package:NAME (the GGUF "
        "file of an installed package), or fake:v=1000,d=16.",
    ),
]
Revision = Annotated[
    str | None,
    typer.Option("--revision", metavar="NAME", help="Branch, tag or commit of a hub model."),
]
Device = Annotated[
    str,
    typer.Option("--device", metavar="NAME", help="cpu, cuda, cuda:1, mps, or auto (a GPU if there is one)."),
]
Dtype = Annotated[
    str, typer.Option("--dtype", metavar="NAME", help="Precision: float32, bfloat16 or float16.")
]


def check_dtype(dtype: str) -> None:
    """Raise unless this is a precision."""
    from bat.errors import InvalidInputError
    from bat.suggestions import did_you_mean
    from workers.names import DTYPE_NAMES

    if dtype not in DTYPE_NAMES:
        guess = did_you_mean(dtype, DTYPE_NAMES)
        raise InvalidInputError(f"dtype must be one of {', '.join(DTYPE_NAMES)}; got {dtype!r}.{guess}")


Seed = Annotated[
    int, typer.Option("--seed", metavar="N", help="Random seed. The same seed gives the same result.")
]
Constraints = Annotated[
    int,
    typer.Option(
        "--constraints",
        metavar="N",
        help="How many singular vectors of the output matrix basis-aware methods use.",
    ),
]
Temperature = Annotated[
    float,
    typer.Option("--temperature", metavar="T", help="Divide logits by T; 1 is the model's own distribution."),
]
TemperatureOrder = Annotated[
    str | None,
    typer.Option(
        "--temperature-order",
        metavar="ORDER",
        show_default=False,
        help="first: before the rule, as in transformers; last: the rule sees the model's own distribution. "
        "Default: first, but last for basis-aware methods, which take no other.",
    ),
]
NoDocumentStart = Annotated[
    bool,
    typer.Option("--no-document-start", help="Do not put the start-of-document token before the prompt."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, with numbers in full precision.")]


Database = Annotated[
    str,
    typer.Option(
        "--db",
        metavar="URL",
        envvar="BAT_HARNESS_DB",
        help="The results database: sqlite:///FILE, FILE alone, or postgresql://USER@HOST/NAME.",
    ),
]
RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        show_default=False,
        help="Name or number of a run, or NAME#NUMBER; default: the latest.",
    ),
]
Study = Annotated[
    str, typer.Argument(metavar="STUDY", show_default=False, help="The study: its name, or its id.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
