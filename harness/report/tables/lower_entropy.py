"""The paper's table of lower-entropy generation: eta and BA-eta where both reject a quarter of human text."""

from __future__ import annotations

from harness.config.expansion import AtRate, EqualRate
from harness.report import paper
from harness.report.parts import Cell, Missing, Row, Table
from harness.report.results import Result
from harness.report.tables.cells import EMPTY, difference_cell, has_score, mauve_cell, mauve_of
from harness.report.tables.labels import compared, models_of, paper_columns
from harness.report.tables.sources import Sources

# The paper's text does not give it; the scripts that its authors published have it.
_RATE = AtRate(0.25)

# The rule, and the number of constraints of a basis-aware one.
_Kind = tuple[str, int | None]


def lower_entropy(sources: Sources) -> list[Table | Missing]:
    """Ours above, the paper's below."""
    results = [
        result
        for result in compared(sources.results, by_role=True)
        if result.setting.rule in paper.LOWER_ENTROPY and _is_at_rate(result) and has_score(result, "mauve")
    ]
    found: dict[_Kind, dict[str, Result]] = {}
    for result in sorted(results, key=lambda one: (one.setting.rule != "eta", one.setting.constraints or 0)):
        kind = (result.setting.rule, result.setting.constraints)
        found.setdefault(kind, {}).setdefault(result.model, result)
    if {rule for rule, _ in found} != set(paper.LOWER_ENTROPY):
        why = "no eta and BA-eta that both reject a quarter of human text have been scored"
        command = "bat-harness run configs/paper/lower-entropy.yaml"
        return [Missing("Lower-entropy generation (Table 1 of the paper)", why, command)]
    columns = paper_columns(models_of(results))
    rows = [
        Row(_name(kind), tuple(_own_cell(found, kind, model) for _, model, _ in columns)) for kind in found
    ]
    rows += [
        Row(
            f"{_name(kind)} minus eta",
            tuple(_difference_cell(found, kind, model) for _, model, _ in columns),
        )
        for kind in found
        if kind[0] == "ba-eta"
    ]
    rows += [
        Row(f"paper: {name}", tuple(_paper_cell(rule, size) for _, _, size in columns))
        for rule, name in (("eta", "eta"), ("ba-eta", "BA-eta"))
    ]
    said = paper.STATEMENTS["lower-entropy"]
    return [
        Table(
            name="lower-entropy",
            title="Lower-entropy generation",
            caption="MAUVE times 100 where eta and BA-eta reject a quarter of human text, with 95% "
            "intervals; the highest of each of our models is bold.",
            columns=("method", *(heading for heading, _, _ in columns)),
            rows=tuple(rows),
            notes=(
                f"The paper has: {said.words} ({said.where}). It does not say which rejection rate its table "
                "is at; a quarter is what its authors' published scripts have.",
                "Behind the paper's values are its subscripts, which it does not explain; the error bars of "
                "its Figure 5 are standard errors.",
            ),
            paper=f"{paper.PLACES['lower-entropy']} of the paper",
        )
    ]


def _is_at_rate(result: Result) -> bool:
    match result.asked.parameter:
        case EqualRate(reference=reference):
            return reference.rule == "eta" and reference.parameter == _RATE
        case asked:
            return asked == _RATE


def _name(kind: _Kind) -> str:
    rule, constraints = kind
    return rule if constraints is None else f"{rule} (c={constraints})"


def _own_cell(found: dict[_Kind, dict[str, Result]], kind: _Kind, model: str | None) -> Cell:
    if model is None or model not in found[kind]:
        return EMPTY
    rivals = [mauve_of(row[model]).value for row in found.values() if model in row]
    result = found[kind][model]
    return mauve_cell(result, bold=len(rivals) > 1 and mauve_of(result).value == max(rivals))


def _difference_cell(found: dict[_Kind, dict[str, Result]], kind: _Kind, model: str | None) -> Cell:
    plain = found[("eta", None)]
    if model is None or model not in plain or model not in found[kind]:
        return EMPTY
    return difference_cell(found[kind][model], plain[model])


def _paper_cell(rule: str, size: str | None) -> Cell:
    if size is None:
        return EMPTY
    printed = paper.LOWER_ENTROPY[rule][size]
    where = f"{paper.PLACES['lower-entropy']} of the paper"
    return Cell(f"{printed.value:.1f} ({printed.subscript:.1f})", printed.value, how=where)
