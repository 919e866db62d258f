"""What `bat-harness judge serve` was started with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from bat.errors import InvalidInputError
from harness.view.settings import ViewSettings

# Reading two texts takes a minute or two; a judge who makes coffee comes back in time.
LEASE_SECONDS = 30 * 60.0
_PROLIFIC = "https://app.prolific.com/submissions/complete?cc="


@dataclass(frozen=True)
class JudgeSettings(ViewSettings):
    """The study, and how judges reach it. Their links are the only secrets, so there is no other token."""

    port: int = 8710
    study: str = ""  # its name
    public_url: str | None = None  # what judges open, if a proxy stands before this server
    is_open: bool = False  # whether the link with a platform's parameters is answered
    completion_code: str | None = None
    lease_seconds: float = LEASE_SECONDS

    def __post_init__(self) -> None:
        if self.public_url is not None:
            parts = urlsplit(self.public_url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise InvalidInputError(
                    f"the public address must begin with https:// and a name; got {self.public_url!r}. Use "
                    "one such as https://study.example.org."
                )

    @property
    def needs_token(self) -> bool:
        return False

    @cached_property
    def host_names(self) -> frozenset[str]:
        """The names that this server is reached by, with that of the proxy before it."""
        names = super().host_names
        public = urlsplit(self.public_url).hostname if self.public_url else None
        return names | {public.lower()} if public else names

    @property
    def completion_link(self) -> str | None:
        """Where a judge of Prolific says that the study is complete."""
        return f"{_PROLIFIC}{self.completion_code}" if self.completion_code else None

    def link(self, path: str) -> str:
        """What judges open."""
        return f"{self.public_url.rstrip('/')}{path}" if self.public_url else self.address(path)
