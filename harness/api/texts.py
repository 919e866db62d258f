"""Texts of a run, a few prefixes at a time: the same prefix continued by each setting and by a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bat.acceptance import Acceptance
from bat.errors import InvalidInputError
from harness.config import from_identity
from harness.config.expansion import IMPORTED
from harness.jobs import PrefixEntry, is_commit
from harness.report.formats.samples import Piece
from harness.report.names import setting_name
from harness.report.pieces import Pieces
from harness.report.tokenizers import token_texts
from harness.scoring.statistics.repetition import ends_in_loop
from harness.store import Instance, InstanceKind, Reader, Run
from workers.traces import Trace, decode_trace

# Joined in this order: from a few prefixes to their texts, and not from all texts of the run.
_TEXTS = """
SELECT prefixes.item, instances.method, instances.rule, instances.parameter, instances.constraints,
       instances.temperature, instances.temperature_order,
       jobs.id, generations.text, generations.stop_reason, generations.token_count, token_traces.trace
FROM prefix_sets
CROSS JOIN prefixes
CROSS JOIN generations
CROSS JOIN instance_jobs
CROSS JOIN instances
CROSS JOIN jobs
CROSS JOIN token_traces
WHERE prefix_sets.id = :prefix_set AND prefixes.prefix_set_key = prefix_sets.key
  AND prefixes.item IN ({items})
  AND generations.prefix_set_key = prefix_sets.key AND generations.prefix_id = prefixes.id
  AND instance_jobs.job_key = generations.job_key AND instances.id = instance_jobs.instance_id
  AND jobs.key = generations.job_key
  AND token_traces.job_key = generations.job_key AND token_traces.item = generations.item
  AND instances.run_id = :run AND instances.stage = :stage AND instances.model = :model
  AND (instances.seed IS NULL OR instances.seed = CAST(:seed AS bigint))
