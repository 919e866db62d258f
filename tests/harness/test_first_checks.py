"""What is wrong with a command is said before torch is loaded, which takes seconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.cli import main

_PROGRAM = """
import sys
from harness.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    print(ended.code, 'torch' in sys.modules)
"""
CONFIGS = Path(__file__).parent.parent.parent / "configs"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plan", "SMOKE", "--set", "prefixes.cuont=3"], "prefixes has no key 'cuont'"),
        (["plan", "SMOKE", "--set", "methods.0.parameter=2"], "must lie in (0, 1)"),
        (["sample", "--prompt", "x", "--method", "ba-eta"], "ba-eta needs a value, which must lie in (0, 1)"),
        (["sample", "--prompt", "x", "--seed", "-1"], "seed must be an integer of at least 0; got -1"),
        (["next", "x", "--method", "minp=0.1"], "Did you mean 'min-p'?\n"),
    ],
)
def test_mistakes_are_found_without_torch(arguments: list[str], message: str) -> None:
    words = [str(CONFIGS / "smoke.yaml") if word == "SMOKE" else word for word in arguments]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words], capture_output=True, text=True, check=True
    )
    assert message in done.stderr
    assert done.stdout.split() == ["1", "False"]


def test_flags_are_shown_as_flags(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["run"], ["status"], ["query"], ["sample"], ["db", "check"], []):
        with pytest.raises(SystemExit):
            main([*command, "--help"])
        printed = capsys.readouterr().out.lower()
        assert "--" in printed
        assert "bool" not in printed
