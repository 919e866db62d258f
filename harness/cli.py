"""The command line: all commands, grouped by purpose, and how errors are printed."""

from __future__ import annotations

import errno
import importlib.metadata
import io
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from harness.clashes import find_clash

try:
    from harness.commands import (
        database,
        demo,
        doctor,
        export,
        import_texts,
        init,
        judge_make,
        judge_results,
        judge_serve,
        next_tokens,
        plan,
        preview,
        query,
        report,
        retry,
        run,
        runs,
        sample,
        status,
        trace,
        view,
    )
    from harness.notes import Note
except ImportError as error:
    clash = find_clash(error)
    if clash is None:
        raise
    sys.exit(f"error: {clash}")


class _Flags:
    """Shows flags in the help by their names alone, without a type."""

    def get_params(self, context: Any) -> Any:
        parameters = super().get_params(context)  # type: ignore[misc]
        for parameter in parameters:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return parameters


class _Command(_Flags, TyperCommand):
    pass


class _Group(_Flags, TyperGroup):
    pass


app = typer.Typer(
    name="bat-harness",
    help="Evaluate how language models are sampled: basis-aware threshold sampling and its alternatives.",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Expected errors are printed without a traceback, and exit with code 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that the terminal lacks are escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", Note)
            warnings.showwarning = _show_warning(warnings.showwarning)
            app(arguments)
    except ImportError as error:
        clash = find_clash(error)
        if clash is None:
            raise
        _fail(clash)
    except Exception as error:
        # Imported late, like everything that imports torch, so that --help is fast.
        from bat.errors import BatError

        if isinstance(error, BatError):
            sentence = str(error)
        elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
            # Errors of our own files name the file; this one comes from standard output.
            sentence = (
                "the output cannot be written: the disk is full. Free some space, or redirect the output."
            )
        else:
            raise
        _fail(sentence)


def _fail(sentence: str) -> NoReturn:
    sys.stderr.write(f"error: {sentence}\n")
    sys.exit(1)


def _show_warning(show: Callable[..., None]) -> Callable[..., None]:
    """Print what our own warnings say, without the line of code that gave them; `show` shows the others."""

    def show_warning(message: Warning | str, category: type[Warning], *where: Any, **options: Any) -> None:
        if issubclass(category, Note):
            sys.stderr.write(f"note: {message}\n")
        else:
            show(message, category, *where, **options)

    return show_warning


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"bat-harness {importlib.metadata.version('bat-harness')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


# In the order of the help.
_COMMANDS: dict[str, dict[str, Callable[..., None]]] = {
    "Try it": {
        "demo": demo.demo,
        "sample": sample.sample,
        "next": next_tokens.next_tokens,
        "preview": preview.preview,
    },
    "Run sweeps": {
        "init": init.init,
        "plan": plan.plan,
        "run": run.run,
        "status": status.status,
        "retry": retry.retry,
        "import": import_texts.import_texts,
    },
    "Read results": {
        "view": view.view,
        "report": report.report,
        "trace": trace.trace,
        "query": query.query,
        "export": export.export,
    },
    "Maintenance": {"doctor": doctor.doctor},
}
for _purpose, _commands in _COMMANDS.items():
    for _name, _function in _commands.items():
        app.command(_name, cls=_Command, rich_help_panel=_purpose)(_function)

_GROUPS: dict[tuple[str, str, str], dict[str, Callable[..., None]]] = {
    ("runs", "List, rename, tag, delete, compare and hash runs.", "Read results"): {
        "list": runs.list_,
        "rename": runs.rename,
        "tag": runs.tag,
        "untag": runs.untag,
        "delete": runs.delete,
        "diff": runs.diff,
        "hash": runs.hash_,
    },
    ("judge", "Let people compare texts: make, serve and report studies.", "Read results"): {
        "make": judge_make.make,
        "serve": judge_serve.serve,
        "report": judge_results.report,
        "list": judge_results.list_,
        "export": judge_results.export,
        "import": judge_results.import_,
    },
    ("db", "Migrate, check or merge results databases.", "Maintenance"): {
        "migrate": database.migrate,
        "version": database.version,
        "check": database.check,
        "merge": database.merge,
    },
}
for (_name, _help, _purpose), _commands in _GROUPS.items():
    _group = typer.Typer(cls=_Group, no_args_is_help=True)
    for _command, _function in _commands.items():
        _group.command(_command, cls=_Command)(_function)
    app.add_typer(_group, name=_name, help=_help, rich_help_panel=_purpose)
