"""How the program is called, for commands that are printed to be copied."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

_NAME = "bat-harness"


def program() -> str:
    """The program's name where the shell would find it, else its path as it was called."""
    called = Path(sys.argv[0])
    if called.name != _NAME or shutil.which(_NAME):
        return _NAME
    relative = os.path.relpath(called)
    return str(called) if relative.startswith("..") else relative
