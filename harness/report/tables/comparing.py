"""Comparing two settings or runs of the user's choice, written as `A:B`.

A side is a method by its name in the sweep (`tight`), a setting by its label (`eta=0.002`), either after the
name or number of a run (`demo/tight`), or a whole run (`demo`), whose settings are compared with those of the
other run that have the same name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from bat.errors import InvalidInputError
from bat.suggestions import did_you_mean
from harness.report.names import short_name
from harness.report.results import Result, Results
from harness.report.tables.labels import distinct

Pair = tuple[Result, Result]

_EXAMPLES = "ba-eta:eta, or run1/eta:run2/eta"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two sides, as the user wrote them, and the pairs of results that are compared: at least one."""

    first: str
    second: str
    pairs: tuple[Pair, ...]


def find_comparison(results: Results, text: str) -> Comparison:
    """The results that `A:B` compares; raises when it names nothing, or nothing that can be compared."""
    splits = split_sides(text)
    for sides in splits:  # names may contain colons
        if all(_find_side(results, side) for side in sides):
            return compare_sides(results, *sides)
    return compare_sides(results, *splits[0])


def compare_sides(results: Results, first: str, second: str) -> Comparison:
    """The same for two sides that are given separately."""
    found = _find_side(results, first), _find_side(results, second)
    for side, own in zip((first, second), found, strict=True):
        if not own:
            raise InvalidInputError(_unknown(results, side))
    return Comparison(first, second, tuple(_pairs(results, (first, second), found)))


def split_sides(
    text: str, *, what: str = "a comparison must be two settings or runs", example: str = _EXAMPLES
) -> list[tuple[str, str]]:
    """The ways to read a text as two sides."""
    parts = text.split(":")
    splits = [
        (":".join(parts[:index]).strip(), ":".join(parts[index:]).strip()) for index in range(1, len(parts))
    ]
    usable = [split for split in splits if all(split)]
    if not usable:
        raise InvalidInputError(f"{what} with a colon between them, such as {example}; got {text!r}.")
    return usable


def _find_side(results: Results, side: str) -> list[Result]:
    """The results that one side of a comparison names; none if it is unknown."""
    of_setting = [result for result in results.results if side in _names(result)]
    if of_setting:
        return distinct(of_setting, by_role=True)
    runs = {title: run for run in results.runs for title in (str(run.id), run.name)}
    run_name, _, setting = side.partition("/")
    if run_name not in runs:
        return []
    own = [result for result in results.results if result.run_id == runs[run_name].id]
    return distinct([result for result in own if not setting or setting in _names(result)], by_role=True)


def _names(result: Result) -> set[str]:
    """Everything that a result may be called."""
    rule, details = result.setting.rule, (result.setting.constraints, *result.setting.temperature_columns)
    return {result.method, result.label, *(short_name(rule, result.parameter, *d) for d in (details, ()))}


def _unknown(results: Results, side: str) -> str:
    methods = list(dict.fromkeys(result.method for result in results.results))
    runs = list(dict.fromkeys(run.name for run in results.runs))
    setting = side.partition("/")[2] or side
    return (
        f"a side of a comparison must be a method, a setting or a run of the report that has scores; got "
        f"{side!r}. Methods: {', '.join(methods)}. Runs: {', '.join(runs)}.{did_you_mean(setting, methods)}"
    )


def _pairs(
    results: Results, names: tuple[str, str], sides: tuple[Sequence[Result], Sequence[Result]]
) -> list[Pair]:
    """The results of both sides that are compared: of the same model, on text of the same split."""
    first, second = sides
    by_model = bool({result.model for result in first} & {result.model for result in second})
    splits = [{result.split for result in side} for side in sides]
    if not splits[0] & splits[1]:
        listed = [" and ".join(sorted(each)) for each in splits]
        raise InvalidInputError(
            f"{names[0]} and {names[1]} cannot be compared: the texts of {names[0]} continue {listed[0]} "
            f"text, those of {names[1]} {listed[1]} text. Compare settings that ran on the same split."
        )
    alike = [
        (left, right)
        for left, right in product(first, second)
        if left.split == right.split and (not by_model or left.model == right.model)
    ]
    chosen = [pair for pair in alike if _belong_together(results, *pair)]
    if not chosen and any(len({(each.method, each.asked) for each in side}) == 1 for side in sides):
        chosen = alike
    if not chosen:
        listed = [", ".join(dict.fromkeys(result.label for result in side)) for side in sides]
        raise InvalidInputError(
            f"{names[0]} and {names[1]} cannot be paired: each is several settings, and none of them belong "
            f"together. Name one on each side: {listed[0]}; and {listed[1]}."
        )
    different = [pair for pair in chosen if _key(pair[0]) != _key(pair[1])]
    if not different:
        raise InvalidInputError(
            f"{names[0]} and {names[1]} are the same result, {chosen[0][0].label}. Name two different ones."
        )
    return different


def _belong_together(results: Results, first: Result, second: Result) -> bool:
    """Whether two results are the same setting of a method, or one is matched to the other."""
    if (first.method, first.asked) == (second.method, second.asked):
        return True
    return any(
        (plain := results.plain_of(one)) is not None and _key(plain) == _key(other)
        for one, other in ((first, second), (second, first))
    )


def _key(result: Result) -> tuple[object, ...]:
    return (result.run_id, result.stage, result.model, result.method, result.asked)
