"""Finding prefixes by what was written after them.

Words are searched in the database. How tokens were accepted is only in the traces, so a search for that reads
the texts of a few prefixes at a time, until it has found enough or the time is over. It then says where to
continue.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from harness.api.queries import check_known
from harness.api.texts import PrefixTexts, TextGroup, WrittenText, read_prefixes
from harness.store import Reader, Run
from harness.words import counted

_AT_A_TIME = 32  # prefixes whose texts are read together
_MOST_CANDIDATES = 2_000  # prefixes with the words, of one search
_AROUND = 60  # letters of a text that are shown on either side of what was found

# Over the texts of the settings, from the jobs that wrote them: this reads each text once.
_WITH_WORDS = """
SELECT item FROM (
    SELECT prefixes.item
    FROM prefix_sets JOIN prefixes ON prefixes.prefix_set_key = prefix_sets.key
    WHERE prefix_sets.id = :prefix_set
      AND (lower(prefixes.text) LIKE :pattern ESCAPE '!'
           OR lower(prefixes.continuation) LIKE :pattern ESCAPE '!')
    UNION
    SELECT prefixes.item
    FROM instances
    JOIN instance_jobs ON instance_jobs.instance_id = instances.id
    JOIN generations ON generations.job_key = instance_jobs.job_key
    JOIN prefixes ON prefixes.prefix_set_key = generations.prefix_set_key
                 AND prefixes.id = generations.prefix_id
    WHERE instances.run_id = :run AND instances.stage = :stage AND instances.model = :model
      AND (instances.seed IS NULL OR instances.seed = CAST(:seed AS bigint))
      AND lower(generations.text) LIKE :pattern ESCAPE '!'
) AS found
WHERE item {comparison} :start ORDER BY item {order} LIMIT :count
"""


@dataclass(frozen=True, slots=True)
class TextFilter:
    """What is looked for. Empty fields look for nothing; all others must be met."""

    words: str = ""  # in a text; in the prefix and the human text, too, unless a setting is given
    setting: str = ""  # only its texts count
    having: str = ""  # one of HAVING
    first: str = ""  # two settings that part
    second: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.setting or self.having or (self.first and self.second))


# What a text can have: the words for it, and how often it has that.
HAVING: Mapping[str, tuple[str, Callable[[WrittenText], int]]] = {
    "fallbacks": ("fallback", lambda text: text.fallbacks),
    "certified": ("token accepted with a certificate", lambda text: text.certified),
    "loops": ("loop at the end", lambda text: int(text.loops)),
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a prefix was found: in whose text, and what."""

    whose: str
    words: str = ""
    excerpt: tuple[str, str, str] = ("", "", "")  # before it, what was found, after it


