"""What each method wrote after the same prefixes, side by side with how the person went on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bat.acceptance import Acceptance
from bat.errors import BatError, InvalidInputError
from harness.jobs import TextsJob
from harness.jobs.rows import PrefixEntry
from harness.report.formats import samples as format_samples
from harness.report.formats.samples import Continuation, Opening, Piece
from harness.report.parts import Markup, Missing
from harness.report.results import Result, Results
from harness.store import Reader, StoredJob
from harness.words import counted

if TYPE_CHECKING:  # brings in torch
    from workers.generation import Generation

# (name of a model, ids of what stands before, ids of tokens) -> the text that each token adds
Decode = Callable[[str, Sequence[int], Sequence[int]], list[str]]

_TITLE = "Texts side by side"
# A sweep over parameters has dozens of settings; more than this nobody reads side by side.
_METHODS_SHOWN = 12


def side_by_side(reader: Reader, results: Results, decode: Decode | None, count: int = 4) -> Markup | Missing:
    """Show `count` prefixes with each method's continuation of them, for the first model and its first seed.

    One job a method is read: the prefixes are spread evenly over the first shard. Without `decode`, or where
    it raises a BatError, texts are shown without the ways in which their tokens were accepted.
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
        place: reader.prefixes(shown[0].prefix_set, place, place + 1)[0]
        for place in _spread(start, stop, count)
    }
    pieces = _Pieces(shown[0].model_name, decode)
    written = {
        result.label: _written(reader, job, prefixes.values())
        for result, job in zip(shown, jobs, strict=True)
    }
    openings = [
        Opening(
            place=place,
            text=prefix.text,
            human=prefix.continuation,
            continuations=tuple(
                _continuation(result, texts[prefix.id], prefix, pieces)
                for result, texts in zip(shown, written.values(), strict=True)
            ),
        )
        for place, prefix in prefixes.items()
    ]
    notes = [_note(results, chosen, jobs[0], (start, stop)), *pieces.problems]
    return Markup(
        name="samples",
        title=_TITLE,
        html=format_samples.html(openings, notes),
        markdown=format_samples.markdown(openings, notes),
    )


def _choose(results: Results) -> list[Result]:
    """Settings of the first model after the same prefixes, each once; of test text where there is any."""
    known = [one for one in results.results if one.split == "test"] or list(results.results)
    if not known:
        return []
    first = known[0]
    alike = [one for one in known if (one.model, one.prefix_set) == (first.model, first.prefix_set)]
    by_label: dict[str, Result] = {}
    for one in alike:
        by_label.setdefault(one.label, one)
    return list(by_label.values())


def _first_jobs(reader: Reader, shown: Sequence[Result]) -> list[StoredJob]:
    """For each result, the job that wrote the first sample of the first prefixes with the first seed."""
    ids = [one.seeds[0].generate_jobs for one in shown]
    found = reader.find_jobs(job_id for job_ids in ids for job_id in job_ids)
    return [min((found[job_id] for job_id in job_ids), key=_first_in_order) for job_ids in ids]


def _first_in_order(job: StoredJob) -> tuple[int, int]:
    spec = _written_by(job)
    _, sample = spec.draw or (0, 0)
    return sample, spec.prefixes.start


def _written_by(job: StoredJob) -> TextsJob:
    spec = job.parse()
    assert isinstance(spec, TextsJob)
    return spec


def _shared_range(jobs: Sequence[StoredJob]) -> tuple[int, int]:
    """The prefixes that all of the jobs continued; shards of different runs may differ in size."""
    ranges = [_written_by(job).prefixes for job in jobs]
    return max(shard.start for shard in ranges), min(shard.stop for shard in ranges)


def _spread(start: int, stop: int, count: int) -> list[int]:
    """At most `count` places of a range, the first among them, evenly apart."""
    size = stop - start
    taken = min(count, size)
    return [start + place * size // taken for place in range(taken)]


def _written(reader: Reader, job: StoredJob, prefixes: Iterable[PrefixEntry]) -> dict[str, Generation]:
    wanted = {prefix.id for prefix in prefixes}
    return {
        generation.prefix_id: generation
        for _, generation in reader.generations([job.id])
        if generation.prefix_id in wanted
    }


def _continuation(
    result: Result, generation: Generation, prefix: PrefixEntry, pieces: _Pieces
) -> Continuation:
    length = counted(len(generation.trace), "token")
    ended = ", came to its own end" if generation.stop_reason == "end" else ""
    # How the tokens of imported texts were accepted is not known.
    parts = None if result.is_imported else pieces.of(prefix, generation)
    return Continuation(result.label, f"{length}{ended}", generation.text, parts)


@dataclass
class _Pieces:
    """Takes texts apart into tokens, until that is found to be impossible."""

    model_name: str
    decode: Decode | None
    problems: list[str] = field(default_factory=list)
    _names: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.decode is None:
            self.problems.append("How tokens were accepted is not shown: no tokenizer was asked for.")

    def of(self, prefix: PrefixEntry, generation: Generation) -> tuple[Piece, ...] | None:
        if self.decode is None:
            return None
        try:
            return self._take_apart(self.decode, prefix, generation)
        except BatError as error:
            self.decode = None
            self.problems.append(f"How tokens were accepted is not shown from here on: {error}")
            return None

    def _take_apart(self, decode: Decode, prefix: PrefixEntry, generation: Generation) -> tuple[Piece, ...]:
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
                acceptance=Acceptance(int(trace.acceptance[place])),
                probability=float(trace.probabilities[place]),
                threshold=float(trace.thresholds[place]),
                refused=tuple(self._name(decode, prefix, token) for token in trace.refused_before(place)),
                undecided=int(trace.undecided[place]),
            )
            for place, text in enumerate(texts)
        )

    def _name(self, decode: Decode, prefix: PrefixEntry, token: int) -> str:
        """The text of a refused token; behind any prefix it is the same, but for its spaces."""
        if token not in self._names:
            self._names[token] = "".join(decode(self.model_name, prefix.token_ids, [token]))
        return self._names[token]


def _note(results: Results, chosen: Sequence[Result], job: StoredJob, places: tuple[int, int]) -> str:
    """Whose texts these are, and what is not shown."""
    model = chosen[0].model
    others = list(dict.fromkeys(one.model for one in results.results if one.model != model))
    left_out = [f"not shown: {', '.join(others)}"] if others else []
    if len(chosen) > _METHODS_SHOWN:
        left_out.append(f"the first {_METHODS_SHOWN} of {len(chosen)} settings")
    rest = f" ({'; '.join(left_out)})" if left_out else ""
    draw = _written_by(job).draw
    origin = f"Imported texts{rest}."
    if draw is not None:
        beside = " Texts marked as imported were made elsewhere." if any(map(_is_imported, chosen)) else ""
        origin = f"Written by {model}{rest} with seed {draw[0]}.{beside}"
    as_written = "as the model wrote them" if draw is not None else "cut to the length of the human ones"
    return (
        f"{origin} Prefixes are spread evenly over numbers {places[0] + 1} to {places[1]} of the set. Texts "
        f"are {as_written}."
    )


def _is_imported(result: Result) -> bool:
    return result.is_imported
