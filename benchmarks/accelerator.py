"""How busy a GPU would be: generation with a simulated accelerator, on the cores of this machine.

The stand-in for a GPU is a clock: a forward pass takes a stated time without using a core, and a pass that is
queued while another runs begins when that ends. What it proposes was computed beforehand, from real contexts
of the demo model. Everything on the host is what a worker does with a real GPU: the same loop, batches in
flight, settling, records. What a simulation cannot show: the time to queue kernels, and copies of rows.

Runs in a separate process with all cores, because the other sections use one.
"""

from __future__ import annotations

import dataclasses
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

import bat
from bat.arrays import FloatArray, IntArray
from bat.proposals import Proposals, draws_needed, propose
from bat.rules import Rule
from benchmarks.contexts import load_contexts
from benchmarks.record import Figure, figures_of, write_figures
from workers import models
from workers.generation import GenerationSettings, generate
from workers.models import LanguageModel
from workers.prefixes import Prefix
from workers.time_use import Clock, TimeUse

BATCH = 64
STEPS = 40  # tokens of each text
BATCHES = 2  # as many as are in flight at most
RECORDED = 16  # different steps, which are repeated
STEP_MILLISECONDS = (5, 10, 25)
REPEATS = 3  # in turns; the best counts
PLAIN, AWARE = bat.get_rule("eta", 0.002), bat.get_rule("ba-eta", 0.036)  # about the same rejection rate
CONSTRAINTS = 20
# Of the bare loop of forward passes, on two idle cores with two batches in flight.
TARGETS = {("eta", 25): 0.95, ("eta", 10): 0.9, ("ba-eta", 25): 0.9, ("ba-eta", 10): 0.7}


def measure() -> Iterator[Figure]:
    """Run this module in a separate process, and yield its figures as they arrive."""
    return figures_of("benchmarks.accelerator")


@dataclass
class Accelerator:
    """A device that runs one forward pass after another, each in the same time."""

    step_seconds: float
    clock: Clock
    free_at: float = 0.0

    def queue(self) -> float:
        """Queue a pass; returns when it will be done."""
        self.free_at = max(self.free_at, time.perf_counter()) + self.step_seconds
        self.clock.add("forward", self.step_seconds)
        return self.free_at


@dataclass
class Recorded:
    """A step whose proposals are there as soon as its forward pass is done."""

    ready_at: float
    proposals: Proposals

    def collect(self) -> Proposals:
        left = self.ready_at - time.perf_counter()
        if left > 0.0:
            time.sleep(left)
        return self.proposals


@dataclass
class SimulatedDecoder:
    """A batch on the accelerator, at some step of what was recorded."""

    accelerator: Accelerator
    recorded: list[Proposals]
    step_number: int = field(default=0)

    def step(
        self,
        rule: Rule,
        uniforms: FloatArray,
        *,
        max_tries: int,
        threads: int | None,
        temperature: object = None,
    ) -> Recorded:
        proposals = self.recorded[self.step_number % len(self.recorded)]
        self.step_number += 1
        return Recorded(self.accelerator.queue(), proposals)

    def advance(self, tokens: IntArray, staying: IntArray | None) -> None:
        assert staying is None  # no text ends before the others


def _figures() -> Iterator[Figure]:
    demo = models.load("smollm2-135m", device="cpu")
    endless = dataclasses.replace(demo, info=dataclasses.replace(demo.info, end_tokens=()))
    contexts = load_contexts()
    logits = np.log(np.maximum(contexts.probs, 1e-300)).astype(np.float32)
    cores = len(os.sched_getaffinity(0))
    for rule in (PLAIN, AWARE):
        recorded = _record(logits, rule)
        pending = sum(step.pending.size for step in recorded) / (BATCH * len(recorded))
        name = f"{rule.name}={rule.parameter:g}"
        group = f"simulated accelerator, batch {BATCH}, {name}"
        yield Figure(group, "rows that the host must settle", pending, "", "of all rows")
        yield from _busy(endless, rule, recorded, group, threads=sorted({1, cores}))


