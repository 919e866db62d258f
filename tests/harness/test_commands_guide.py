"""docs/commands.md is current, and the commands it shows work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from harness.commands.reference import reference, with_reference
from tests.harness import stores
from tests.harness.stores import run_command

GUIDE = Path(__file__).parent.parent.parent / "docs" / "commands.md"


def shown_commands() -> list[str]:
    """What the guide shows in blocks of shell."""
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def test_the_reference_is_current() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    assert guide == with_reference(guide), "run: python -m harness.commands.reference"


def test_the_reference_has_every_command_and_option() -> None:
    made = reference()
    for name in (
        "demo",
        "init",
        "plan",
        "run",
        "status",
        "retry",
        "query",
        "export",
        "doctor",
        "db migrate",
        "db check",
        "db merge",
        "runs list",
        "runs delete",
    ):
        assert f"\n### {name}\n" in made
    assert "bat-harness export [OPTIONS] --output DIR [RUN]" in made
    assert "| `--output, -o FILE` |" in made
    assert "`sqlite:///results.db`, or the environment variable `BAT_HARNESS_DB`" in made
    assert "| 3 | the sweep cannot finish because jobs failed" in made


def test_the_commands_shown_work_one_after_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = stores.filled(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").symlink_to(GUIDE.parent.parent / "configs")
    monkeypatch.setenv("BAT_HARNESS_DB", address)
    commands = shown_commands()
    assert len(commands) > 15
    for line in commands:
        program, *arguments = shlex.split(line)
        assert program == "bat-harness"
        if "--watch" in arguments or arguments in (["doctor"], ["demo"]):
            continue  # one never ends, the others have their own tests
        run_command(capsys, *arguments)
    assert (tmp_path / "results" / "tokens.parquet").exists()
    assert (tmp_path / "texts.parquet").exists()
    assert (tmp_path / "my-sweeps" / "demo.yaml").exists()


def test_the_example_in_python(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_command(capsys, "export", "--db", stores.filled(tmp_path), "-o", str(tmp_path / "results"))
    monkeypatch.chdir(tmp_path)
    [block] = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(block, "commands.md", "exec"), names)
    shares = names["shares"]
    assert shares.groupby(level=0).sum().round(9).eq(1).all()  # type: ignore[attr-defined]
