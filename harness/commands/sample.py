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
from harness.commands.console import Lines, get_console, say_if_compiling, stages

if TYPE_CHECKING:
    from harness.explore.sample import Continuation, Rejection
    from workers.models import LanguageModel

# By bat.Acceptance: the colour of a token, and its meaning.
_ACCEPTANCE = {
    0: ("", "at or above the threshold, or kept by the plain rule"),
    1: ("bold cyan", "below the threshold, but certified by the constraints"),
    2: ("bold red", "greedy fallback: every token tried was rejected"),
    3: ("bold magenta", "exact fallback: drawn from the exact candidate set"),
}
_AFTER_REJECTIONS = "underline"

_MAX_COUNT = 1000  # hours, on a model of some size


def sample(
    prompt: Annotated[
        str, typer.Option("--prompt", metavar="TEXT", help="The text to continue.", show_default=False)
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method", metavar="NAME=VALUE", help="The sampling rule, such as eta=0.002 or ancestral."
        ),
    ] = "ba-eta=0.02",
    max_tokens: Annotated[int, typer.Option(metavar="N", help="Maximum length of the continuation.")] = 80,
    count: Annotated[
        int, typer.Option(metavar="N", help=f"Number of continuations, at most {_MAX_COUNT}.")
    ] = 1,
    explain: Annotated[
        bool, typer.Option("--explain", help="List the rejected tokens, and why each was rejected.")
    ] = False,
    fallback: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="After 10 rejections: greedy takes the most likely token, as in the paper; exact draws from "
            "the exact set of accepted tokens.",
        ),
    ] = "greedy",
    model: options.Model = options.DEFAULT_MODEL,
    revision: options.Revision = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "float32",
    constraints: options.Constraints = 20,
    seed: options.Seed = 0,
    no_document_start: options.NoDocumentStart = False,
    as_json: options.Json = False,
) -> None:
    """Continue a prompt, with tokens coloured by how they were accepted.

    A legend below the text explains the colours. Underlined tokens were drawn after
    others were rejected. The same prompt, settings and seed give the same text.

    Examples:

        bat-harness sample --prompt "The mayor said"
        bat-harness sample --prompt "The mayor said" --method ba-eta=0.02 --explain
    """
    from bat.acceptance import check_fallback
    from bat.arguments import require_integers
    from bat.compiled import EntryPoint
    from bat.errors import InvalidInputError
    from bat.rules import get_rule

    # Before anything that imports torch, which takes seconds.
    rule = get_rule(method)
    if not 1 <= count <= _MAX_COUNT:
        raise InvalidInputError(
            f"--count must lie between 1 and {_MAX_COUNT}; got {count}. For more texts, run a sweep."
        )
    require_integers(max_tokens=(max_tokens, 1), constraints=(constraints, 0), seed=(seed, 0))
    check_fallback(fallback)
    options.check_dtype(dtype)

    if rule.basis_aware:
        say_if_compiling(EntryPoint.STEP, *([EntryPoint.PROGRAM] if explain else []))

    from harness.explore.prompts import encode_prompt
    from harness.explore.sample import continue_prompt, explain_rejections
    from workers.corpora import document_id
    from workers.generation import GenerationSettings
    from workers.prefixes import Prefix

    settings = [
        GenerationSettings(rule, constraints, max_tokens, fallback=fallback, seed=seed, sample=number)
        for number in range(count)
    ]
    with stages(transient=True) as stage:
        loading = stage(f"Loading {model}", 1)
        from workers import models

        language_model = models.load(model, device, dtype, revision)
        ids = encode_prompt(language_model, prompt, document_start=not no_document_start)
        loading(1)
    prefix = Prefix(document_id(prompt), ids, ())
    console, records = get_console(), list[dict[str, Any]]()
    written = Lines(Console(stderr=True)) if as_json and count > 1 else None
    for number, setting in enumerate(settings, start=1):
        title = f"Writing {number} of {count}" if count > 1 else "Writing"
        with stages(transient=True) as stage:
            continuation = continue_prompt(language_model, prefix, setting, stage(title, max_tokens))
            rejected = explain_rejections(language_model, continuation, setting) if explain else []
        if as_json:
            records.append(_record(continuation, rejected, language_model))
        else:  # as soon as it is there
            console.print(_text(prompt, continuation), soft_wrap=not console.is_terminal)
            console.print()
            _print_legend(console, continuation)
            if explain:
                _print_rejections(console, rejected, language_model)
        if written is not None:
            written.show({"texts": (number, count)})
    if as_json:
        document = {"model": language_model.info.name, "method": str(rule), "prompt": prompt}
        typer.echo(json.dumps({**document, "continuations": records}, indent=2))


def _text(prompt: str, continuation: Continuation) -> Text:
    text = Text(prompt, style="dim")
    for piece in continuation.pieces:
        style = _ACCEPTANCE[piece.acceptance][0]
        text.append(piece.text, f"not dim {style} {_AFTER_REJECTIONS if piece.rejected else ''}".strip())
    return text


def _print_legend(console: Console, continuation: Continuation) -> None:
    from harness.words import counted

    pieces = continuation.pieces
    generation = continuation.generation
    programs = int(generation.trace.programs.sum())
    cost = f", {counted(programs, 'program')} in {generation.solver_seconds * 1e3:.0f} ms" if programs else ""
    reason = {"end": "the text ended", "length": "--max-tokens", "context": "the context is full"}
    console.print(
        f"{counted(len(pieces), 'token')} ({reason[generation.stop_reason]}){cost}:",
        style="dim",
        highlight=False,
    )
    for way, (style, meaning) in _ACCEPTANCE.items():
        count = sum(piece.acceptance == way for piece in pieces)
        if count:
            console.print(Text.assemble(f"  {count:4} ", (meaning, style or "default")))
    after_rejections = sum(bool(piece.rejected) for piece in pieces)
    if after_rejections:
        rejected = sum(len(piece.rejected) for piece in pieces)
        meaning = f"drawn after others were rejected ({rejected} in all)"
        console.print(Text.assemble(f"  {after_rejections:4} ", (meaning, _AFTER_REJECTIONS)))
    undecided = int(generation.trace.undecided.sum())
    if undecided:
        console.print(f"  {undecided:4} of the rejected tokens were undecided: no proof either way")


def _print_rejections(console: Console, rejections: list[Rejection], language_model: LanguageModel) -> None:
    from harness.explore.prompts import visible

    console.print()
    if not rejections:
        console.print("No token was rejected.")
        return
    console.print("Rejected tokens, in the order they were drawn:", style="bold")
    for rejection in rejections:
        name = visible(str(language_model.tokenizer.decode([rejection.token])))
        line = Text.assemble(
            f"  before token {rejection.position + 1}: ",
            (name, "bold yellow"),
            f", probability {rejection.probability:.2g}, threshold {rejection.threshold:.2g}",
        )
        console.print(line)
        if rejection.explanation is not None:
            reasons = Text("\n".join(str(rejection.explanation).splitlines()[1:]), "dim")
            console.print(Padding(reasons, (0, 0, 0, 4)))


def _record(
    continuation: Continuation, rejections: list[Rejection], language_model: LanguageModel
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
                "rejected": [{"id": token, "text": name(token)} for token in piece.rejected],
            }
            for piece in continuation.pieces
        ],
        "rejections": [
            {
                "before_token": rejection.position + 1,
                "id": rejection.token,
                "text": name(rejection.token),
                "probability": rejection.probability,
                "critical_threshold": None
                if rejection.explanation is None
                else [rejection.explanation.lower, rejection.explanation.upper],
            }
            for rejection in rejections
        ],
    }
