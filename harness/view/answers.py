"""What the model answers to the page of one distribution, as records for its script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bat.errors import InvalidInputError
from harness.view.model import LoadedModel

if TYPE_CHECKING:
    from bat import Explanation
    from bat.arrays import FloatArray
    from bat.rules import Rule
    from harness.explore.distribution import Interval, MethodCurve
    from workers.models import LanguageModel

TOKENS = 200
# For each number of constraints. A program at full rank takes seconds; this is how long a visitor waits.
SECONDS = 10.0
# Tokens of a prompt: more take gigabytes for logits that nobody looks at.
MOST_TOKENS = 2048
_CHANGES = 12  # tokens of an explanation


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt, and the tokens that were taken after it."""

    prompt: str
    taken: tuple[int, ...]

    def token_ids(self, model: LanguageModel) -> tuple[int, ...]:
        from harness.explore.prompts import encode_prompt

        beyond = [token for token in self.taken if token >= model.info.vocabulary_size]
        if beyond:
            raise InvalidInputError(
                f"a token of {model.info.name} must be below {model.info.vocabulary_size}; got {beyond[0]}."
            )
        ids = (*encode_prompt(model, self.prompt), *self.taken)
        most = min(MOST_TOKENS, model.info.context_length)
        if len(ids) > most:
            raise InvalidInputError(
                f"the text must have at most {most:,} tokens here; this one has {len(ids):,}. Shorten the "
                "prompt, or step back."
            )
        return ids


def describe(model: LoadedModel, context: Context, constraints: Sequence[int]) -> dict[str, Any]:
    """The likeliest next tokens, and the parameters at which each method rejects them."""
    from harness.explore.distribution import describe_distribution

    ids = context.token_ids(model.language_model)
    found = describe_distribution(
        model.distribution(ids), model.bases(constraints), tokens=TOKENS, time_limit_seconds=SECONDS
    )
    return {
        "model": model.language_model.info.name,
        "entropy": found.entropy,
        "contextTokens": len(ids),
        "taken": _texts_of_taken(model.language_model, ids, len(context.taken)),
        "ids": found.tokens.tolist(),
        "texts": [_text(model.language_model, ids, token) for token in found.tokens.tolist()],
        "probabilities": found.probabilities.tolist(),
        "constraints": list(constraints),
        "criticalThresholds": {
            str(number): _interval(interval) for number, interval in found.critical_thresholds.items()
        },
        "methods": [_method(curve) for curve in _in_pairs(found.methods)],
        "problems": dict(found.problems),
    }


def explain(model: LoadedModel, context: Context, token: int, rule: Rule, constraints: int) -> dict[str, Any]:
    """Why a method accepts or rejects a token."""
    import bat
    from bat.rules import Summary, ThresholdRule

    language_model = model.language_model
    ids = context.token_ids(language_model)
    Context("", (token,)).token_ids(language_model)  # raises for a token that the model does not have
    probs = model.distribution(ids)
    rows = Summary(probs[None])
    threshold = float(rule.thresholds(rows)[0]) if isinstance(rule, ThresholdRule) else None
    decode = partial(_text, language_model, ids)
    if threshold is None or not rule.basis_aware:
        accepted = bool(rule.keep(rows)[0, token])
        words = _plain_words(decode(token), float(probs[token]), rule, threshold, accepted=accepted)
        verdict = "accept" if accepted else "reject"
        return {"verdict": verdict, "threshold": threshold, "words": [words], "changes": []}
    found = bat.explain(
        model.basis(constraints),
        probs,
        token,
        threshold,
        decode=decode,
        top=_CHANGES,
    )
    return {
        "verdict": str(found.verdict),
        "threshold": threshold,
        "critical": [found.lower, found.upper],
        "words": _words(found),
        "changes": [
            {"text": decode(other), "probability": probability, "replacement": replacement}
            for other, probability, replacement in _changes(found)
        ],
    }


