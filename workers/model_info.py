"""What a model is, in plain values, which the driver reads without torch."""

from __future__ import annotations

import sys
from dataclasses import dataclass

# The context length of a model whose configuration states none, such as a recurrent one.
UNLIMITED_CONTEXT = sys.maxsize


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a model is, in plain values: goes into job identities and messages."""

    name: str
    revision: str | None  # the hub's commit, or the converted folder; None when there is nothing to tell
    device: str
    dtype: str
    vocabulary_size: int  # rows of the output matrix, of which some may be padding
    hidden_size: int
    context_length: int  # tokens, or UNLIMITED_CONTEXT
    tokenizer_fingerprint: str
    weight_fingerprint: str
    end_tokens: tuple[int, ...]  # ids that end a text, ascending

    def __str__(self) -> str:
        """One line for people."""
        limited = self.context_length != UNLIMITED_CONTEXT
        context = f"{self.context_length:,}" if limited else "unlimited"
        return (
            f"{self.name}{f' at {self.revision}' if self.revision else ''}: "
            f"vocabulary {self.vocabulary_size:,}, hidden size {self.hidden_size:,}, "
            f"context {context}, {self.dtype} on {self.device}, "
            f"tokenizer {self.tokenizer_fingerprint}, weights {self.weight_fingerprint}"
        )