ORDER BY prefixes.item, instances.position, jobs.key
"""


@dataclass(frozen=True, slots=True)
class TextGroup:
    """Texts to be read side by side: continuations of the same prefixes by one model, in one stage."""

    stage: str
    model: str  # its title in the sweep
    split: str
    prefix_set: str
    settings: tuple[str, ...]
    seeds: tuple[int, ...]  # none if all texts are imported


@dataclass(frozen=True)
class WrittenText:
    """The continuation of a prefix by a setting."""

    setting: str
    is_imported: bool
    job: str
    text: str
    stop_reason: str
    token_count: int
    encoded_trace: bytes

    @cached_property
    def trace(self) -> Trace:
        """What happened at each of its tokens."""
        return decode_trace(self.encoded_trace)

    @property
    def loops(self) -> bool:
        """Whether it ends in a loop, as the statistic `looping` counts them."""
        ids = self.trace.token_ids.astype(np.int64)
        return ends_in_loop(ids[:-1] if self.stop_reason == "end" else ids)

    @property
    def fallbacks(self) -> int:
        """How many of its tokens are fallbacks, after every candidate was rejected."""
        ways = (Acceptance.GREEDY_FALLBACK, Acceptance.EXACT_FALLBACK)
        return int(np.isin(self.trace.acceptance, ways).sum())

    @property
    def certified(self) -> int:
        """How many of its tokens are below the threshold and were accepted with a certificate."""
        return int((self.trace.acceptance == Acceptance.CERTIFIED).sum())


@dataclass(frozen=True, slots=True)
class PrefixTexts:
    """A prefix, how the person continued it, and how each setting does."""

    item: int  # its position in the set, from 0
    prefix: PrefixEntry
    texts: tuple[WrittenText, ...]

    def shared_tokens(self, first: str, second: str) -> int | None:
        """How many tokens two settings have in common before they part; None if one has no text."""
        by_setting = {text.setting: text for text in reversed(self.texts)}
        if first not in by_setting or second not in by_setting:
            return None
        return shared_beginning(by_setting[first].trace, by_setting[second].trace)


def shared_beginning(first: Trace, second: Trace) -> int:
    """How many tokens two texts have in common before they part."""
    length = min(len(first), len(second))
    differing = np.flatnonzero(first.token_ids[:length] != second.token_ids[:length])
    return int(differing[0]) if differing.size else length


def text_groups(reader: Reader, run: Run) -> list[TextGroup]:
    """The groups of texts that a run has or will have, those on test text first."""
    groups: dict[tuple[str, str, str], TextGroup] = {}
    for instance in reader.instances(run.id, with_jobs=False):
        if instance.kind is not InstanceKind.GENERATE or instance.prefix_set is None:
            continue
        key = (instance.stage, instance.model, instance.prefix_set)
        group = groups.get(key)
        if group is None:
            group = TextGroup(instance.stage, instance.model, instance.split, instance.prefix_set, (), ())
        seeds = [] if instance.seed is None else [instance.seed]
        groups[key] = replace(
            group,
            settings=tuple(dict.fromkeys((*group.settings, _setting_of(instance)))),
            seeds=tuple(dict.fromkeys((*group.seeds, *seeds))),
        )
    return sorted(groups.values(), key=lambda group: group.split != "test")


def _setting_of(instance: Instance) -> str:
    parts = (instance.rule, instance.parameter, instance.constraints)
    return setting_name(instance.method or "", *parts, instance.temperature, instance.temperature_order)


def read_prefixes(
    reader: Reader, run: Run, group: TextGroup, seed: int | None, items: Sequence[int]
) -> list[PrefixTexts]:
    """Prefixes by their positions in the set, with the texts that are written so far."""
    if not items:
        return []
    entries = _prefixes_at(reader, group.prefix_set, items)
    texts: dict[int, list[WrittenText]] = {}
    parameters = {"prefix_set": group.prefix_set, "run": run.id, "stage": group.stage, "model": group.model}
    statement = _TEXTS.replace("{items}", ", ".join(map(str, entries)) or "NULL")
    with reader.query(statement, {**parameters, "seed": seed}) as answer:
        for item, *setting, job, text, stop, count, trace in answer.rows:
            name, is_imported = setting_name(*setting), setting[1] == IMPORTED
            written = WrittenText(name, is_imported, job, text, stop, count, bytes(trace))
            texts.setdefault(item, []).append(written)
    return [PrefixTexts(item, entry, tuple(texts.get(item, ()))) for item, entry in entries.items()]


def _prefixes_at(reader: Reader, prefix_set: str, items: Sequence[int]) -> dict[int, PrefixEntry]:
    """Prefixes by their positions; those far apart are read one by one."""
    first, last = min(items), max(items)
    if last - first < 4 * len(items):
        entries = dict(enumerate(reader.prefixes(prefix_set, first, last + 1), first))
        return {item: entries[item] for item in items if item in entries}
    return {item: entry for item in items for entry in reader.prefixes(prefix_set, item, item + 1)}


def token_pieces(
    reader: Reader, run: Run, group: TextGroup, prefix: PrefixTexts
) -> list[tuple[Piece, ...] | None]:
    """For each text of a prefix, its tokens and how they were accepted; None for imported texts.

    Raises if the tokenizer of the model cannot be loaded.
    """
    own = [text for text in prefix.texts if not text.is_imported]
    if not own:
        return [None for _ in prefix.texts]
    identity = reader.parsed_jobs([own[0].job])[own[0].job].model_identity
    revision = identity.revision if identity is not None and is_commit(identity.revision or "") else None
    model = from_identity(run.config).get_model(group.model).name
    pieces = Pieces(model, lambda name, context, tokens: token_texts(name, context, tokens, revision))
    return [
        None if text.is_imported else pieces.of(prefix.prefix.token_ids, text.trace) for text in prefix.texts
    ]


def check_item(reader: Reader, group: TextGroup, item: int) -> int:
    """The number of prefixes; raises if the set has none at that position."""
    count = reader.prefix_set(group.prefix_set).prefixes
    if not 0 <= item < count:
        raise InvalidInputError(f"the prefix must be one of 1 to {count:,}; got {item + 1:,}.")
    return count
