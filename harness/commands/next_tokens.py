"""bat-harness next"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.commands import options
from harness.commands.console import get_console, stages
from harness.commands.next_table import print_note, print_table

if TYPE_CHECKING:
    from harness.next_token import NextTokens
    from workers.models import LanguageModel

# The paper's choices that reject alike shares of human text (12 to 13%), and the parameters at which their
# basis-aware forms reject as much: `bat-harness preview --tokens 2000`, demo model and corpus.
DEFAULT_METHODS = (
    "epsilon=0.0009",
    "ba-epsilon=0.0042",
    "eta=0.002",
    "ba-eta=0.048",
    "nucleus=0.89",
    "ba-nucleus=0.76",
)


def next_tokens(
    prompt: Annotated[str, typer.Argument(help="What the next token should follow.", show_default=False)],
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            metavar="NAME=VALUE",
            show_default=False,
            help="A column, for example ba-eta=0.048; may be given several times.",
        ),
    ] = None,
    tokens: Annotated[
        int,
        typer.Option(
            help="How many tokens to show: half of them the likeliest, the others the likeliest on which "
            "basis-aware methods and their plain forms differ."
        ),
    ] = 20,
    everything: Annotated[
        bool, typer.Option("--all", help="Show every token that some method accepts, and count them.")
    ] = False,
    critical: Annotated[
        bool, typer.Option("--critical", help="Show from which threshold on a token is refused.")
    ] = False,
    model: options.Model = options.DEFAULT_MODEL,
    revision: options.Revision = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "float32",
    constraints: options.Constraints = 20,
    document_start: options.DocumentStart = True,
    as_json: options.Json = False,
) -> None:
    """Show the likeliest next tokens after a prompt, and which methods would accept them.

    Without --method, the columns are epsilon=0.0009, eta=0.002 and nucleus=0.89,
    which the paper chose, each with its basis-aware form at the parameter that
    rejects as much human text: 0.0042, 0.048 and 0.76, measured on smollm2-135m
    by bat-harness preview --tokens 2000. Other models need other parameters.
    """
    from bat.rules import get_rule
    from harness.commands.prompts import encode_prompt
    from harness.next_token import next_distribution, tabulate

    rules = [get_rule(name) for name in method or DEFAULT_METHODS]
    with stages(transient=True) as stage:
        loading = stage(f"Loading {model}", 1)
        from workers import models

        language_model = models.load(model, device, dtype, revision)
        token_ids = encode_prompt(language_model, prompt, document_start=document_start)
        probs = next_distribution(language_model, token_ids)
        needed = critical or any(rule.basis_aware for rule in rules)
        basis = language_model.basis(constraints) if needed else None
        loading(1)
        found = tabulate(
            probs,
            rules,
            basis,
            tokens=tokens,
            everything=everything,
            critical=critical,
            progress=stage("Asking about all tokens", len(rules)) if everything else None,
        )
    if as_json:
        typer.echo(json.dumps(_record(found, language_model, token_ids), indent=2))
        return
    print_table(get_console(), found, language_model, token_ids)
    if method is None:
        here = "" if model == options.DEFAULT_MODEL else "; other models need other parameters"
        print_note(
            get_console(),
            "Each basis-aware method rejects as much human text as the plain one before it, measured on "
            f"{options.DEFAULT_MODEL}{here}.",
        )


def _record(found: NextTokens, language_model: LanguageModel, token_ids: Sequence[int]) -> dict[str, Any]:
    """Everything in plain values; ``token`` spells undecodable bytes as lone surrogates."""
    from harness.commands.prompts import token_text

    names = [str(method.rule) for method in found.methods]
    return {
        "model": asdict(language_model.info),
        "token_ids": list(token_ids),
        "entropy": found.entropy,
        "methods": [
            {
                "method": name,
                "threshold": method.threshold,
                "accepted": method.accepted,
                "undecided": method.undecided,
            }
            for name, method in zip(names, found.methods, strict=True)
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
            for row in found.rows
        ],
    }
