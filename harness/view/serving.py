"""The web servers around the applications."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette

from harness.view.app import create_app
from harness.view.judging import app as judging_app
from harness.view.judging.settings import JudgeSettings
from harness.view.live import Live
from harness.view.settings import ViewSettings
from harness.view.warming import warm_up

# A query that runs is not waited for any longer.
_SECONDS_TO_END = 2


class Server(uvicorn.Server):
    """A server whose end lets go the pages that listen to a run: their requests never end by themselves."""

    def __init__(self, config: uvicorn.Config, live: Live) -> None:
        super().__init__(config)
        self._live = live

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._live.end()
        await super().shutdown(sockets)


def make_server(settings: ViewSettings) -> Server:
    """A server that is not running yet. It prints errors only."""
    app = create_app(settings)
    warm_up(settings, app.state.memory)
    return Server(quiet_config(app), app.state.live)


def make_judge_server(settings: JudgeSettings) -> uvicorn.Server:
    """The same for the judges of a study."""
    return uvicorn.Server(quiet_config(judging_app.create_app(settings)))


def quiet_config(app: Starlette) -> uvicorn.Config:
    """How our servers run."""
    return uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        proxy_headers=False,
        ws="none",
    )
