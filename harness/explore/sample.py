"""Continue a prompt token by token: how each token was accepted, and what was rejected before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

import bat
from workers.encoding import decode_continuation
from workers.generation import Generation, GenerationSettings, generate
from workers.models import LanguageModel
from workers.positions import TokenizedDocument
from workers.prefixes import Prefix
from workers.reading import read


@dataclass(frozen=True)
class Piece:
    """A token of a continuation, and the text that it adds."""

    token: int
    text: str
    probability: float
    threshold: float  # NaN for a rule without one
    acceptance: bat.Acceptance
    rejected: tuple[int, ...]  # tokens that were drawn before it


@dataclass(frozen=True)
class Continuation:
    """A prompt and the text after it."""

    prompt: Prefix
    generation: Generation
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Rejection:
    """A token that was drawn and rejected. Plain rules have no explanation beyond the threshold."""

    position: int  # index of the piece before which it was drawn
    token: int
    probability: float
    threshold: float
    explanation: bat.Explanation | None


def continue_prompt(
    language_model: LanguageModel,
    prompt: Prefix,
    settings: GenerationSettings,
    progress: Callable[[int], None] | None = None,
) -> Continuation:
    """Continue a prompt; the same prompt, settings and seed give the same text."""
    [generation] = generate(language_model, [prompt], settings, progress=progress)
    trace = generation.trace
    ids = trace.token_ids.tolist()
    texts = _added_texts(language_model, prompt.token_ids, ids)
    pieces = tuple(
        Piece(
            token=ids[position],
            text=texts[position],
            probability=float(trace.probabilities[position]),
            threshold=float(trace.thresholds[position]),
            acceptance=bat.Acceptance(int(trace.acceptance[position])),
            rejected=tuple(trace.rejected_before(position)),
        )
        for position in range(len(trace))
    )
    return Continuation(prompt, generation, pieces)


def explain_rejections(
    language_model: LanguageModel, continuation: Continuation, settings: GenerationSettings
) -> list[Rejection]:
    """Explain why each rejected token was rejected, in the order of the draws.

    The distributions are recomputed in one pass over the whole text.
    """
    steps = [step for step, piece in enumerate(continuation.pieces) if piece.rejected]
    if not steps:
        return []
    start = len(continuation.prompt.token_ids)
    ids = np.array([*continuation.prompt.token_ids, *(piece.token for piece in continuation.pieces)])
    document = TokenizedDocument(continuation.prompt.id, ids)
    positions = {document.id: np.array(steps) + start}
    [batch] = read(language_model, [document], positions)
    heat, logits = settings.temperature, batch.logits
    if isinstance(heat, bat.Temperature) and heat.is_first:
        logits = logits / heat.value  # what the rule saw: thresholds are of that distribution
    probs = bat.softmax(logits)  # [steps, v]
    basis = language_model.basis(settings.constraints) if settings.rule.basis_aware else None

    def decode(token: int) -> str:
        return str(language_model.tokenizer.decode([token]))

    rejections = []
    for row, step in enumerate(steps):
        piece = continuation.pieces[step]
        for token in piece.rejected:
            explanation = None
            if basis is not None:
                explanation = bat.explain(basis, probs[row], token, piece.threshold, decode=decode, top=4)
            rejections.append(Rejection(step, token, float(probs[row, token]), piece.threshold, explanation))
    return rejections


def _added_texts(language_model: LanguageModel, prompt: Sequence[int], ids: Sequence[int]) -> list[str]:
    """The text that each token adds. A character made of several tokens belongs to the last of them."""
    texts: list[str] = []
    so_far = ""
    for end in range(1, len(ids) + 1):
        text = decode_continuation(language_model.tokenizer, prompt, ids[:end])
        if text.endswith("\ufffd") and end < len(ids):  # an incomplete character
            texts.append("")
            continue
        texts.append(text[len(so_far) :] if text.startswith(so_far) else text)
        so_far = text
    return texts
