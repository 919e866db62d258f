"""Errors of pydantic in the project's words, with the line of each."""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from bat.suggestions import did_you_mean
from harness.config.errors import ConfigError, Path, Problem, spell, suggest
from harness.config.source import Source, kind


def explain(error: ValidationError, schema: type[BaseModel], source: Source) -> list[Problem]:
    """Turn pydantic's errors into problems, one for each path."""
    problems: list[Problem] = []
    for details in error.errors(include_url=False):
        for problem in _problems(details, schema, source):
            last = problems[-1] if problems else None
            if last and last.path == problem.path and details["type"] != "value_error":
                # Each branch of a union has its error: "must be 'auto'" and "must be a valid integer".
                problems[-1] = Problem(last.path, _either(last.sentence, problem.sentence), last.place)
            else:
                problems.append(problem)
    return problems


def _problems(details: ErrorDetails, schema: type[BaseModel], source: Source) -> Iterator[Problem]:
    loc = details["loc"]
    path = _existing(loc, source.data)
    location = source.location_of(path)
    given = kind(details["input"])
    match details["type"]:
        case "extra_forbidden":
            keys = _keys_at(schema, loc[:-1])
            sentence = f"{spell(path[:-1])} has no key {path[-1]!r}.{suggest(path[-1], keys)}"
        case "missing":
            path = (*path, loc[-1])
            sentence = f"{spell(path[:-1])} needs the key {loc[-1]!r}."
        case "value_error":
            cause = details["ctx"]["error"]
            if isinstance(cause, ConfigError):
                for problem in cause.problems:
                    inner = _existing((*loc, *problem.path), source.data)
                    yield Problem(inner, f"{spell(inner)}: {problem.sentence}", source.location_of(inner))
                return
            sentence = f"{spell(path)}: {_sentence(str(cause))}"
        case "model_type":
            listed = ", ".join(_keys_at(schema, loc))
            sentence = f"{spell(path)} must be a mapping with the keys {listed}; got {given}."
        case "too_short":
            if details["input"]:
                return  # pydantic counts only valid entries, and the others are reported already
            sentence = f"{spell(path)} must have at least one entry; got none."
        case "string_pattern_mismatch":  # only labels have a pattern
            sentence = f"{spell(path)} must not be empty, nor begin or end with a space; got {given}."
        case "tuple_type":
            sentence = f"{spell(path)} must be a list; got {given}."
        case "literal_error":
            expected = str(details["ctx"]["expected"])
            suggestion = did_you_mean(details["input"], re.findall(r"'([^']*)'", expected))
            sentence = f"{spell(path)} must be {expected}; got {given}.{suggestion}"
        case _:
            requirement = re.sub(r"^\w+ should ", "must ", details["msg"])
            sentence = f"{spell(path)} {requirement}; got {given}."
    yield Problem(path, sentence, location)


def _sentence(text: str) -> str:
    """The text with a full stop."""
    return text if text.endswith(("?", "!")) else f"{text.rstrip('.')}."


def _either(first: str, second: str) -> str:
    requirement = second.partition(" must ")[2].partition("; got ")[0]
    before, got, after = first.partition("; got ")
    return f"{before} or {requirement}{got}{after}"


def _existing(loc: Iterable[str | int], data: Any) -> Path:
    """Keep the steps that exist in the data. The others are branches of unions, or lists of one value."""
    path: list[str | int] = []
    for step in loc:
        inside = (isinstance(data, Mapping) and step in data) or (
            isinstance(data, list | tuple) and isinstance(step, int) and step < len(data)
        )
        if inside:
            path.append(step)
            data = data[step]  # type: ignore[index, call-overload, unused-ignore]
    return tuple(path)


def _keys_at(schema: type[BaseModel], loc: Iterable[str | int]) -> list[str]:
    """The keys that are allowed at a path."""
    models = [schema]
    for step in loc:
        fields = [model.model_fields[step] for model in models if step in model.model_fields]
        if fields:
            models = [model for field in fields for model in _models_in(field.annotation)]
    return [name for model in models for name in model.model_fields]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)
