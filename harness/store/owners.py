"""Names of drivers, by which others on the same machine can tell that a driver is gone."""

from __future__ import annotations

import os
import secrets
import socket


def new_owner() -> str:
    """A unique name for this process: machine, process id and a random number."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def is_dead(owner: str) -> bool:
    """Whether the process of that name has certainly ended: it ran on this machine, and does not any more.

    Processes on other machines cannot be checked, and a process id that is in use again counts as alive:
    their leases expire in time.
    """
    host, _, process_id = owner.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not process_id.isdecimal():
        return False
    try:
        os.kill(int(process_id), 0)  # sends nothing
    except ProcessLookupError:
        return True
    except OSError:
        return False  # it exists, and belongs to someone else
    return False


def is_gone(owner: str, address: str) -> bool:
    """Whether a driver on the database at this address is certainly dead.

    Only known with SQLite, whose drivers are all on this machine; elsewhere two machines may share a name.
    """
    return address.startswith("sqlite") and is_dead(owner)
