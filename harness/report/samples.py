"""The continuations of the same prefixes by each method and by people, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bat.acceptance import Acceptance
from bat.errors import BatError, InvalidInputError
from harness.jobs import PrefixEntry, TextsJob
from harness.report.formats import samples as format_samples
from harness.report.formats.samples import Continuation, Opening, Piece
from harness.report.parts import Markup, Missing
from harness.report.results import Result, Results
from harness.report.tables.labels import distinct, labels
from harness.store import Reader, StoredJob
from harness.words import counted

if TYPE_CHECKING:  # brings in torch
    from workers.generation import Generation

# (name of a model, ids of the context, ids of tokens) -> the text that each token adds
Decode = Callable[[str, Sequence[int], Sequence[int]], list[str]]

_TITLE = "Texts side by side"
# A sweep over parameters has dozens of settings, too many to read side by side.
_METHODS_SHOWN = 12


def side_by_side(reader: Reader, results: Results, decode: Decode | None, count: int = 4) -> Markup | Missing:
    """Show `count` prefixes with their continuation by each method, for the first model and its first seed.

    One job per method is read: the prefixes are spread evenly over the first shard. Without `decode`, or if
    it raises a BatError, texts are shown without how their tokens were accepted.
    """
    if count < 1:
        raise InvalidInputError(f"the number of prefixes to show must be at least 1; got {count}.")
    chosen = _choose(results)
    if not chosen:
        return Missing(_TITLE, "No text is scored yet.", "bat-harness run configs/demo.yaml")
    shown = chosen[:_METHODS_SHOWN]
    jobs = _first_jobs(reader, shown)
    start, stop = _shared_range(jobs)
    prefixes = {
        index: reader.prefixes(shown[0].prefix_set, index, index + 1)[0]
        for index in _spread(start, stop, count)
    }
    pieces = _Pieces(shown[0].model_name, decode)
    titles = labels(shown)
    written = [_written(reader, job, prefixes.values()) for job in jobs]
    openings = [
        Opening(
            index=index,
            text=prefix.text,
            human=prefix.continuation,
            continuations=tuple(
                _continuation(title, result, texts[prefix.id], prefix, pieces)
                for title, result, texts in zip(titles, shown, written, strict=True)
            ),
        )
        for index, prefix in prefixes.items()
    ]
    notes = [_note(results, chosen, jobs[0], (start, stop)), *pieces.problems]
    return Markup(
        name="samples",
        title=_TITLE,
        html=format_samples.html(openings, notes),
        markdown=format_samples.markdown(openings, notes),
    )


def _choose(results: Results) -> list[Result]:
    """Methods of the first model for the same prefixes, each once; on test text if there is any."""
    candidates = [result for result in results.results if result.split == "test"] or list(results.results)
    if not candidates:
        return []
    first = candidates[0]
    return distinct(
        result
        for result in candidates
        if (result.model, result.prefix_set) == (first.model, first.prefix_set)
    )


def _first_jobs(reader: Reader, shown: Sequence[Result]) -> list[StoredJob]:
    """For each result, the job that wrote the first sample of the first prefixes with the first seed."""
    ids = [result.seeds[0].generate_jobs for result in shown]
    jobs = reader.find_jobs(job_id for job_ids in ids for job_id in job_ids)
    return [min((jobs[job_id] for job_id in job_ids), key=_sample_and_start) for job_ids in ids]


def _sample_and_start(job: StoredJob) -> tuple[int, int]:
    spec = _texts_spec(job)
    _, sample = spec.draw or (0, 0)
    return sample, spec.prefixes.start


def _texts_spec(job: StoredJob) -> TextsJob:
    spec = job.parse()
    assert isinstance(spec, TextsJob)
    return spec


def _shared_range(jobs: Sequence[StoredJob]) -> tuple[int, int]:
    """The range of prefixes that all jobs share; shards of different runs may differ in size."""
    ranges = [_texts_spec(job).prefixes for job in jobs]
    return max(shard.start for shard in ranges), min(shard.stop for shard in ranges)


def _spread(start: int, stop: int, count: int) -> list[int]:
    """At most `count` indices of a range, evenly spaced from its start."""
    size = stop - start
    taken = min(count, size)
    return [start + number * size // taken for number in range(taken)]


def _written(reader: Reader, job: StoredJob, prefixes: Iterable[PrefixEntry]) -> dict[str, Generation]:
    prefix_ids = {prefix.id for prefix in prefixes}
    return {
        generation.prefix_id: generation
        for _, generation in reader.generations([job.id])
        if generation.prefix_id in prefix_ids
    }


def _continuation(
    title: str, result: Result, generation: Generation, prefix: PrefixEntry, pieces: _Pieces
) -> Continuation:
    length = counted(len(generation.trace), "token")
    ended = ", ended by the model" if generation.stop_reason == "end" else ""
    # How the tokens of imported texts were accepted is not known.
    parts = None if result.is_imported else pieces.of(prefix, generation)
    return Continuation(title, f"{length}{ended}", generation.text, parts)


@dataclass
class _Pieces:
    """Splits texts into tokens, until the tokenizer turns out to be unavailable."""

    model_name: str
    decode: Decode | None
    problems: list[str] = field(default_factory=list)
    _names: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.decode is None:
            self.problems.append("How tokens were accepted is not shown: no tokenizer was given.")

    def of(self, prefix: PrefixEntry, generation: Generation) -> tuple[Piece, ...] | None:
        if self.decode is None:
            return None
        try:
            return self._split(self.decode, prefix, generation)
        except BatError as error:
            self.decode = None
            self.problems.append(f"How tokens were accepted is not shown for the remaining texts: {error}")
            return None

    def _split(self, decode: Decode, prefix: PrefixEntry, generation: Generation) -> tuple[Piece, ...]:
        trace = generation.trace
        texts = decode(self.model_name, prefix.token_ids, trace.token_ids.tolist())
        if len(texts) != len(trace):
            raise InvalidInputError(
                f"the tokenizer of {self.model_name} must give a text for each token; got {len(texts)} for "
                f"{len(trace)} tokens."
            )
        return tuple(
            Piece(
                text=text,
                acceptance=Acceptance(int(trace.acceptance[step])),
                probability=float(trace.probabilities[step]),
                threshold=float(trace.thresholds[step]),
                rejected=tuple(self._name(decode, prefix, token) for token in trace.rejected_before(step)),
                undecided=int(trace.undecided[step]),
            )
            for step, text in enumerate(texts)
        )

    def _name(self, decode: Decode, prefix: PrefixEntry, token: int) -> str:
        """The text of a rejected token; it is the same after any prefix, except for spaces."""
        if token not in self._names:
            self._names[token] = "".join(decode(self.model_name, prefix.token_ids, [token]))
        return self._names[token]


def _note(results: Results, chosen: Sequence[Result], job: StoredJob, shared: tuple[int, int]) -> str:
    """The model and seed of the texts, and what is not shown."""
    model = chosen[0].model
    others = list(dict.fromkeys(result.model for result in results.results if result.model != model))
    left_out = [f"not shown: {', '.join(others)}"] if others else []
    if len(chosen) > _METHODS_SHOWN:
        left_out.append(f"the first {_METHODS_SHOWN} of {len(chosen)} settings")
    rest = f" ({'; '.join(left_out)})" if left_out else ""
    draw = _texts_spec(job).draw
    origin = f"Imported texts{rest}."
    if draw is not None:
        beside = (
            " Imported texts were made elsewhere." if any(result.is_imported for result in chosen) else ""
        )
        origin = f"Written by {model}{rest} with seed {draw[0]}.{beside}"
    state = "unedited" if draw is not None else "cut to the length of the human ones"
    return (
        f"{origin} Prefixes are spread evenly over numbers {shared[0] + 1} to {shared[1]} of the set. "
        f"Texts are {state}."
    )
