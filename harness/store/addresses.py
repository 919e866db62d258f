"""Addresses of databases, checked before anything is opened."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from bat.errors import InvalidInputError
from harness.store.errors import NoStoreError, StoreUnavailableError

EXAMPLES = "Use sqlite:///results.db or postgresql://user@host/database."

# A URL, or the path of an SQLite file alone.
Address = str | os.PathLike[str]

# Users set it to 1 when only one machine opens the file.
ALLOW_NETWORK_FOLDER = "BAT_HARNESS_ALLOW_NETWORK_DB"

# File systems on which SQLite's locks and shared memory are unreliable. /mnt/c of WSL is 9p.
_NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "beegfs", "gpfs"}
)

# Less counts as full: the log alone grows to some megabytes before it is merged back.
_LEAST_FREE_BYTES = 32 * 2**20


def parse_address(address: Address) -> URL:
    """The URL of a database, with its driver; what is not a URL is the path of an SQLite file."""
    address = os.fspath(address)
    try:
        url = make_url(address if "://" in address else f"sqlite:///{address}")
    except (ArgumentError, ValueError):  # for example, a port that is not a number
        raise InvalidInputError(f"the database must be a URL; got {address!r}. {EXAMPLES}") from None
    backend, _, driver = url.drivername.partition("+")
    if backend in ("postgresql", "postgres") and driver in ("", "psycopg"):
        return url.set(drivername="postgresql+psycopg")
    if backend == "sqlite" and driver in ("", "pysqlite"):
        if url.database in (None, "", ":memory:") or (url.database or "").startswith("file:"):
            raise InvalidInputError(
                f"an SQLite database must be a file, so that others can read it; got {address!r}. {EXAMPLES}"
            )
        return url.set(drivername="sqlite+pysqlite")
    raise InvalidInputError(f"the database must be SQLite or PostgreSQL; got {url.drivername!r}. {EXAMPLES}")


def shown(url: URL) -> str:
    """The address to show to people: without the password and our choice of driver."""
    plain = url.set(drivername=url.get_backend_name())
    return plain.render_as_string(hide_password=True)


def file_of(url: URL) -> Path:
    """The file of an SQLite address."""
    return Path(url.database or "").absolute()


def check_file(url: URL, *, create: bool) -> None:
    """Raise when an SQLite file cannot be used, as far as the file system shows."""
    path = file_of(url)
    if path.is_dir():
        raise StoreUnavailableError(f"the database {path} must be a file; it is a folder. Name a file in it.")
    if not path.parent.is_dir():
        raise StoreUnavailableError(
            f"the folder {path.parent} of the database must exist; it does not. Create it, or choose another."
        )
    if not create and not path.exists():
        raise NoStoreError(
            f"there is no database at {path}. Start a sweep with --db {shown(url)}, or choose another one."
        )
    system = find_network_file_system(path.parent)
    if system is not None and os.environ.get(ALLOW_NETWORK_FOLDER) != "1":
        raise StoreUnavailableError(
            f"an SQLite database must be on a local disk, because its locks fail on network file systems; "
            f"{path.parent} is on {system}. Use a local folder or a PostgreSQL server, or set "
            f"{ALLOW_NETWORK_FOLDER}=1 if only this machine opens it."
        )


def check_free_space(url: URL) -> None:
    """Raise when the disk of an SQLite file is almost full."""
    path = file_of(url)
    free = shutil.disk_usage(path.parent).free
    if free < _LEAST_FREE_BYTES:
        raise StoreUnavailableError(
            f"the disk of {path} must have {_LEAST_FREE_BYTES >> 20} MB free; it has {free / 2**20:.1f} MB. "
            "Free some space, or put the database elsewhere with --db."
        )


def find_network_file_system(folder: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """The type of the network file system of a folder; None if it is local or cannot be determined."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:  # not Linux
        return None
    resolved = folder.resolve()
    closest = ""
    depth = -1
    for line in lines:
        _, point, system, *_ = line.split(" ")
        # Spaces and the like are written in octal.
        mount = Path(point.encode("utf-8", "surrogateescape").decode("unicode_escape"))
        # The last of several mounts on one folder hides the others.
        if resolved.is_relative_to(mount) and len(mount.parts) >= depth:
            closest, depth = system, len(mount.parts)
    is_network = closest in _NETWORK_FILE_SYSTEMS or closest.startswith("fuse.")
    return closest if is_network else None
