"""Sweeps from files."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from harness.config.errors import ConfigError, Problem, suggest
from harness.config.overrides import apply_overrides
from harness.config.paths import resolve_paths
from harness.config.problems import explain
from harness.config.schema import SweepConfig
from harness.config.source import Source, read_source


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """A sweep and where it came from."""

    config: SweepConfig
    path: str  # as given
    text: str  # contents of the file
    overrides: tuple[str, ...] = ()


def load_config(path: str | os.PathLike[str], overrides: Iterable[str] = ()) -> LoadedConfig:
    """Read a sweep from a YAML file; raise ConfigError, with line numbers, if it is invalid.

    `overrides` are values for `--set`, such as "generation.seeds=[1,2]".
    """
    name, given = os.fspath(path), tuple(overrides)
    text = _read_text(name)
    source = read_source(text, name)
    apply_overrides(source, given)
    return LoadedConfig(resolve_paths(_validate(source), Path(name)), name, text, given)


def parse_config(data: Mapping[str, Any], overrides: Iterable[str] = ()) -> SweepConfig:
    """Make a sweep from plain data, as read from YAML or JSON; raise ConfigError if it is invalid."""
    source = Source(copy.deepcopy(data))  # overrides change it
    apply_overrides(source, overrides)
    return _validate(source)


def _validate(source: Source) -> SweepConfig:
    try:
        return SweepConfig.model_validate(_with_tuples(source.data))
    except ValidationError as error:
        raise ConfigError(explain(error, SweepConfig, source)) from None


def _with_tuples(value: Any) -> Any:
    """Lists as tuples, because the schema is frozen."""
    if isinstance(value, Mapping):
        return {key: _with_tuples(entry) for key, entry in value.items()}
    return tuple(map(_with_tuples, value)) if isinstance(value, list | tuple) else value


def _read_text(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        sentence = f"there is no such file.{_suggest_file(Path(name))}"
    except IsADirectoryError:
        sentence = f"this is a folder. Give a file in it.{_suggest_file(Path(name) / '_')}"
    except UnicodeDecodeError as error:
        sentence = f"a sweep must be UTF-8 text; byte {error.start} is invalid. Save it as UTF-8."
    except OSError as error:
        sentence = f"the file cannot be read: {error.strerror}."
    raise ConfigError([Problem((), sentence, name)])


def _suggest_file(path: Path) -> str:
    names = sorted(file.name for file in path.parent.glob("*.yaml")) if path.parent.is_dir() else []
    return suggest(path.name, names)
