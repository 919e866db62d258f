"""The seven prompts of the paper's appendix.

The paper writes ``<|endoftext|>`` before each. ``harness.explore.prompts.encode_prompt`` uses the token
that the model's own tokenizer has for it.
"""

from __future__ import annotations

from dataclasses import dataclass

_TITLE = 40  # letters


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text for the model to continue, and the paper's table of its next tokens."""

    text: str
    paper: str

    @property
    def title(self) -> str:
        """The prompt cut to fit a heading; its end matters most."""
        return self.text if len(self.text) <= _TITLE else f"...{self.text[-_TITLE:]}"


PROMPTS = (
    Prompt("Taylor", "Table 5 of the paper"),
    Prompt("My name", "Table 6 of the paper"),
    Prompt("My name is", "Table 7 of the paper"),
    Prompt(
        "The capital of of the USA is Washington D.C. The capital of India is New Delhi. "  # sic, "of of"
        "The capital of the UK is London. The capital of Ghana is",
        "Table 8 of the paper",
    ),
    Prompt("Donald", "Table 9 of the paper"),
    Prompt("The", "Table 10 of the paper"),
    Prompt(" ".join(["The feeling!"] * 11), "Table 11 of the paper"),
)
