"""Which run a command is about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.store import Reader, Run


def choose_run(reader: Reader, name: str | None) -> Run:
    """The run of that number or name; without either, the one started last."""
    from bat.errors import InvalidInputError

    if name is None:
        runs = reader.runs()
        if not runs:
            raise InvalidInputError(
                f"{reader.address} has no run yet. Start one with: bat-harness run configs/demo.yaml "
                f"--db {reader.address}"
            )
        return runs[0]
    if name.isdecimal():
        found = reader.find_run(int(name))  # before a run that is called like a number
        if found is not None:
            return found
    return reader.get_run(name)


def choose_runs(reader: Reader, names: Iterable[str]) -> list[Run]:
    """The runs of those numbers or names, each once; without any, the one started last."""
    chosen = [choose_run(reader, name) for name in names] or [choose_run(reader, None)]
    return list({run.id: run for run in chosen}.values())
