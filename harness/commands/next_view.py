"""How `bat-harness next` draws its table, in a terminal of 80 columns or more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from harness.explore.next_token import Method, NextTokens, Row
    from workers.models import LanguageModel

_WIDE = 100  # columns of a terminal with room to spare
_LONGEST_PROMPT = 60  # characters shown of it

_WORDS = {
    "yes": Text("yes", "green"),
    "basis": Text("basis", "bold cyan"),
    "no": Text("no", "dim"),
    "?": Text("?", "bold red"),
}
_MEANINGS = {
    "yes": "accepted for its probability",
    "basis": "below the method's threshold, yet accepted: the token has positive probability in every nearby "
    "distribution that the constraints cannot tell from the model's",
    "no": "rejected",
    "?": "neither could be proved in the time allowed",
}


def print_table(
    console: Console, table: NextTokens, language_model: LanguageModel, token_ids: Sequence[int]
) -> None:
    """Print a title, the table and a legend."""
    console.print(_title(table, language_model, token_ids))
    console.print(_table(table, language_model, token_ids, wide=console.width >= _WIDE))
    console.print()
    console.print(_legend(table), width=min(console.width, _WIDE))
    if any(method.accepted is None for method in table.methods):
        print_note(console, "To count the tokens that basis-aware methods accept, add --all.")


def print_note(console: Console, note: str) -> None:
    """Print a sentence below the table."""
    console.print(Text(note, "dim"), width=min(console.width, _WIDE))


def _title(table: NextTokens, language_model: LanguageModel, token_ids: Sequence[int]) -> Text:
    context = _context(language_model, token_ids)
    shown = context if len(context) <= _LONGEST_PROMPT else "..." + context[-_LONGEST_PROMPT:]
    facts = f"{language_model.info.name}, entropy {table.entropy:.2f} nats"
    return Text.assemble("Next token after ", (shown, "bold"), "\n", (facts, "dim"), "\n")


def _table(
    next_tokens: NextTokens, language_model: LanguageModel, token_ids: Sequence[int], *, wide: bool
) -> Table:
    from harness.explore.prompts import token_text, visible

    with_critical = any(row.critical for row in next_tokens.rows)
    table = Table(
        box=box.SIMPLE,
        padding=(0, int(wide)),
        collapse_padding=True,
        pad_edge=False,
        show_edge=False,
        header_style="bold",
        show_footer=True,
        footer_style="not bold",
    )
    table.add_column("\n\nrank", justify="right", no_wrap=True)
    table.add_column("\n\nprob", justify="right", no_wrap=True)
    # The only column that shrinks when the terminal is narrow, because tokens have no space to wrap at.
    table.add_column("\n\ntoken", "threshold\ntokens", overflow="ellipsis")
    if with_critical:
        table.add_column("\ncritical\nthreshold", justify="right", no_wrap=True)
    for method in next_tokens.methods:
        table.add_column(_header(method), _footer(method), justify="right", no_wrap=True)
    for row in next_tokens.rows:
        table.add_row(
            str(row.rank),
            _number(row.probability),
            Text(visible(token_text(language_model.tokenizer, token_ids, row.token)), "bold"),
            *([_interval(row)] if with_critical else []),
            *_verdicts(row, next_tokens.methods),
        )
    return table


def _header(method: Method) -> str:
    name, _, parameter = str(method.rule).partition("=")
    aware, name = ("ba-", name.removeprefix("ba-")) if method.rule.basis_aware else ("", name)
    return f"{aware}\n{name}\n{parameter}"


def _footer(method: Method) -> str:
    threshold = "none" if method.threshold is None else _number(method.threshold)
    count = "" if method.accepted is None else f"{method.accepted:,}"
    return f"{threshold}\n{count}{f' + {method.undecided:,}?' if method.undecided else ''}"


def _verdicts(row: Row, methods: Sequence[Method]) -> list[Text]:
    from harness.explore.next_token import verdict_words

    words = verdict_words(row, methods)
    by_name = {method.rule.name: word for method, word in zip(methods, words, strict=True)}
    cells = []
    for method, word in zip(methods, words, strict=True):
        # Highlight what only the basis-aware form rejects.
        plain = by_name.get(method.rule.name.removeprefix("ba-"))
        cells.append(Text("no", "yellow") if (word, plain) == ("no", "yes") else _WORDS[word])
    return cells


def _interval(row: Row) -> str:
    from harness.explore.next_token import CRITICAL_CAP

    if row.critical is None:
        return ""
    lower, upper = row.critical
    if lower >= CRITICAL_CAP:
        return f"> {CRITICAL_CAP}"
    return _number(upper) if _number(lower) == _number(upper) else f"{_number(lower)} to {_number(upper)}"


def _number(value: float) -> str:
    """A probability in seven characters, so that decimal points line up."""
    return f"{value:.5f}" if value >= 1e-4 or value == 0.0 else f"{value:.1e}"


def _legend(table: NextTokens) -> Table:
    """Explain the words that occur in the table."""
    words = {cell.plain for row in table.rows for cell in _verdicts(row, table.methods)}
    legend = Table.grid(padding=(0, 2))
    for word, meaning in _MEANINGS.items():
        if word in words:
            legend.add_row(_WORDS[word], Text(meaning, "dim"))
    return legend


def _context(language_model: LanguageModel, token_ids: Sequence[int]) -> str:
    """The input of the model as text, special tokens included."""
    from harness.explore.prompts import visible

    text = language_model.tokenizer.decode(list(token_ids), clean_up_tokenization_spaces=False)
    return visible(str(text)).replace("␣", " ")
