"""One pass of a model over human text, from which every rule's rejection rate at every parameter follows.

The model reads each document once, with the tokens people wrote. While it reads the next documents, threads
look at the distributions it left: a few facts of each, and one program for each number of constraints.
Nothing but time depends on how many threads there are: documents are read in batches that the input alone
determines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import numpy as np
import numpy.typing as npt

from bat.arrays import SingleArray
from bat.basis import Basis
from bat.rules import Summary, TokenFacts
from bat.rules.facts import EXTRA_FACTS
from bat.threads import usable_threads
from bat.thresholds import critical_thresholds
from bat.validation import as_tokens, softmax
from workers.measurement_record import Measurement, Thresholds, concatenate
from workers.models import LanguageModel
from workers.positions import Positions, TokenizedDocument, draw_positions
from workers.reading import DOCUMENTS_PER_BATCH, TokensRead, read
from workers.time_use import Clock

# Distributions that one thread looks at together: few, so that all threads have work and caches suffice.
_ROWS_PER_TASK = 4
# Tasks that may wait for each thread before the model reads on: enough to keep it busy, not to fill memory.
_TASKS_PER_THREAD = 8


def measure(
    language_model: LanguageModel,
    documents: Sequence[TokenizedDocument],
    *,
    positions: Positions | None = None,
    constraints: Sequence[int] = (20,),
    tolerance: float = 1e-6,
    extra_facts: Sequence[str] = EXTRA_FACTS,
    batch_size: int = DOCUMENTS_PER_BATCH,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    clock: Clock | None = None,
) -> Measurement:
    """Measure the documents' tokens at ``positions`` (by default 10,000 that ``draw_positions`` draws).

    Rows come in the order of the documents, then of the positions. Documents without positions are passed
    over, and so are positions of other documents: shards may share one draw. Critical thresholds are closed
    to ``tolerance`` for each of the ``constraints``; without any, only plain rules can be asked about
    afterwards. ``extra_facts`` are what some rules ask beside the usual (``Rule.extra_facts``). There is no
    temperature: with the order ``last``, rejection does not depend on it. ``progress`` is told how many
    positions are done; ``clock`` adds up what the time is spent on.
    """
    clock = clock or Clock()
    drawn = draw_positions(documents) if positions is None else positions
    reading = read(language_model, documents, drawn, batch_size)
    workers = usable_threads(threads)
    bases = {size: language_model.basis(size) for size in sorted(set(constraints))}
    look = partial(measure_rows, bases=bases, tolerance=tolerance, extra_facts=extra_facts)
    looking = ThreadPoolExecutor(workers)
    try:
        parts: list[Measurement] = []
        done = 0
        for finished in _pipeline(_timed(reading, clock), look, looking, workers, clock):
            parts.append(finished)
            done += len(finished)
            if progress is not None:
                progress(done)
    finally:
        looking.shutdown(cancel_futures=True)
    if not parts:
        return look([], [], [], np.empty((0, language_model.info.vocabulary_size), np.float32))
    return _in_order(concatenate(parts), [document.id for document in documents])


def measure_rows(
    documents: Sequence[str],
    positions: npt.ArrayLike,
    tokens: npt.ArrayLike,
    logits: SingleArray,
    bases: Mapping[int, Basis],
    tolerance: float = 1e-6,
    extra_facts: Sequence[str] = EXTRA_FACTS,
) -> Measurement:
    """Measure tokens given the logits before each of them, [n, v], in one thread."""
    probs = softmax(logits)
    chosen = as_tokens(np.asarray(tokens, dtype=np.int64), *probs.shape)
    own = np.take_along_axis(probs, chosen[:, None], axis=1)[:, 0]
    summary = Summary(probs)
    facts = TokenFacts.of(summary, own, extra=extra_facts)
    thresholds = {}
    for size, basis in bases.items():
        found = critical_thresholds(basis, probs, chosen, tolerance=tolerance, threads=1)
        lower, upper = (
            TokenFacts.of(summary, bound, own, extra_facts) for bound in (found.lower, found.upper)
        )
        thresholds[size] = Thresholds(
            lower=found.lower,
            upper=found.upper,
            lower_rank=lower.ranks,
            upper_rank=upper.ranks,
            lower_mass=lower.masses,
            upper_mass=upper.masses,
            status=np.array([status.value for status in found.status], dtype=np.str_),
            pivots=found.effort.pivots,
            passes=found.effort.passes,
            seconds=found.effort.seconds,
            lower_entropy_share=lower.extra.get("entropy_share"),
            upper_entropy_share=upper.extra.get("entropy_share"),
        )
    return Measurement(
        document=np.array(documents, dtype=np.str_),
        position=np.asarray(positions, dtype=np.int64),
        token=chosen,
        probability=own,
        entropy=facts.entropy,
        maximum=facts.maximum,
        rank=facts.ranks,
        mass_above=facts.masses,
        mass_nearer=np.asarray(facts.masses_nearer),
        deviation=facts.extra.get("deviation"),
        collision=facts.extra.get("collision"),
        entropy_share=facts.extra.get("entropy_share"),
        thresholds=thresholds,
    )


def _pipeline(
    reading: Iterator[TokensRead],
    look: Callable[..., Measurement],
    looking: ThreadPoolExecutor,
    workers: int,
    clock: Clock,
) -> Iterator[Measurement]:
    """Read batch after batch while threads look at those read before; yields what they found, in turn."""

    def timed_look(read: TokensRead) -> Measurement:
        with clock.timed("settle"):
            return look(*read)

    waiting: deque[Future[Measurement]] = deque()
    for batch in reading:
        for first in range(0, len(batch.documents), _ROWS_PER_TASK):
            rows = slice(first, first + _ROWS_PER_TASK)
            task = TokensRead(
                batch.documents[rows], batch.positions[rows], batch.tokens[rows], batch.logits[rows]
            )
            waiting.append(looking.submit(timed_look, task))
        while len(waiting) > _TASKS_PER_THREAD * workers:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _timed(reading: Iterator[TokensRead], clock: Clock) -> Iterator[TokensRead]:
    """The same batches; the time until each is there counts as the model's."""
    while True:
        with clock.timed("forward"):
            batch = next(reading, None)
        if batch is None:
            return
        yield batch


def _in_order(measurement: Measurement, names: Sequence[str]) -> Measurement:
    """Put the rows in the order of the documents given, then of positions."""
    index_of = {name: index for index, name in enumerate(names)}
    documents = np.array([index_of[name] for name in measurement.document.tolist()])
    return measurement.select(np.lexsort((measurement.position, documents)))