@dataclass(frozen=True, slots=True)
class FoundPrefix:
    """A prefix with its texts, and why it was found."""

    texts: PrefixTexts
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Some prefixes, and where to continue; None at the end of the set."""

    prefixes: tuple[FoundPrefix, ...]
    next_item: int | None


def find_prefixes(
    reader: Reader,
    run: Run,
    group: TextGroup,
    seed: int | None,
    wanted: TextFilter,
    start: int,
    count: int,
    *,
    backwards: bool = False,
    seconds: float = 0.15,
) -> Found:
    """Up to `count` prefixes from a position on; fewer if the seconds are over before as many are found."""
    for name in (wanted.setting, wanted.first, wanted.second):
        if name:
            check_known("the setting", [name], group.settings)
    if wanted.having:
        check_known("what texts are searched for", [wanted.having], HAVING)
    deadline = time.monotonic() + seconds
    candidates = iter(_candidates(reader, run, group, seed, wanted, start, backwards=backwards))
    found: list[FoundPrefix] = []
    while batch := list(islice(candidates, count if wanted.is_empty else _AT_A_TIME)):
        for texts in sorted(
            read_prefixes(reader, run, group, seed, batch), key=lambda each: each.item, reverse=backwards
        ):
            reasons = _reasons(texts, wanted)
            if reasons is None:
                continue
            if len(found) == count:
                return Found(tuple(found), texts.item)
            found.append(FoundPrefix(texts, reasons))
        if time.monotonic() > deadline:
            following = next(candidates, None)
            return Found(tuple(found), following)
    return Found(tuple(found), None)


def _candidates(
    reader: Reader,
    run: Run,
    group: TextGroup,
    seed: int | None,
    wanted: TextFilter,
    start: int,
    *,
    backwards: bool,
) -> Iterable[int]:
    """Positions of prefixes in the order in which they are looked at."""
    if not wanted.words:
        count = reader.prefix_set(group.prefix_set).prefixes
        return range(min(start, count - 1), -1, -1) if backwards else range(start, count)
    statement = _WITH_WORDS.format(
        comparison="<=" if backwards else ">=", order="DESC" if backwards else "ASC"
    )
    parameters = {
        **{"prefix_set": group.prefix_set, "run": run.id, "stage": group.stage, "model": group.model},
        **{"seed": seed, "pattern": _pattern(wanted.words), "start": start, "count": _MOST_CANDIDATES},
    }
    with reader.query(statement, parameters) as answer:
        return [item for (item,) in answer.rows]


def _pattern(words: str) -> str:
    """What LIKE finds at least all of: SQLite knows capitals of ASCII only, so other letters match any."""
    letters = (f"!{letter}" if letter in "!%_" else letter for letter in words.lower())
    return f"%{''.join(letter if letter.isascii() else '_' for letter in letters)}%"


def _reasons(prefix: PrefixTexts, wanted: TextFilter) -> tuple[Reason, ...] | None:
    """Why a prefix is one that is looked for; None if it is not."""
    texts = [text for text in prefix.texts if wanted.setting in ("", text.setting)]
    if wanted.setting and not texts:
        return None
    found: list[list[Reason]] = []
    if wanted.words:
        found.append(list(_with_words(prefix, texts, wanted)))
    if wanted.having:
        found.append(list(_having(texts, wanted.having)))
    if wanted.first and wanted.second:
        found.append(list(_parting(prefix, wanted)))
    return tuple(reason for reasons in found for reason in reasons) if all(found) else None


def _with_words(prefix: PrefixTexts, texts: Iterable[WrittenText], wanted: TextFilter) -> Iterator[Reason]:
    read = [(text.setting, text.text) for text in texts]
    if not wanted.setting:
        read = [("prefix", prefix.prefix.text), ("human", prefix.prefix.continuation), *read]
    for whose, text in read:
        at = text.lower().find(wanted.words.lower())
        if at >= 0:
            yield Reason(whose, excerpt=_excerpt(text, at, at + len(wanted.words)))


def _having(texts: Iterable[WrittenText], having: str) -> Iterator[Reason]:
    noun, count_of = HAVING[having]
    for text in texts:
        if not text.is_imported and (number := count_of(text)):
            yield Reason(text.setting, counted(number, noun))


def _parting(prefix: PrefixTexts, wanted: TextFilter) -> Iterator[Reason]:
    shared = prefix.shared_tokens(wanted.first, wanted.second)
    if shared is None:
        return
    by_setting = {text.setting: text for text in reversed(prefix.texts)}
    sides = [by_setting[wanted.first], by_setting[wanted.second]]
    if all(len(side.trace) == shared for side in sides):
        return  # the same text
    pairs = enumerate(zip(*(side.text for side in sides), strict=False))
    shortest = min(len(side.text) for side in sides)
    at = next((number for number, (one, other) in pairs if one != other), shortest)
    for side in sides:
        yield Reason(side.setting, f"after {counted(shared, 'token')}", _excerpt(side.text, at, at))


def _excerpt(text: str, start: int, end: int) -> tuple[str, str, str]:
    first, last = max(0, start - _AROUND), min(len(text), end + _AROUND)
    before, after = text[first:start], text[end:last]
    return (f"…{before}" if first else before), text[start:end], (f"{after}…" if last < len(text) else after)
