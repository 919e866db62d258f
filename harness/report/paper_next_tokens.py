"""The paper's tables of next tokens: its Tables 5 to 11, one for each of seven prompts, from GPT-2.

Each has a subset of the vocabulary. The paper does not give the parameters of the four methods; the caption
of its Figure 1, which shows the first prompt, names GPT-2 XL.
"""

from __future__ import annotations

from dataclasses import dataclass

METHODS = ("ba-eta", "eta", "epsilon", "nucleus")


@dataclass(frozen=True, slots=True)
class PaperToken:
    """A row of such a table: a token, and which methods accept it."""

    rank: int  # 0 is the most likely
    probability: float
    token: str
    accepted: tuple[bool, bool, bool, bool]  # in the order of METHODS

    def accepted_by(self, method: str) -> bool:
        """Whether a method accepts the token."""
        return self.accepted[METHODS.index(method)]


@dataclass(frozen=True, slots=True)
class PaperPrompt:
    """A prompt, which follows the beginning-of-text token, and its table."""

    table: int
    prompt: str
    tokens: tuple[PaperToken, ...]


def _row(rank: int, probability: float, token: str, accepted: str) -> PaperToken:
    """`accepted` has a plus or a minus for each method."""
    ba_eta, eta, epsilon, nucleus = (mark == "+" for mark in accepted)
    return PaperToken(rank, probability, token, (ba_eta, eta, epsilon, nucleus))


NEXT_TOKENS: tuple[PaperPrompt, ...] = (
    PaperPrompt(
        table=5,
        prompt="Taylor",
        tokens=(
            _row(0, 4.3e-01, " Swift", "++++"),
            _row(3, 2.1e-02, " is", "++++"),
            _row(4, 1.9e-02, " Hall", "++-+"),
            _row(29, 2.5e-03, " Smith", "++-+"),
            _row(30, 2.2e-03, " Sw", "-+-+"),
            _row(31, 2.2e-03, " K", "++-+"),
            _row(35, 2.0e-03, " Miller", "++-+"),
            _row(36, 2.0e-03, " Wilson", "++--"),
            _row(38, 1.9e-03, " will", "++--"),
            _row(39, 1.9e-03, ' "', "-+--"),
            _row(40, 1.9e-03, " says", "++--"),
            _row(41, 1.7e-03, " Hanson", "+---"),
            _row(42, 1.7e-03, " D", "----"),
            _row(43, 1.7e-03, " Lew", "+---"),
            _row(44, 1.7e-03, " Hicks", "+---"),
            _row(45, 1.6e-03, " St", "----"),
            _row(46, 1.6e-03, " C", "----"),
            _row(47, 1.6e-03, " Wood", "+---"),
            _row(50, 1.5e-03, " Hein", "+---"),
            _row(51, 1.5e-03, " J", "----"),
            _row(60, 1.2e-03, " Lee", "----"),
            _row(61, 1.1e-03, " Kits", "+---"),
            _row(62, 1.1e-03, " Martin", "----"),
            _row(81, 8.4e-04, " also", "----"),
        ),
    ),
    PaperPrompt(
        table=6,
        prompt="My name",
        tokens=(
            _row(0, 9.6e-01, " is", "++++"),
            _row(1, 3.2e-02, "'s", "+++-"),
            _row(2, 1.2e-03, " was", "+---"),
            _row(3, 1.0e-03, ",", "----"),
            _row(4, 7.7e-04, " isn", "+---"),
            _row(5, 4.7e-04, " Is", "+---"),
            _row(6, 4.1e-04, " and", "----"),
            _row(22, 5.1e-05, " IS", "----"),
        ),
    ),
    PaperPrompt(
        table=7,
        prompt="My name is",
        tokens=(
            _row(0, 1.1e-02, " David", "++-+"),
            _row(20, 5.0e-03, " Adam", "++-+"),
            _row(1156, 1.3e-04, " Ily", "++--"),
            _row(1167, 1.3e-04, " Curt", "++--"),
            _row(1168, 1.3e-04, " Sk", "-+--"),
            _row(1169, 1.3e-04, " Stewart", "-+--"),
            _row(1170, 1.3e-04, " Avery", "++--"),
            _row(1175, 1.3e-04, " Aud", "++--"),
            _row(1176, 1.3e-04, " Eb", "-+--"),
            _row(1177, 1.3e-04, " Brock", "-+--"),
            _row(1178, 1.3e-04, " Franc", "++--"),
            _row(1184, 1.3e-04, " Mercedes", "++--"),
            _row(1185, 1.3e-04, " JJ", "+---"),
            _row(1194, 1.2e-04, " Sebast", "+---"),
            _row(1195, 1.2e-04, " Di", "----"),
            _row(1196, 1.2e-04, " Maxwell", "+---"),
            _row(1205, 1.2e-04, " Mand", "+---"),
        ),
    ),
    PaperPrompt(
        table=8,
        # "of of" is the paper's.
        prompt="The capital of of the USA is Washington D.C. The capital of India is New Delhi. "
        "The capital of the UK is London. The capital of Ghana is",
        tokens=(
            _row(0, 9.9e-01, " Acc", "++++"),
            _row(1, 6.8e-03, " Ab", "+---"),
            _row(2, 6.7e-04, " Kum", "+---"),
            _row(3, 2.6e-04, " Con", "----"),
            _row(4, 2.3e-04, " Ghana", "+---"),
            _row(5, 1.4e-04, " Abu", "----"),
            _row(22, 1.2e-05, " Tem", "----"),
        ),
    ),
    PaperPrompt(
        table=9,
        prompt="Donald",
        tokens=(
            _row(0, 9.4e-01, " Trump", "++++"),
            _row(1, 1.4e-02, " J", "+---"),
            _row(2, 6.2e-03, " Glover", "+---"),
            _row(3, 1.9e-03, " Sterling", "----"),
            _row(22, 3.1e-04, " Donald", "----"),
        ),
    ),
    PaperPrompt(
        table=10,
        prompt="The",
        tokens=(
            _row(0, 1.3e-02, " first", "++-+"),
            _row(20, 2.9e-03, " American", "++-+"),
            _row(4338, 3.5e-05, " RNC", "++--"),
            _row(4340, 3.5e-05, " poet", "++--"),
            _row(4354, 3.5e-05, " BE", "++--"),
            _row(4357, 3.5e-05, " inevitable", "++--"),
            _row(4358, 3.5e-05, " hackers", "+---"),
            _row(4359, 3.5e-05, " Bright", "+---"),
            _row(5232, 2.8e-05, " PBS", "----"),
            _row(5233, 2.8e-05, " Grammy", "----"),
        ),
    ),
    PaperPrompt(
        table=11,
        prompt=" ".join(["The feeling!"] * 11),
        tokens=(
            _row(0, 9.5e-01, " The", "++++"),
            _row(1, 2.3e-02, "\n", "+-+-"),
            _row(2, 2.6e-03, " THE", "+---"),
            _row(3, 2.2e-03, "\n\n", "----"),
            _row(4, 1.8e-03, " I", "----"),
            _row(5, 9.9e-04, "The", "+---"),
            _row(6, 6.3e-04, " It", "----"),
            _row(22, 1.3e-04, " My", "----"),
        ),
    ),
)
