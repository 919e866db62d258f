"""Texts that ship inside packages of the Python index, for when no hub can be reached.

The packages are not imported, only their data files are read (see `workers.assets`).
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workers.assets import MOVIE_REVIEWS, NEWS_ARTICLES, EmbeddedAsset

# A question mark where a quote or a dash was lost, and characters that could not be decoded. Each alternative
# begins with a character that is rare: searching takes a fifth of the time.
_LOST_QUOTES = re.compile(r'\?(?:(?<=["\s]\?)|(?<=\w\?)(?=\w))|\ufffd')

_LINE_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_OTHER_MARKUP = re.compile(r"</?(?:i|b|em|strong)>|<hr\s*/?>", re.IGNORECASE)

# The reviews were Windows-1252 and were read as Latin-1, so that dashes and quotes became control characters.
_WINDOWS_CHARACTERS = {code: bytes([code]).decode("cp1252", "ignore") for code in range(0x80, 0xA0)}


@dataclass(frozen=True, slots=True)
class EmbeddedText:
    """The texts of an embedded asset, which `read` takes from its file."""

    asset: EmbeddedAsset
    read: Callable[[Path], Iterator[str]]
    broken: re.Pattern[str] | None = None
    streamed: bool = False

    @property
    def revision(self) -> str:
        """The version of the package that holds the texts."""
        return self.asset.requirement

    def texts(self) -> Iterator[str]:
        """Read the texts afresh."""
        return self.read(self.asset.get())

    def is_broken(self, text: str) -> bool:
        """Whether a text has lost characters, so that a model's surprise would be at the damage."""
        return self.broken is not None and self.broken.search(text) is not None


def read_news_articles(archive: Path) -> Iterator[str]:
    """Yield the articles of the archive, whole and broken alike; about a third have lost their quotes."""
    with zipfile.ZipFile(archive) as opened:
        [name] = opened.namelist()
        with io.TextIOWrapper(opened.open(name), encoding="utf-8", newline="") as table:
            for row in csv.DictReader(table):
                yield row["text"]


def read_movie_reviews(table: Path) -> Iterator[str]:
    """Yield the full reviews of the table, as plain text.

    The table also holds single sentences from another site, in lower case and with spaces before the commas;
    they are not what people wrote, and are left out.
    """
    with table.open(encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            if row["source"] == "imdb":
                yield plain_review(row["text"])


def plain_review(text: str) -> str:
    """Return a review without markup, its line breaks as new lines and its Windows characters restored."""
    if "<" in text:
        lines = "\n".join(line.strip() for line in _LINE_BREAK.split(text))
        text = _OTHER_MARKUP.sub("", re.sub(r"\n{3,}", "\n\n", lines))
    return text if text.isascii() else text.translate(_WINDOWS_CHARACTERS)


EMBEDDED = {
    "news": EmbeddedText(NEWS_ARTICLES, read_news_articles, broken=_LOST_QUOTES),
    "movie-reviews": EmbeddedText(MOVIE_REVIEWS, read_movie_reviews),
}
