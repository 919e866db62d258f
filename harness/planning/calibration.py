"""How fast this machine does the work of a sweep: a small sample of each kind of work is timed.

How a kind of job is timed is defined with the kind, in harness.jobs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from harness.config.schema import SweepConfig
from harness.jobs import HumanText, JobSpec, ModelIdentity
from harness.planning.materials import Materials, ModelCard
from harness.planning.work import Pace, Paces
from workers.corpora import Split
from workers.prefixes import Prefix
from workers.requests import ModelRequest, Request, Worker


def calibrate(
    materials: Materials,
    jobs: Sequence[JobSpec[Any]],
    begin: Callable[[int], Callable[[int], None]] = lambda total: lambda done: None,
) -> dict[Pace, float]:
    """Time a small sample of the work of these jobs; return seconds per unit.

    `begin` is called with the number of paces. It returns a function to call with the number timed so far.
    """
    pace_of = Paces(materials)
    # The largest job of each pace, because some are incomplete: scores of human text lack MAUVE.
    examples = {pace_of(job): job for job in sorted(jobs, key=lambda job: job.units)}
    # Sorted by model, because loading one takes longer than the work.
    paces = sorted(examples, key=lambda pace: (pace.model, pace.kind, pace.detail))
    show = begin(len(paces))
    trial = _WorkerTrial(materials)
    rates: dict[Pace, float] = {}
    for pace in paces:
        rates[pace] = examples[pace].time_unit(trial)
        show(len(rates))
    return rates


class _WorkerTrial:
    """A harness.jobs.Trial with a worker in this process and the materials of a sweep."""

    def __init__(self, materials: Materials) -> None:
        self._materials = materials
        self._worker = Worker("auto")
        self._times: dict[tuple[str, ModelIdentity], float] = {}

    @property
    def config(self) -> SweepConfig:
        return self._materials.config

    @property
    def feature_width(self) -> int:
        return self._materials.card(self.config.features).info.hidden_size

    def model_request(self, model: ModelIdentity) -> ModelRequest:
        return self._materials.card_of(model).pinned_request

    def human_text(self, model: ModelIdentity) -> HumanText:
        return self._materials.human_text(self._materials.card_of(model))

    def prefixes(self, model: ModelIdentity | None = None) -> tuple[Prefix, ...]:
        card = self._first_card() if model is None else self._materials.card_of(model)
        return self._materials.prefix_set(card, self._split()).prefixes

    def human_texts(self, count: int) -> list[str]:
        rows = self._materials.prefix_rows(self._first_card(), self._split())
        return [entry.text + entry.continuation for entry in rows.entries[:count]]

    def seconds(self, request: Request[Any], *, warm_up: Request[Any] | None = None) -> float:
        if warm_up is not None:
            self._worker.answer(warm_up)
        request.prepare(self._worker)
        began = time.perf_counter()
        self._worker.answer(request)
        return time.perf_counter() - began

    def once(self, name: str, model: ModelIdentity, measure: Callable[[], float]) -> float:
        if (name, model) not in self._times:
            self._times[name, model] = measure()
        return self._times[name, model]

    def _first_card(self) -> ModelCard:
        return self._materials.card(self.config.models[0])

    def _split(self) -> Split:
        """A half of the corpus whose prefixes the sweep continues."""
        return next(stage.text_split for stage in self.config.stages if stage.kind == "generate")