def sample(model: LoadedModel, context: Context, draw: int, rule: Rule, constraints: int) -> dict[str, Any]:
    """A next token under a method; the same draw of the same context gives the same token."""
    import bat

    ids = context.token_ids(model.language_model)
    with np.errstate(divide="ignore"):
        logits = np.log(model.distribution(ids))[None]
    key = bat.Key(seed=draw, run="view", prefix=" ".join(map(str, ids)), sample=0)
    basis = model.basis(constraints if rule.basis_aware else 0)
    drawn = bat.sample(basis, logits, rule, bat.uniforms([key], step=len(ids), count=11))
    return {
        "token": int(drawn.tokens[0]),
        "text": _text(model.language_model, ids, int(drawn.tokens[0])),
        "acceptance": bat.Acceptance(int(drawn.acceptance[0])).name.lower(),
        "rejected": [_text(model.language_model, ids, token) for token in drawn.rejected_tokens[0]],
    }


def _method(curve: MethodCurve) -> dict[str, Any]:
    form = curve.form
    return {
        "name": form.name,
        "plainName": form.plain_name,
        "basisAware": form.basis_aware,
        "comparison": curve.comparison,
        "scale": str(form.scale),
        "requirement": form.requirement,
        "limits": _finite(np.array(form.limits)),
        "start": _start(curve),
        "parameters": _finite(curve.parameters),
        "thresholds": None if curve.thresholds is None else curve.thresholds.tolist(),
        "critical": {
            "" if number is None else str(number): _interval(interval)
            for number, interval in curve.critical.items()
        },
    }


def _in_pairs(curves: Sequence[MethodCurve]) -> list[MethodCurve]:
    """Each rule beside its basis-aware form."""
    names = [curve.form.plain_name for curve in curves]
    return sorted(curves, key=lambda curve: (names.index(curve.form.plain_name), curve.form.basis_aware))


def _start(curve: MethodCurve) -> float:
    """A parameter that people use."""
    rule = curve.form.rule
    aware = rule.basis_aware_example if curve.form.basis_aware else None
    return rule.example if aware is None else aware


def _interval(interval: Interval) -> dict[str, list[float]]:
    """Both bounds, or the lower one alone where they are equal."""
    lower, upper = _finite(interval.lower), _finite(interval.upper)
    return {"lower": lower} if lower == upper else {"lower": lower, "upper": upper}


def _finite(numbers: FloatArray) -> list[float]:
    """JSON has no infinity; the largest number compares in the same way."""
    values: list[float] = np.nan_to_num(numbers).tolist()
    return values


def _text(model: LanguageModel, before: Sequence[int], token: int) -> str:
    from harness.explore.prompts import token_text, visible

    return visible(token_text(model.tokenizer, before, token))


def _texts_of_taken(model: LanguageModel, ids: Sequence[int], count: int) -> list[str]:
    start = len(ids) - count
    return [_text(model, ids[:index], ids[index]) for index in range(start, len(ids))]


def _words(found: Explanation) -> list[str]:
    """What the token is, and why it is accepted or rejected; the tokens listed after that are drawn."""
    first, *others = (line for line in str(found).splitlines() if not line.startswith("  "))
    return [first, " ".join(others)]


def _changes(found: Explanation) -> list[tuple[int, float, float]]:
    """Tokens with two numbers to draw: the witness beside the model, or the weights of the proof."""
    if not found.needed_program:
        return []  # and no proof
    changes = [(change.token, change.probability, change.replacement) for change in found.changes]
    # The witness is a distribution without the token.
    return [(found.token, found.probability, 0.0), *changes] if found.witness is not None else changes


def _plain_words(
    name: str, probability: float, rule: Rule, threshold: float | None, *, accepted: bool
) -> str:
    verdict = "accepted" if accepted else "rejected"
    if threshold is None:
        return f"{name!r} has probability {probability:.6g}. {rule} has no threshold; the token is {verdict}."
    side = "below" if probability < threshold else "not below"
    return (
        f"{name!r} has probability {probability:.6g}, {side} the threshold {threshold:.6g} of {rule}: it is "
        f"{verdict}. Only the probability counts for a plain rule."
    )
