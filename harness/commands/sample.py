"""bat-harness sample"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from harness.commands import options
from harness.commands.console import get_console, stages

if TYPE_CHECKING:
    from harness.sample import Continuation, Refusal
    from workers.models import LanguageModel

# By bat.Acceptance: the colour of a token, and what it means.
_ACCEPTANCE = {
    0: ("", "at or above the threshold, or kept by the plain rule"),
    1: ("bold cyan", "below the threshold, certified: the output matrix needs this token"),
    2: ("bold red", "greedy fallback: every token tried was refused"),
    3: ("bold magenta", "exact fallback: drawn from the exact candidate set"),
}
_REFUSED = "underline"


def sample(
    prompt: Annotated[str, typer.Option("--prompt", help="What to continue.", show_default=False)],
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="NAME=VALUE", help="How to choose tokens, for example eta=0.002 or ancestral."
        ),
    ] = "ba-eta=0.02",
    max_tokens: Annotated[int, typer.Option(help="Where to stop, if the text does not end before.")] = 80,
    count: Annotated[int, typer.Option(help="How many continuations to write.")] = 1,
    explain: Annotated[
        bool, typer.Option("--explain", help="List what was refused on the way, and why.")
    ] = False,
    fallback: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="After 10 refusals: greedy takes the most likely token, as in the paper; exact draws from "
            "the exact set of accepted tokens.",
        ),
    ] = "greedy",
    model: options.Model = options.DEFAULT_MODEL,
    revision: options.Revision = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "float32",
    constraints: options.Constraints = 20,
    seed: options.Seed = 0,
    document_start: options.DocumentStart = True,
    as_json: options.Json = False,
) -> None:
    """Continue a prompt, tokens coloured by how they were accepted."""
    from bat.errors import InvalidInputError
    from bat.rules import get_rule
    from harness.commands.prompts import encode_prompt
    from harness.sample import continue_prompt, explain_refusals
    from workers.corpora import document_id
    from workers.generation import GenerationSettings
    from workers.prefixes import Prefix

    if count < 1:
        raise InvalidInputError(f"--count must be at least 1; got {count}.")
    settings = [
        GenerationSettings(
            get_rule(method),
            constraints,
            max_tokens,
            fallback=fallback,
            seed=seed,
            sample=number,
        )
        for number in range(count)
    ]
    with stages(transient=True) as stage:
        loading = stage(f"Loading {model}", 1)
        from workers import models

        language_model = models.load(model, device, dtype, revision)
        ids = encode_prompt(language_model, prompt, document_start=document_start)
        loading(1)
        opening = Prefix(document_id(prompt), ids, ())
        found = [
            continue_prompt(language_model, opening, one, stage("Writing", max_tokens)) for one in settings
        ]
        refusals = [
            explain_refusals(language_model, continuation, one) if explain else []
            for continuation, one in zip(found, settings, strict=True)
        ]
    if as_json:
        records = [_record(*pair, language_model) for pair in zip(found, refusals, strict=True)]
        document = {"model": language_model.info.name, "method": str(settings[0].rule), "prompt": prompt}
        typer.echo(json.dumps({**document, "continuations": records}, indent=2))
        return
    console = get_console()
    for continuation, refused in zip(found, refusals, strict=True):
        console.print(_text(prompt, continuation), soft_wrap=not console.is_terminal)
        console.print()
        _print_legend(console, continuation)
        if explain:
            _print_refusals(console, refused, language_model)


def _text(prompt: str, continuation: Continuation) -> Text:
    text = Text(prompt, style="dim")
    for piece in continuation.pieces:
        style = _ACCEPTANCE[piece.acceptance][0]
        text.append(piece.text, f"not dim {style} {_REFUSED if piece.refused else ''}".strip())
    return text


def _print_legend(console: Console, continuation: Continuation) -> None:
    pieces = continuation.pieces
    generation = continuation.generation
    programs = int(generation.trace.programs.sum())
    cost = f", {programs} programs in {generation.solver_seconds * 1e3:.0f} ms" if programs else ""
    reason = {"end": "the text ended", "length": "--max-tokens", "context": "the context is full"}
    console.print(
        f"{len(pieces)} tokens ({reason[generation.stop_reason]}){cost}:", style="dim", highlight=False
    )
    for way, (style, meaning) in _ACCEPTANCE.items():
        count = sum(piece.acceptance == way for piece in pieces)
        if count:
            console.print(Text.assemble(f"  {count:4} ", (meaning, style or "default")))
    passed_over = sum(bool(piece.refused) for piece in pieces)
    if passed_over:
        refused = sum(len(piece.refused) for piece in pieces)
        meaning = f"drawn after others were refused ({refused} in all)"
        console.print(Text.assemble(f"  {passed_over:4} ", (meaning, _REFUSED)))
    undecided = int(generation.trace.undecided.sum())
    if undecided:
        console.print(f"  {undecided:4} of the refused could not be decided, only passed over")


def _print_refusals(console: Console, refusals: list[Refusal], language_model: LanguageModel) -> None:
    from harness.commands.prompts import visible

    console.print()
    if not refusals:
        console.print("Nothing was refused.")
        return
    console.print("Refused, in the order of the draws:", style="bold")
    for refusal in refusals:
        name = visible(str(language_model.tokenizer.decode([refusal.token])))
        line = Text.assemble(
            f"  before token {refusal.position + 1}: ",
            (name, "bold yellow"),
            f", probability {refusal.probability:.2g}, threshold {refusal.threshold:.2g}",
        )
        console.print(line)
        if refusal.explanation is not None:
            reasons = Text("\n".join(str(refusal.explanation).splitlines()[1:]), "dim")
            console.print(Padding(reasons, (0, 0, 0, 4)))


def _record(
    continuation: Continuation, refusals: list[Refusal], language_model: LanguageModel
) -> dict[str, Any]:
    def name(token: int) -> str:
        return str(language_model.tokenizer.decode([token]))

    return {
        "text": continuation.generation.text,
        "stop_reason": str(continuation.generation.stop_reason),
        "tokens": [
            {
                "id": piece.token,
                "text": piece.text,
                "probability": piece.probability,
                "threshold": None if math.isnan(piece.threshold) else piece.threshold,
                "accepted": piece.acceptance.name.lower(),
                "refused": [{"id": token, "text": name(token)} for token in piece.refused],
            }
            for piece in continuation.pieces
        ],
        "refusals": [
            {
                "before_token": refusal.position + 1,
                "id": refusal.token,
                "text": name(refusal.token),
                "probability": refusal.probability,
                "critical_threshold": None
                if refusal.explanation is None
                else [refusal.explanation.lower, refusal.explanation.upper],
            }
            for refusal in refusals
        ],
    }
