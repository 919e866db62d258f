"""The paper's table of lower-entropy generation: eta and BA-eta where both reject a quarter of human text."""

from __future__ import annotations

from harness.config.expansion import AtRate, EqualRate
from harness.report import paper
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result, Sources
from harness.report.tables.cells import EMPTY, difference_cell, has_score, mauve_cell, mauve_of
from harness.report.tables.labels import compared, models_of, paper_columns
from harness.report.tables.matching import unequal_rates

# The paper's text does not give the rate; the scripts that its authors published do.
_RATE = AtRate(0.25)

# The rule, and the number of constraints of a basis-aware one.
_Kind = tuple[str, int | None]
_ByKind = dict[_Kind, dict[str, Result]]  # then by model


def lower_entropy(sources: Sources) -> list[Table | Missing]:
    """Our results above the paper's."""
    results = [
        result
        for result in compared(sources.results, by_role=True)
        if result.setting.temperature is None
        and result.setting.rule in paper.LOWER_ENTROPY
        and _is_at_rate(result)
        and has_score(result, "mauve")
    ]
    by_kind: _ByKind = {}
    for result in sorted(results, key=_order):
        kind = (result.setting.rule, result.setting.constraints)
        by_kind.setdefault(kind, {}).setdefault(result.model, result)
    if {rule for rule, _ in by_kind} != set(paper.LOWER_ENTROPY):
        why = "no eta and BA-eta that both reject a quarter of human text have been scored"
        command = "bat-harness run configs/paper/lower-entropy.yaml"
        return [Missing("Lower-entropy generation (Table 1 of the paper)", why, command, of_paper=True)]
    columns = paper_columns(models_of(results))
    rows = [
        Row(_name(kind), tuple(_own_cell(by_kind, kind, model) for _, model, _ in columns))
        for kind in by_kind
    ]
    rows += [
        Row(
            f"{_name(kind)} minus eta",
            tuple(_difference_cell(by_kind, kind, model) for _, model, _ in columns),
        )
        for kind in by_kind
        if kind[0] == "ba-eta"
    ]
    rows += [
        Row(f"paper: {name}", tuple(_paper_cell(rule, size) for _, _, size in columns))
        for rule, name in (("eta", "eta"), ("ba-eta", "BA-eta"))
    ]
    return [
        Table(
            name="lower-entropy",
            title="Lower-entropy generation",
            caption="MAUVE times 100 where eta and BA-eta reject a quarter of human text, with 95% "
            "intervals; the highest value of each of our models is bold.",
            columns=("method", *(heading for heading, _, _ in columns)),
            rows=tuple(rows),
            notes=(
                *unequal_rates(results),
                f"{paper.statement('lower-entropy')} It does not give the rejection rate "
                "of its table; the scripts that its authors published use a quarter.",
                "In parentheses after the paper's values are its subscripts, which it does not explain; "
                "the error bars of its Figure 5 are standard errors.",
            ),
            paper=paper.source("lower-entropy"),
        )
    ]


def _is_at_rate(result: Result) -> bool:
    match result.asked.parameter:
        case EqualRate(reference=reference):
            return reference.rule == "eta" and reference.parameter == _RATE
        case parameter:
            return parameter == _RATE


def _order(result: Result) -> tuple[bool, int]:
    return result.setting.rule != "eta", result.setting.constraints or 0


def _name(kind: _Kind) -> str:
    rule, constraints = kind
    return rule if constraints is None else f"{rule} (c={constraints})"


def _own_cell(by_kind: _ByKind, kind: _Kind, model: str | None) -> Cell:
    if model is None or model not in by_kind[kind]:
        return EMPTY
    rivals = [mauve_of(by_model[model]).value for by_model in by_kind.values() if model in by_model]
    result = by_kind[kind][model]
    return mauve_cell(result, bold=len(rivals) > 1 and mauve_of(result).value == max(rivals))


def _difference_cell(by_kind: _ByKind, kind: _Kind, model: str | None) -> Cell:
    plain = by_kind[("eta", None)]
    if model is None or model not in plain or model not in by_kind[kind]:
        return EMPTY
    return difference_cell(by_kind[kind][model], plain[model])


def _paper_cell(rule: str, size: str | None) -> Cell:
    if size is None:
        return EMPTY
    printed = paper.LOWER_ENTROPY[rule][size]
    text = f"{printed.value:.1f} ({printed.subscript:.1f})"
    return Cell(text, printed.value, how=paper.source("lower-entropy"))
