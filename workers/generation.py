"""Text from prefixes: a batch of rows, one forward pass a step, `bat` choosing the tokens.

Prefixes of equal length need no padding, so a shard is grouped by length and each group cut into batches in
its order. A row that has ended leaves its batch. Batches depend on the shard and the settings alone, and
random numbers on a row's own address, so a shard run again gives the same bits, on the same hardware and
library versions with the same number of torch threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import torch

from bat.acceptance import check_fallback
from bat.arguments import require_integers
from bat.arrays import IdArray, SingleArray
from bat.errors import InvalidInputError
from bat.program import Efforts
from bat.random import Key, key_words, uniforms
from bat.rules import Rule, check_rule
from bat.sampling import Samples, draws_needed, sample
from bat.solvers import check_solver
from workers.encoding import decode_continuation
from workers.kv_cache import make_cache
from workers.models import LanguageModel
from workers.prompts import Opening, as_openings
from workers.traces import Trace


@dataclass(frozen=True, slots=True)
class GenerationSettings:
    """Everything a generation depends on beside the model and the prefix."""

    rule: Rule
    constraints: int = 20  # of the basis; plain rules do without
    max_tokens: int = 256
    max_tries: int = 10
    fallback: str = "greedy"
    solver: str = "certified"
    seed: int = 0
    run: str = ""  # with the seed, prefix and sample, the address of the random numbers
    sample: int = 0
    batch_size: int = 64

    def __post_init__(self) -> None:
        check_rule(self.rule)
        least = {"constraints": 0, "max_tokens": 1, "max_tries": 1, "seed": 0, "sample": 0, "batch_size": 1}
        require_integers(**{name: (getattr(self, name), value) for name, value in least.items()})
        check_fallback(self.fallback)
        check_solver(self.solver)


class StopReason(StrEnum):
    """Why a text ended where it did."""

    END = "end"  # the model wrote an end-of-text token, which is the last of the token ids
    LENGTH = "length"  # max_tokens
    CONTEXT = "context"  # the model's context is full


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """One continuation. The random numbers behind it are addressed by `key` and the step."""

    prefix_id: str
    key: Key
    text: str
    stop_reason: StopReason
    trace: Trace  # a row for each token
    solver_seconds: float

    @property
    def token_ids(self) -> IdArray:
        return self.trace.token_ids


def generate(
    language_model: LanguageModel,
    prefixes: Sequence[Opening | str],
    settings: GenerationSettings,
    *,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Generation]:
    """Continue every prefix, in the order given. A string is a prompt, named by the hash of its text.

    `progress` is called after every step with the number of tokens made so far. `threads` is for solving
    programs, and changes nothing but speed.
    """
    prefixes = as_openings(language_model.tokenizer, prefixes)
    _check_prefixes(language_model, prefixes)
    generations: dict[int, Generation] = {}
    made = 0
    for indices in batches([len(prefix.token_ids) for prefix in prefixes], settings.batch_size):
        batch = _Batch(language_model, [prefixes[index] for index in indices], settings, threads)
        for new in batch.run():
            made += new
            if progress is not None:
                progress(made)
        generations.update(zip(indices, batch.generations(), strict=True))
    return [generations[index] for index in range(len(prefixes))]


def batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Indices of equal lengths, `batch_size` at most together, lengths in order of first appearance."""
    by_length: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        by_length.setdefault(length, []).append(index)
    for indices in by_length.values():
        for start in range(0, len(indices), batch_size):
            yield indices[start : start + batch_size]


