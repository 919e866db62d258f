"""A web server as a command: the port is taken before anything is printed, and Ctrl-C ends it."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.commands.console import get_console

if TYPE_CHECKING:
    import uvicorn


def listen(host: str, port: int) -> socket.socket:
    """The port; raises if it is taken."""
    from bat.errors import InvalidInputError

    where = f"{host}, port {port}"
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InvalidInputError(
                f"the port must be free; another program listens on {where}. Choose another with --port, or "
                "--port 0 for any free one."
            ) from None
        raise InvalidInputError(
            f"the address must be one of this machine; {where} cannot be used: {error.strerror or error}. "
            "Use 127.0.0.1, or 0.0.0.0 for all addresses of this machine."
        ) from None


def say(lines: Sequence[str]) -> None:
    """Print lines as they are."""
    console = get_console()
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def serve_until_interrupted(server: uvicorn.Server, listening: socket.socket) -> None:
    """Ctrl-C is how it ends."""
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
