"""A text split into its tokens, each with how it was accepted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bat.acceptance import Acceptance
from bat.errors import InvalidInputError
from harness.report.formats.samples import Piece
from workers.traces import Trace

# (name of a model, ids of the context, ids of tokens) -> the text that each token adds
Decode = Callable[[str, Sequence[int], Sequence[int]], list[str]]


@dataclass
class Pieces:
    """Splits texts of one model. Texts of rejected tokens are kept, because few tokens are rejected often."""

    model_name: str
    decode: Decode
    _names: dict[int, str] = field(default_factory=dict)

    def of(self, context: Sequence[int], trace: Trace) -> tuple[Piece, ...]:
        """The tokens of a text that continues a context; raises if the tokenizer is not available."""
        texts = self.decode(self.model_name, context, trace.token_ids.tolist())
        if len(texts) != len(trace):
            raise InvalidInputError(
                f"the tokenizer of {self.model_name} must give a text for each token; got {len(texts)} for "
                f"{len(trace)} tokens."
            )
        return tuple(
            Piece(
                text=text,
                acceptance=Acceptance(int(trace.acceptance[step])),
                probability=float(trace.probabilities[step]),
                threshold=float(trace.thresholds[step]),
                rejected=tuple(self._name(context, token) for token in trace.rejected_before(step)),
                undecided=int(trace.undecided[step]),
            )
            for step, text in enumerate(texts)
        )

    def _name(self, context: Sequence[int], token: int) -> str:
        """The text of a rejected token; it is the same after any prefix, except for spaces."""
        if token not in self._names:
            self._names[token] = "".join(self.decode(self.model_name, context, [token]))
        return self._names[token]
