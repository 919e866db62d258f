"""bat-harness doctor"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from harness.commands import options
from harness.commands.console import ExitCode, get_console, stages

if TYPE_CHECKING:
    from harness.doctor import Finding

_STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def doctor(
    db: options.Database = options.DEFAULT_DATABASE,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also start a local Ray, which takes a few seconds.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Check that this machine can run sweeps, with advice if it cannot.

    The exit code is 1 if something is missing that every sweep needs. Warnings
    concern only some sweeps, such as those that download models from the hub.

    Examples:

        bat-harness doctor
        bat-harness doctor --deep --db postgresql://me@server/results
    """
    with stages(transient=True) as stage:
        from harness.doctor import checks, examine

        report = stage("Checking", len(checks(db)))
        findings = examine(db, deep=deep, report=report)
    failed = [finding for finding in findings if finding.health == "fail"]
    if as_json:
        typer.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        _print(findings)
    if failed:
        raise typer.Exit(ExitCode.MISTAKE)


def _print(findings: Sequence[Finding]) -> None:
    from harness.words import counted

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        text = Text(finding.text)
        if finding.advice:
            text.append(f"\n{finding.advice}", "bold")
        table.add_row(Text(finding.health, _STYLES[finding.health]), finding.name, text)
    console = get_console()
    console.print(table)
    failures, warnings = (
        sum(finding.health == health for finding in findings) for health in ("fail", "warn")
    )
    verdict = Text("Ready to run sweeps", "bold green")
    if failures:
        verdict = Text(f"Not ready: {counted(failures, 'check')} failed", "bold red")
    if warnings:
        verdict.append(f", {counted(warnings, 'warning')}", "yellow")
    console.print(verdict.append("."))
