"""Servers of `bat-harness view` in this process, and what tests ask of them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import uvicorn
from starlette.testclient import TestClient

from harness.view.app import create_app
from harness.view.judging.settings import JudgeSettings
from harness.view.serving import make_judge_server, make_server
from harness.view.settings import ViewSettings


def visitor(db: str, host: str = "127.0.0.1", **options: bool) -> tuple[TestClient, ViewSettings]:
    """A browser without a window; it follows no redirect."""
    settings = ViewSettings(db, host=host, **options)
    return TestClient(create_app(settings), f"http://{host}:8700", follow_redirects=False), settings


@contextmanager
def serving(settings: ViewSettings) -> Iterator[str]:
    """The address of a server that runs in a thread, on any free port."""
    with _running(settings, make_server) as address:
        yield address


@contextmanager
def serving_judges(settings: JudgeSettings) -> Iterator[str]:
    """The same for the judges of a study."""
    with _running(settings, make_judge_server) as address:
        yield address


@contextmanager
def _running(settings: Any, make: Callable[[Any], uvicorn.Server]) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings = replace(settings, port=listening.getsockname()[1])
        server = make(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield settings.address("")
        finally:
            server.should_exit = True
            thread.join(timeout=10)
