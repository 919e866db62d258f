"""bat-harness view"""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.serving import listen, say, serve_until_interrupted

if TYPE_CHECKING:
    from harness.view.settings import ViewSettings


def view(
    db: options.Database = options.DEFAULT_DATABASE,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on. One that other machines can reach needs the token that is printed.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8700,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            show_default=False,
            help="The model for next tokens; default: the demo model.",
        ),
    ] = None,
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Let visitors retry failed jobs.")
    ] = False,
    token: Annotated[
        bool,
        typer.Option(
            "--token", help="Require the token on this machine, too, for one that several people use."
        ),
    ] = False,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Show runs, results and texts in a browser.

    Pages of a running sweep change as it goes on; they do not block it. Everything
    is served from this machine and works without a network. Ctrl-C ends it.

    Examples:

        bat-harness view --db sqlite:///demo.db --open
        bat-harness view --host 0.0.0.0 --port 8701
    """
    from harness.store import open_reader
    from harness.view.settings import ViewSettings

    open_reader(db).close()  # raises now, and not at the first visit
    settings = ViewSettings(
        db=db, host=host, port=port, model=model, allow_changes=allow_changes, always_token=token
    )
    with listen(settings.host, settings.port) as listening:
        settings = replace(settings, port=listening.getsockname()[1])
        _say_where(settings)
        _serve(settings, listening, open_browser=open_browser)


def _say_where(settings: ViewSettings) -> None:
    lines = [f"{settings.shown_db} at {settings.address()}"]
    if not settings.is_local:
        lines.append(
            "Other machines can reach this address. Who has the token can read everything in the database. "
            "Traffic is not encrypted: on a network that you do not trust, use an SSH tunnel instead."
        )
    lines.append("Ctrl-C ends it.")
    say(lines)


def _serve(settings: ViewSettings, listening: socket.socket, *, open_browser: bool) -> None:
    import threading
    import webbrowser

    from harness.view.serving import make_server

    server = make_server(settings)
    if open_browser:
        # The port is taken, so the browser waits until we answer. Some browsers return only when they end.
        threading.Thread(target=webbrowser.open, args=(settings.address(),), daemon=True).start()
    serve_until_interrupted(server, listening)
