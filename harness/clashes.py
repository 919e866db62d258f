"""Somebody's own module in the place of one of our packages: `workers.py` in a folder on PYTHONPATH.

Only the standard library is imported here, since ours may be what is hidden. The function also travels to
workers, by value.
"""

from __future__ import annotations

import socket
import sys

PACKAGES = ("bat", "workers", "harness")
HIDES = "hides the package"


def find_clash(error: ImportError) -> str | None:
    """Name the file that hides one of our packages, if that is why an import failed."""
    package = (error.name or "").partition(".")[0]
    file = getattr(sys.modules.get(package), "__file__", None)
    if package not in PACKAGES or file is None:
        return None
    return (
        f"{file} on {socket.gethostname()} {HIDES} {package} of bat-harness: {error}. Rename it, or take its "
        "folder off PYTHONPATH."
    )
