"""The paragraph at the top of a report: what was compared, on which text, and with which result."""

from __future__ import annotations

from collections.abc import Sequence

from harness.report.parts import Table
from harness.report.results import Results
from harness.store import Reader
from harness.words import counted


def summarize(reader: Reader, results: Results, tables: Sequence[Table]) -> str:
    """What was compared, how many differences are shown, and whether the sweep is done."""
    sentences = [_what_was_compared(reader, results)]
    for table in tables:
        if table.name == "differences":
            ends = [(row.cells[0].low, row.cells[0].high) for row in table.rows]
            shown = [low for low, high in ends if low is not None and high is not None and low * high > 0]
            higher = sum(low > 0 for low in shown)
            unknown = sum(low is None for low, _ in ends)
            sentences.append(
                f"{counted(len(ends), 'basis-aware setting')} against the plain one with the same rejection "
                f"rate: higher MAUVE for {higher}, lower for {len(shown) - higher}, and for "
                f"{len(ends) - len(shown) - unknown} no difference shown."
            )
            if unknown:
                sentences.append(f"{counted(unknown, 'difference')} without an interval.")
    if results.unfinished:
        sentences.append(f"{counted(results.unfinished, 'job')} of the sweep not done yet.")
    return " ".join(sentences)


def _what_was_compared(reader: Reader, results: Results) -> str:
    if not results.results:
        texts = "no texts have been scored yet" if results.unfinished else "no texts were generated"
        return f"Human text was measured; {texts}."
    own = [result for result in results.results if not result.is_imported]
    models = ", ".join(dict.fromkeys(result.model for result in own))
    settings = {(result.model, result.label) for result in own}
    seeds = len({scored.seed for result in own for scored in result.seeds})
    set_ids = dict.fromkeys(result.prefix_set for result in results.results)
    text = ", ".join(
        f"{counted(prefixes.prefixes, 'prefix', 'prefixes')} of {prefixes.corpus} ({prefixes.split})"
        for prefixes in map(reader.prefix_set, set_ids)
    )
    imported = ", ".join(dict.fromkeys(result.method for result in results.results if result.is_imported))
    if not own:
        return f"Imported texts continue {text}: {imported}."
    beside = f" Imported beside them: {imported}." if imported else ""
    return (
        f"{models} continued {text} under {counted(len(settings), 'setting')} with {counted(seeds, 'seed')}."
        f"{beside}"
    )
