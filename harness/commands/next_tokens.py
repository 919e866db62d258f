"""bat-harness next"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands import options
from harness.commands.console import get_console, say_if_compiling, stages
from harness.commands.next_view import print_note, print_table

if TYPE_CHECKING:
    from harness.explore.next_token import NextTokens
    from workers.models import LanguageModel

# Three of the paper's choices with similar rejection rates (12 to 13% of human text), and the parameters at
# which their basis-aware forms reject as much: `bat-harness preview --tokens 2000`.
DEFAULT_METHODS = (
    "epsilon=0.0009",
    "ba-epsilon=0.0042",
    "eta=0.002",
    "ba-eta=0.048",
    "nucleus=0.89",
    "ba-nucleus=0.76",
)


def next_tokens(
    prompt: Annotated[
        str, typer.Argument(metavar="PROMPT", help="The text before the next token.", show_default=False)
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME=VALUE",
            show_default=False,
            help="A method to show as a column, such as ba-eta=0.048. Repeatable.",
        ),
    ] = None,
    tokens: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="How many tokens to show: half are the likeliest; the rest are the likeliest on which a "
            "basis-aware method and its plain form differ.",
        ),
    ] = 20,
    everything: Annotated[
        bool, typer.Option("--all", help="Show and count every token that any method accepts.")
    ] = False,
    critical: Annotated[
        bool,
        typer.Option(
            "--critical", help="Show each token's critical threshold, from which on it is rejected."
        ),
    ] = False,
    model: options.Model = options.DEFAULT_MODEL,
    revision: options.Revision = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "float32",
    constraints: options.Constraints = 20,
    no_document_start: options.NoDocumentStart = False,
    as_json: options.Json = False,
) -> None:
    """Show the next tokens after a prompt, and which methods accept them.

    Without --method, the columns are the paper's epsilon=0.0009, eta=0.002 and
    nucleus=0.89, each beside its basis-aware form at the parameter that rejects as
    much human text: 0.0042, 0.048 and 0.76. These were measured on smollm2-135m
    with bat-harness preview --tokens 2000; other models need other parameters.

    Examples:

        bat-harness next "The mayor said"
        bat-harness next "The mayor said" --method eta=0.002 --method ba-eta=0.048 --all
    """
    from bat.arguments import require_integers
    from bat.compiled import EntryPoint
    from bat.rules import get_rule

    # Before anything that imports torch, which takes seconds.
    rules = [get_rule(name) for name in method or DEFAULT_METHODS]
    require_integers(constraints=(constraints, 0))
    options.check_dtype(dtype)

    needs_basis = critical or any(rule.basis_aware for rule in rules)
    if needs_basis:
        say_if_compiling(EntryPoint.BATCH, *([EntryPoint.PROGRAM] if everything else []))

    from harness.explore.next_token import next_distribution, tabulate
    from harness.explore.prompts import encode_prompt

    with stages(transient=True) as stage:
        loading = stage(f"Loading {model}", 1)
        from workers import models

        language_model = models.load(model, device, dtype, revision)
        token_ids = encode_prompt(language_model, prompt, document_start=not no_document_start)
        probs = next_distribution(language_model, token_ids)
        basis = language_model.basis(constraints) if needs_basis else None
        loading(1)
        table = tabulate(
            probs,
            rules,
            basis,
            tokens=tokens,
            everything=everything,
            critical=critical,
            progress=stage("Checking all tokens", len(rules)) if everything else None,
        )
    if as_json:
        typer.echo(json.dumps(_record(table, language_model, token_ids), indent=2))
        return
    print_table(get_console(), table, language_model, token_ids)
    if method is None:
        warning = "" if model == options.DEFAULT_MODEL else "; other models need other parameters"
        print_note(
            get_console(),
            "Each basis-aware method rejects as much human text as the plain one to its left, measured on "
            f"{options.DEFAULT_MODEL}{warning}.",
        )


def _record(table: NextTokens, language_model: LanguageModel, token_ids: Sequence[int]) -> dict[str, Any]:
    """The table as plain values; in ``token``, undecodable bytes are lone surrogates."""
    from harness.explore.prompts import token_text

    names = [str(method.rule) for method in table.methods]
    return {
        "model": asdict(language_model.info),
        "token_ids": list(token_ids),
        "entropy": table.entropy,
        "methods": [
            {
                "method": name,
                "threshold": method.threshold,
                "accepted": method.accepted,
                "undecided": method.undecided,
            }
            for name, method in zip(names, table.methods, strict=True)
        ],
        "tokens": [
            {
                "rank": row.rank,
                "id": row.token,
                "token": token_text(language_model.tokenizer, token_ids, row.token),
                "probability": row.probability,
                "verdicts": dict(zip(names, row.verdicts, strict=True)),
                **({} if row.critical is None else {"critical_threshold": row.critical}),
            }
            for row in table.rows
        ],
    }
