"""Who holds leases: a name for each driver, by which others on the same machine can tell that it is gone."""

from __future__ import annotations

import os
import secrets
import socket


def new_owner() -> str:
    """A name for this process that no other has: machine, process and a random number."""
    return f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"


def is_dead(owner: str) -> bool:
    """Whether the process of that name has certainly ended: it was on this machine, and is not there now.

    Of other machines nothing is known, and a process that took the number of one that ended is not told
    from it: their leases run out in their own time.
    """
    host, _, rest = owner.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname() or not rest.isdecimal():
        return False
    try:
        os.kill(int(rest), 0)  # sends nothing
    except ProcessLookupError:
        return True
    except OSError:
        return False  # it is there, and not ours to signal
    return False


def is_gone(owner: str, address: str) -> bool:
    """Whether a driver on the database at this address is certainly dead: on SQLite, it was on this machine.

    Elsewhere two machines may have one name.
    """
    return address.startswith("sqlite") and is_dead(owner)
