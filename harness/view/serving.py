"""The web server around the application."""

from __future__ import annotations

import uvicorn

from harness.view.app import create_app
from harness.view.settings import ViewSettings
from harness.view.warming import warm_up

# Pages that listen to a run never end their request; the end of the server does not wait for them.
_SECONDS_TO_END = 1


def make_server(settings: ViewSettings) -> uvicorn.Server:
    """A server that is not running yet. It prints errors only."""
    warm_up()
    config = uvicorn.Config(
        create_app(settings),
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_SECONDS_TO_END,
        proxy_headers=False,
        ws="none",
    )
    return uvicorn.Server(config)