class _Batch:
    """Rows of equal length on their way. Columns of the record are [rows, steps]."""

    def __init__(
        self,
        language_model: LanguageModel,
        prefixes: Sequence[Opening],
        settings: GenerationSettings,
        threads: int | None,
    ) -> None:
        self.source, self.prefixes, self.settings, self.threads = language_model, prefixes, settings, threads
        length = len(prefixes[0].token_ids)
        room = language_model.info.context_length - length
        self.steps = min(settings.max_tokens, room)
        self.stop_at_room = StopReason.CONTEXT if room < settings.max_tokens else StopReason.LENGTH
        self.basis = language_model.basis(settings.constraints if settings.rule.basis_aware else 0)
        self.keys = [Key(settings.seed, settings.run, prefix.id, settings.sample) for prefix in prefixes]
        self.record = _Record(len(prefixes), self.steps)
        self.reasons = [self.stop_at_room] * len(prefixes)

    @torch.inference_mode()
    def run(self) -> Iterator[int]:
        """Make all tokens, yielding after each step how many it made."""
        model = self.source.model
        ends = np.array(self.source.info.end_tokens, dtype=np.int64)
        words = key_words(self.keys)
        inputs = torch.tensor([prefix.token_ids for prefix in self.prefixes], device=model.device)
        cache = make_cache(model, inputs.shape[1] + self.steps)
        active = np.arange(len(self.prefixes))  # which row of the record each row of the batch is
        for step in range(self.steps):
            logits = model(
                input_ids=inputs, past_key_values=cache, use_cache=True, logits_to_keep=1
            ).logits  # [active, 1, v]
            settings = self.settings
            samples = sample(
                self.basis,
                logits[:, -1],
                settings.rule,
                uniforms(words[active], step, draws_needed(settings.max_tries)),
                max_tries=settings.max_tries,
                fallback=settings.fallback,
                solver=settings.solver,
                threads=self.threads,
            )
            self.record.add(active, step, samples)
            yield len(active)
            ended = np.isin(samples.tokens, ends)
            for row in active[ended]:
                self.reasons[row] = StopReason.END
            tokens = samples.tokens
            if ended.any():
                staying = _close_gaps(~ended)
                if staying.size == 0:
                    return
                active, tokens = active[staying], tokens[staying]
                cache.batch_select_indices(torch.from_numpy(staying))
            inputs = torch.from_numpy(tokens)[:, None].to(model.device)

    def generations(self) -> Iterator[Generation]:
        tokenizer = self.source.tokenizer
        for row, prefix in enumerate(self.prefixes):
            trace = self.record.trace(row)
            yield Generation(
                prefix_id=prefix.id,
                key=self.keys[row],
                text=decode_continuation(tokenizer, prefix.token_ids, trace.token_ids.tolist()),
                stop_reason=self.reasons[row],
                trace=trace,
                solver_seconds=float(self.record.seconds[row]),
            )


class _Record:
    """What happened so far, a row for each prefix and a column for each step."""

    def __init__(self, rows: int, steps: int) -> None:
        self.lengths = np.zeros(rows, np.int64)
        self.seconds = np.zeros(rows)
        self.refused: list[list[int]] = [[] for _ in range(rows)]
        shape = (rows, steps)
        self.token_ids: IdArray = np.zeros(shape, np.int32)
        self.probabilities: SingleArray = np.zeros(shape, np.float32)
        self.thresholds: SingleArray = np.zeros(shape, np.float32)
        self.acceptance: npt.NDArray[np.uint8] = np.zeros(shape, np.uint8)
        # refusals, undecided, programs, pivots, passes
        self.counts: IdArray = np.zeros((5, *shape), np.int32)

    def add(self, rows: npt.NDArray[np.int64], step: int, samples: Samples) -> None:
        self.token_ids[rows, step] = samples.tokens
        self.probabilities[rows, step] = samples.probs
        self.thresholds[rows, step] = samples.thresholds
        self.acceptance[rows, step] = samples.acceptance
        effort: Efforts = samples.effort
        counts = (samples.refusals, samples.undecided, samples.programs, effort.pivots, effort.passes)
        self.counts[:, rows, step] = np.stack(counts)
        self.seconds[rows] += effort.seconds
        self.lengths[rows] += 1
        for row, refused in zip(rows.tolist(), samples.refused, strict=True):
            self.refused[row].extend(refused)

    def trace(self, row: int) -> Trace:
        end = int(self.lengths[row])
        refusals, undecided, programs, pivots, passes = self.counts[:, row, :end].copy()
        return Trace(
            token_ids=self.token_ids[row, :end].copy(),
            probabilities=self.probabilities[row, :end].copy(),
            thresholds=self.thresholds[row, :end].copy(),
            acceptance=self.acceptance[row, :end].copy(),
            refusals=refusals,
            undecided=undecided,
            programs=programs,
            pivots=pivots,
            passes=passes,
            refused=np.array(self.refused[row], dtype=np.int32),
        )


def _close_gaps(staying: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The rows that stay, those from the end moved into the gaps: the cache then copies only these."""
    rows = np.arange(len(staying))
    count = int(staying.sum())
    kept = rows[:count].copy()
    kept[~staying[:count]] = rows[count:][staying[count:]]
    return kept


def _check_prefixes(language_model: LanguageModel, prefixes: Sequence[Opening]) -> None:
    info = language_model.info
    for prefix in prefixes:
        length = len(prefix.token_ids)
        if length == 0:
            raise InvalidInputError(
                f"a prefix must have at least one token; prefix {prefix.id!r} is empty. "
                "Start with the end-of-text token to let the model begin."
            )
        if length >= info.context_length:
            raise InvalidInputError(
                f"a prefix must leave room in the context of {info.name}, {info.context_length} tokens; "
                f"prefix {prefix.id!r} has {length}. Shorten it."
            )
        outside = [token for token in prefix.token_ids if not 0 <= token < info.vocabulary_size]
        if outside:
            raise InvalidInputError(
                f"token ids must lie in [0, {info.vocabulary_size}) for {info.name}; prefix {prefix.id!r} "
                f"has {outside[0]}. Check that the prefixes were made with this model's tokenizer."
            )
