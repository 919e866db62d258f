"""What `bat-harness view` was started with."""

from __future__ import annotations

import ipaddress
import secrets
import socket
from dataclasses import dataclass, field
from functools import cached_property

from harness.store.addresses import parse_address, shown

LOOPBACK_NAME = "localhost"


@dataclass(frozen=True)
class ViewSettings:
    """The database, the address to listen on, and what visitors may do."""

    db: str
    host: str = "127.0.0.1"
    port: int = 8700
    model: str | None = None  # for pages that run a model; None for the default
    allow_changes: bool = False  # whether failed jobs can be retried from a page
    always_token: bool = False  # on a loopback address, too
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    # A form of ours carries it, which no page of another origin can read.
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    @property
    def needs_token(self) -> bool:
        return self.always_token or not self.is_local

    @cached_property
    def shown_db(self) -> str:
        """The address of the database, without its password."""
        return shown(parse_address(self.db))

    @property
    def cookie(self) -> str:
        """Cookies of one machine are shared by all its ports."""
        return f"bat-harness-view-{self.port}"

    @cached_property
    def host_names(self) -> frozenset[str]:
        """The names that this server is reached by, besides addresses in digits."""
        names = {LOOPBACK_NAME, self.host.lower()}
        if not self.is_local:
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        return frozenset(names)

    def address(self, path: str = "/") -> str:
        """What to open in a browser."""
        host = LOOPBACK_NAME if _is_any(self.host) else self.host
        host = f"[{host}]" if ":" in host else host
        token = f"?token={self.token}" if self.needs_token else ""
        return f"http://{host}:{self.port}{path}{token}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    address = parse_ip(host)
    return host.lower() == LOOPBACK_NAME if address is None else address.is_loopback


def parse_ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address in digits; None for a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def _is_any(host: str) -> bool:
    address = parse_ip(host)
    return address is not None and address.is_unspecified
