"""bat-harness view as a command: what it prints, how it ends, and what it refuses."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.harness import stores
from tests.harness.stores import run_command


@pytest.fixture
def address(tmp_path: Path) -> str:
    return stores.filled(tmp_path)


def test_it_serves_until_it_is_interrupted(address: str) -> None:
    program = "import sys; from harness.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", program, "view", "--db", address, "--host", "0.0.0.0", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        try:
            found = re.fullmatch(rf"{address} at (http://localhost:\d+/\?token=\S+)\n", first)
            assert found is not None, first
            assert "Traffic is not encrypted" in process.stdout.readline()
            visitor = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            assert b"demo" in visitor.open(found[1]).read()
            # A page that listens does not keep it from ending.
            live = visitor.open(found[1].replace("/?", "/events?"))
        except Exception:
            process.kill()
            raise
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        live.close()
    assert (process.returncode, errors) == (0, "")


def test_what_it_refuses(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "there is no database at" in run_command(capsys, "view", "--db", str(tmp_path / "none.db"), code=1)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = run_command(capsys, "view", "--db", address, "--port", port, code=1)
    assert "the port must be free; another program listens on 127.0.0.1, port" in said
    said = run_command(capsys, "view", "--db", address, "--host", "192.0.2.1", "--port", "0", code=1)
    assert "the address must be one of this machine" in said
