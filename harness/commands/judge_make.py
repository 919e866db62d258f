"""bat-harness judge make"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands import options
from harness.commands.console import program_name
from harness.commands.serving import say

if TYPE_CHECKING:
    from harness.api.judging import TextFile
    from harness.judge.making import NewStudy

Pairs = Annotated[
    list[str],
    typer.Option(
        "--pair",
        metavar="A:B",
        show_default=False,
        help="Two settings to compare, such as ba-eta:eta; human is what people wrote. Repeatable.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="LABEL=COLUMN",
        show_default=False,
        help="With --file: the column that a label of a pair stands for. Repeatable.",
    ),
]


def make(
    pair: Pairs,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", show_default=False, help="Name of the study.")
    ],
    run: options.RunName = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help="Texts made elsewhere instead of a run: .jsonl, .jsonl.gz or .parquet, a column per method.",
        ),
    ] = None,
    method: Columns = None,
    prefix_column: Annotated[
        str, typer.Option("--prefix-column", metavar="COLUMN", help="With --file: the prefixes.")
    ] = "prefix",
    human_column: Annotated[
        str | None,
        typer.Option(
            "--human-column", metavar="COLUMN", help="With --file: human text, for attention checks."
        ),
    ] = None,
    items: Annotated[
        int | None,
        typer.Option("--items", metavar="N", min=1, help="Prefixes to judge for each pair; default: all."),
    ] = None,
    votes: Annotated[
        int, typer.Option("--votes", metavar="N", min=1, help="Judges for each prefix of a pair.")
    ] = 3,
    per_judge: Annotated[
        int | None,
        typer.Option(
            "--per-judge", metavar="N", min=1, help="Comparisons for each judge; default: all there are."
        ),
    ] = None,
    last_tokens: Annotated[
        int | None,
        typer.Option(
            "--last-tokens",
            metavar="N",
            min=1,
            help="Show only the last tokens of each continuation, as Hewitt et al. did with 70.",
        ),
    ] = None,
    checks: Annotated[
        float, typer.Option("--checks", metavar="SHARE", help="Share of comparisons that check attention.")
    ] = 0.1,
    repeats: Annotated[
        float, typer.Option("--repeats", metavar="SHARE", help="Share of comparisons that are asked again.")
    ] = 0.1,
    instructions: Annotated[
        Path | None,
        typer.Option("--instructions", metavar="FILE", help="What judges read first, as plain text."),
    ] = None,
    question: Annotated[
        str | None, typer.Option("--question", metavar="TEXT", help="The question above the answers.")
    ] = None,
    ties: Annotated[
        float, typer.Option("--ties", metavar="SHARE", help="The share of ties to expect, for the power.")
    ] = 0.1,
    stage: Annotated[
        str | None, typer.Option("--stage", metavar="NAME", help="The stage, if several have the settings.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="LABEL", help="The model, if several have the settings.")
    ] = None,
    generation_seed: Annotated[
        int | None,
        typer.Option("--generation-seed", metavar="N", help="The seed of the texts; default: the first."),
    ] = None,
    seed: options.Seed = 0,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what the study could show, and store nothing.")
    ] = False,
    db: options.Database = options.DEFAULT_DATABASE,
    as_json: options.Json = False,
) -> None:
    """Make a study: pairs of texts that people will compare.

    Prints the smallest preference that the study would detect with 80% probability,
    by exact computation, before it stores anything. Judges never see which method
    wrote a text, and the order of two texts is random for each judge.

    Examples:

        bat-harness judge make demo --name first --pair ba-eta:eta --votes 3 --dry-run
        bat-harness judge make demo --name second --pair ba-eta:eta --pair human:eta --items 50
    """
    from harness.api.judging import check_study_name, plan_study, store_study
    from harness.judge.design import QUESTION, StudyDesign
    from harness.store.addresses import parse_address, shown

    check_study_name(name)
    design = StudyDesign(
        pairs=(),
        votes=votes,
        last_tokens=last_tokens,
        check_rate=checks,
        repeat_rate=repeats,
        per_judge=per_judge,
        seed=seed,
        question=question or QUESTION,
    ).with_instructions(instructions)
    texts = _text_file(file, run, method, prefix_column, human_column)
    planned = plan_study(
        db,
        run,
        pair,
        design,
        items=items,
        stage=stage,
        model=model,
        seed=generation_seed,
        ties=ties,
        file=texts,
    )
    if not as_json:
        _print_plan(planned)
    is_new = False
    if not dry_run:
        _, is_new = store_study(db, planned, name)
    if as_json:
        typer.echo(json.dumps(_plan_record(planned, name, stored=not dry_run), indent=2))
    elif not dry_run:
        address = shown(parse_address(db))
        begun = "Stored" if is_new else "This study is stored already"
        say([f"{begun}: {name}, {planned.id[:12]}. Serve it with:"])
        say([f"  {program_name()} judge serve {name} --db {address}"])


def _text_file(
    file: str | None, run: str | None, methods: list[str] | None, prefix: str, human: str | None
) -> TextFile | None:
    from bat.errors import InvalidInputError
    from harness.api.judging import TextFile

    if file is None:
        if methods or human:
            raise InvalidInputError("--method and --human-column name columns of a file. Add --file.")
        return None
    if run is not None:
        raise InvalidInputError(f"a study is of a run or of a file; got {run!r} and {file}. Leave out one.")
    columns = dict(option.partition("=")[::2] for option in methods or ())
    for label, column in columns.items():
        if not label or not column:
            raise InvalidInputError(f"--method must be LABEL=COLUMN; got {label or column!r}.")
    return TextFile(file, columns, prefix, human)


def _print_plan(planned: NewStudy) -> None:
    from harness.api.judging import describe_plan

    say(describe_plan(planned))


def _plan_record(planned: NewStudy, name: str, *, stored: bool) -> dict[str, Any]:
    from harness.store.study_records import ItemKind

    return {
        "id": planned.id,
        "name": name,
        "stored": stored,
        "items": planned.count(ItemKind.PAIR),
        "checks": planned.count(ItemKind.CHECK),
        "pairs": [
            {**asdict(pair), "detects": power.preference}
            for pair, power in zip(planned.design.pairs, planned.power, strict=True)
        ],
        "notes": list(planned.notes),
    }
