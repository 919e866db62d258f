"""Ctrl-C stops a query that would run for hours, on either database."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from harness.cli import main
from harness.store.reader import Reader
from tests.harness import stores
from tests.harness.store.conftest import postgresql_address, postgresql_server  # noqa: F401

ENDLESS = {
    "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
    "postgresql": "SELECT pg_sleep(3600)",
}


def _ask(address: str, sql: str, pipe: Connection) -> None:
    """Ask in a process of its own, which says when it asks and keeps what it is told."""
    os.dup2(pipe.fileno(), 2)
    sys.stderr = os.fdopen(2, "w", closefd=False)
    query = Reader.query

    def tell(*arguments: object) -> object:
        os.write(2, b"asking\n")
        return query(*arguments)  # type: ignore[arg-type]

    Reader.query = tell  # type: ignore[assignment, method-assign]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(["query", sql, "--db", address])


@pytest.mark.parametrize(
    "backend", ["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql"))]
)
def test_an_interrupt_stops_a_query(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    address = (
        stores.filled(tmp_path) if backend == "sqlite" else request.getfixturevalue("postgresql_address")
    )
    reading, writing = os.pipe()
    with os.fdopen(reading) as lines, Connection(writing, readable=False) as pipe:
        arguments = (address, ENDLESS[backend], pipe)
        process = multiprocessing.get_context("fork").Process(target=_ask, args=arguments)
        process.start()
        pipe.close()
        try:
            assert lines.readline() == "asking\n"
            process.join(0.5)  # the query has begun, as far as anyone can tell
            assert process.pid is not None
            os.kill(process.pid, signal.SIGINT)
            process.join(30)
            assert process.exitcode == 130
            assert lines.read() == "The query was stopped.\n"
        finally:
            process.kill()
