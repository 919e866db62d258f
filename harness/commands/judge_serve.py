"""bat-harness judge serve"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import options
from harness.commands.serving import listen, say, serve_until_interrupted

if TYPE_CHECKING:
    from harness.store.study_records import Judge, Study
    from harness.view.judging.settings import JudgeSettings


def serve(
    study: options.Study,
    judges: Annotated[
        int | None,
        typer.Option(
            "--judges",
            metavar="N",
            min=0,
            help="Judges with a link of their own; default: 3, or none for a platform.",
        ),
    ] = None,
    prolific: Annotated[
        bool,
        typer.Option("--prolific", help="Answer the open link, to which Prolific adds its parameters."),
    ] = False,
    completion_code: Annotated[
        str | None,
        typer.Option("--completion-code", metavar="CODE", help="Shown to judges of a platform at the end."),
    ] = None,
    public_url: Annotated[
        str | None,
        typer.Option(
            "--public-url",
            metavar="URL",
            help="What judges open, if a proxy with TLS stands before this server.",
        ),
    ] = None,
    lease_minutes: Annotated[
        float,
        typer.Option(
            "--lease-minutes", metavar="N", min=1, help="When an abandoned comparison goes to another judge."
        ),
    ] = 30.0,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Port to listen on; 0 for any free one.")
    ] = 8710,
    db: options.Database = options.DEFAULT_DATABASE,
) -> None:
    """Let people judge a study in their browsers.

    Prints a link for each judge, which nobody can guess; links stay the same when
    the server is started again. Every answer is stored before the next comparison
    is shown, so the server may be stopped at any time. Ctrl-C ends it.

    Examples:

        bat-harness judge serve first --judges 5
        bat-harness judge serve first --prolific --completion-code C1ABC2DE --public-url https://study.example.org
    """
    from harness.view.judging.settings import JudgeSettings
    from harness.view.serving import make_judge_server

    settings = JudgeSettings(
        db=db,
        host=host,
        port=port,
        study=study,
        public_url=public_url,
        is_open=prolific,
        completion_code=completion_code,
        lease_seconds=60 * lease_minutes,
    )
    with listen(host, port) as listening:
        settings = replace(settings, port=listening.getsockname()[1])
        server = make_judge_server(settings)
        count = judges if judges is not None else 0 if prolific else 3
        found, own = _judges_of(settings, count)
        say(_links(settings, found, own))
        serve_until_interrupted(server, listening)


def _judges_of(settings: JudgeSettings, count: int) -> tuple[Study, list[Judge]]:
    from harness.store.judging import open_studies

    with open_studies(settings.db) as store:
        study = store.get_study(settings.study)
        return study, store.ensure_judges(study.id, count)


def _links(settings: JudgeSettings, study: Study, judges: list[Judge]) -> list[str]:
    lines = [f"Study {study.name} in {settings.shown_db}. Give each judge one link:"] if judges else []
    lines += [f"  {settings.link(f'/j/{judge.token}')}" for judge in judges]
    if settings.is_open:
        parameters = "&".join(
            f"{name}={{{{%{name}%}}}}" for name in ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
        )
        lines += [
            "The address of the study for Prolific:",
            f"  {settings.link(f'/s/{study.open_token}?{parameters}')}",
        ]
        if not settings.completion_code:
            lines.append("Judges will see no completion code; give Prolific's with --completion-code.")
    if settings.public_url is None and not settings.is_local:
        lines.append(
            "Other machines can reach this address. Traffic is not encrypted: put a proxy with TLS before "
            "it, and name it with --public-url (docs/human-evaluation.md)."
        )
    return [*lines, "Ctrl-C ends it. Every answer is stored before the next comparison is shown."]