def _record(logits: FloatArray, rule: Rule) -> list[Proposals]:
    """What the device proposes at so many steps, over contexts in another order each time."""
    steps = []
    for number in range(RECORDED):
        rows = np.random.default_rng(number).choice(len(logits), BATCH, replace=False)
        keys = [bat.Key(seed=0, run="accelerator", prefix=row, sample=0) for row in range(BATCH)]
        steps.append(propose(logits[rows], rule, bat.uniforms(keys, number, draws_needed(10))))
    return steps


def _busy(
    demo: LanguageModel, rule: Rule, recorded: list[Proposals], group: str, threads: list[int]
) -> Iterator[Figure]:
    """Tokens per second as a share of the bare loop of forward passes."""
    settled: dict[int, float] = {}  # by threads: milliseconds a step that settling takes on its own
    for count in threads:
        uses = [_run(demo, rule, recorded, 0.0, 1, count) for _ in range(REPEATS)]
        settled[count] = min(_per_step(use.settle) for use in uses)
        others = min(_per_step(use.waiting - use.settle) for use in uses)
        note = f"random numbers, records and text take another {others:.2g} ms"
        yield Figure(group, f"the host alone settles, {_threads(count)}", settled[count], "ms per step", note)
    work = min(_core_milliseconds(demo, rule, recorded) for _ in range(REPEATS))
    efficiency = min(1.0, settled[1] / (max(threads) * settled[max(threads)]))
    note = "processor time, which other programs hardly change"
    yield Figure(group, "all work of the host", work, "core-ms per step", note)
    if len(threads) > 1:
        yield Figure(group, f"{max(threads)} threads use their cores", efficiency, "of the time")
    for milliseconds in STEP_MILLISECONDS:
        settings = [(flight, count) for flight in (1, 2) for count in threads]
        rounds = [
            [_run(demo, rule, recorded, milliseconds / 1e3, *setting) for setting in settings]
            for _ in range(REPEATS)
        ]
        for number, (flight, count) in enumerate(settings):
            use = min((one[number] for one in rounds), key=lambda use: use.waiting)
            share = 1.0 - use.waiting_share
            target = TARGETS.get((rule.name, milliseconds)) if (flight, count) == (2, max(threads)) else None
            tokens = BATCH * BATCHES * STEPS / (use.forward + use.waiting)
            yield Figure(
                group,
                f"{milliseconds} ms a step, {flight} in flight, {_threads(count)}",
                share,
                "of the bare loop",
                f"{tokens:,.0f} tokens/s; a step settles in {_per_step(use.settle):.1f} ms, the device waits "
                f"{_per_step(use.waiting):.1f} ms",
                "" if target is None else f">= {target:g}",
                None if target is None else share >= target,
            )
        cores = math.ceil(work / (efficiency * milliseconds))
        yield Figure(group, f"cores for a GPU with {milliseconds} ms a step", cores, "")


def _core_milliseconds(demo: LanguageModel, rule: Rule, recorded: list[Proposals]) -> float:
    """The processor time of a step, of all threads together."""
    began = time.process_time()
    _run(demo, rule, recorded, 0.0, 1, 1)
    return _per_step(time.process_time() - began)


def _run(
    demo: LanguageModel, rule: Rule, recorded: list[Proposals], seconds: float, in_flight: int, threads: int
) -> TimeUse:
    clock = Clock()
    accelerator = Accelerator(seconds, clock)
    prefixes = [Prefix(str(row), (1, 2, 3), ()) for row in range(BATCH * BATCHES)]
    began = time.perf_counter()
    generate(
        demo,
        prefixes,
        GenerationSettings(rule, CONSTRAINTS, max_tokens=STEPS, batch_size=BATCH),
        threads=threads,
        batches_in_flight=in_flight,
        clock=clock,
        make_decoder=lambda ids, steps: SimulatedDecoder(accelerator, recorded),
    )
    use = clock.read(time.perf_counter() - began)
    assert use is not None
    return use


def _per_step(seconds: float) -> float:
    """Milliseconds a step."""
    return seconds * 1e3 / (BATCHES * STEPS)


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"


if __name__ == "__main__":
    write_figures(_figures())
