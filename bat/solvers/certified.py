"""The certified solver: simplex on a growing working set, proved by full passes.

Works on the dual of ``bat.program``: c unknowns, one kink per token. Most of a context's mass lies
on a few hundred tokens, so the climb happens there, while the other tokens are held in two groups,
above zero and below, each acting as one heavy token at its centre (Portnoy and Koenker's "globbing").
Treating a group as one token restricts the primal, so every vertex on the way already proves an upper
bound; a pass over the vocabulary proves the lower bound and finds the tokens on the wrong side of
zero, which join the working set. Three rounds are typical.
"""

from __future__ import annotations

import threading
import time

import numpy as np

from bat import certificates
from bat.arrays import FloatArray, IntArray
from bat.program import Answer, Certificate, Effort, Goal, Program, Status
from bat.solvers import _sweep
from bat.solvers._climb import Climb, Context, Found
from bat.solvers._workspace import Workspace

START_TOKENS = 640
MAX_ROUNDS = 60
MAX_REFRESHES = 3  # rounds spent on the climb's own rounding once no token is misplaced
UNIT_ROUNDING = 2.3e-16
# Relative error allowed for in a sum of up to a million positive terms added in blocks.
SUM_ROUNDING = 1e-13
# Sums of p_j a_j carry this many times the rounding error of their largest term.
SUMS = 32.0
# While only a decision is wanted, climb this far past the threshold before paying for the first pass.
PROMISE = 1.05


class CertifiedSolver:
    """See the module's docstring. Kernels release the GIL, so threads solve different rows in parallel."""

    name = "certified"

    def __init__(self, start_tokens: int = START_TOKENS) -> None:
        self.start_tokens = start_tokens
        self._local = threading.local()

    def prepare(self, rows: FloatArray, probs: FloatArray) -> Context:
        return Context(rows, probs, max(self.start_tokens, 4 * rows.shape[0]))

    def solve(self, program: Program, goal: Goal, prepared: object = None) -> Answer:
        context = prepared if isinstance(prepared, Context) else self.prepare(program.rows, program.probs)
        return _Solve(program, context, goal, self._workspace(*program.rows.shape)).run()

    def _workspace(self, r: int, v: int) -> Workspace:
        space: Workspace | None = getattr(self._local, "space", None)
        if space is None or (space.r, space.v) != (r, v):
            space = self._local.space = Workspace(r, v)
        return space


class _Solve:
    """One program from start to answer."""

    def __init__(self, program: Program, context: Context, goal: Goal, space: Workspace) -> None:
        self.began = time.perf_counter()
        self.program, self.context, self.goal, self.space = program, context, goal, space
        self.mass_i = float(program.probs[program.token])
        self.lower = self.mass_i  # the plain threshold: y = e_1 proves it
        self.passes = 0
        self.pivots = 0
        self.slack = 0.0
        r = context.rows.shape[0]
        self.direction = np.eye(1, r)[0]
        self.moved = np.empty(r)

    def run(self) -> Answer:
        goal = self.goal
        if self.mass_i == 0.0 or self.context.rows.shape[0] == 1:
            return self._trivial(self.mass_i)
        if self.mass_i >= 1.0 - goal.tolerance:
            return self._trivial(1.0)
        climb = Climb(self.context, self.program.token, self.space)
        promise = PROMISE
        refreshes = 0
        for _ in range(MAX_ROUNDS):
            climb.run(goal, promise)
            self.pivots = climb.pivots
            self.direction = self.context.direction(climb.u)
            self.slack = self._slack(self.direction)
            upper = self._rounded_up(climb.upper, climb)
            if goal.threshold is not None and upper <= goal.threshold:
                return self._finish(climb, Status.DECIDED)
            found = self._pass(climb)
            if goal.threshold is not None and self.lower > goal.threshold:
                return self._finish(climb, Status.DECIDED)
            if self.lower > goal.cap:
                return self._finish(climb, Status.ABOVE_CAP)
            # Tokens that changed sides unlisted cannot be told in a certificate: let the next pass list them.
            if found.turned == 0 and upper - self.lower <= goal.tolerance * upper:
                answer = self._finish(climb, Status.CLOSED, self.space.found[: found.crossed].copy())
                if answer.status is Status.CLOSED:
                    return answer
            joined = climb.absorb(found, self.moved, self.direction)
            promise = 1.0
            out_of_time = time.perf_counter() - self.began > goal.time_limit_seconds
            if out_of_time or climb.pivots >= goal.max_pivots:
                break
            if joined == 0 and climb.optimal:
                refreshes += 1
                if refreshes > MAX_REFRESHES or not climb.refresh():
                    break
        return self._last_resort(climb)

    def _pass(self, climb: Climb) -> Found:
        """One pass over the vocabulary: improves the lower bound, returns how many tokens it picked out."""
        climb.publish_sides()
        context, direction, slack = self.context, self.direction, self.slack
        # Pinned tokens are at zero up to rounding, and a heavy one would put its rounding error into N.
        # Raising every value by a little more than that error makes them positive: it costs only P.
        direction[0] += 2.0 * slack
        space = self.space
        positive, negative, *found = _sweep.sweep(
            context.rows, direction, context.probs, space.side_of, space.outside, slack, climb.cutoff,
            space.found, space.found_z, space.near, space.near_z, self.moved,
        )  # fmt: skip
        self.passes += 1
        # The sums are over all tokens; the token itself belongs to neither.
        here = self.mass_i * float(direction @ climb.a_i)
        positive = max(positive - max(here, 0.0), 0.0) + slack
        top = (here - self.mass_i * slack) * (1.0 - SUM_ROUNDING) - negative * (1.0 + SUM_ROUNDING)
        bottom = (top + positive) * (1.0 + SUM_ROUNDING)
        self.lower = min(1.0, max(self.mass_i, top / bottom)) if top > 0.0 else self.mass_i
        return Found(*(int(count) for count in found))

    def _last_resort(self, climb: Climb) -> Answer:
        """The best vertex is found but the quick bounds do not meet: spend more on their rounding."""
        for candidate in (self.direction, *climb.refined_directions()):
            lower, proven = certificates.certify_direction(self.program, candidate)
            if lower > self.lower:
                self.lower, self.direction = lower, proven
        upper, fractions = certificates.upper_bound(self.program, climb.all_fractions())
        certificate = certificates.compress(self.program, self.direction, fractions)
        closed = upper - self.lower <= self.goal.tolerance * upper
        status = Status.CLOSED if closed else Status.UNFINISHED
        return Answer(self.lower, max(upper, self.lower), certificate, self._effort(), status)

    def _rounded_up(self, tau: float, climb: Climb) -> float:
        """The bound tau with what rounding can add to it through the sums of p_j a_j that it rests on."""
        # The fractions' own masses come to tau; the group below was summed by adding and taking away; a
        # pinned group may be the one above, known only as what all other masses leave of one.
        summed = tau + climb.moved_mass + float(climb.group_is_pinned())
        return min(1.0, tau + SUMS * self.slack * summed)

    def _slack(self, direction: FloatArray) -> float:
        """A bound on the rounding error of a_j . y, for every j."""
        r, v = self.context.rows.shape
        # Rows are sqrt(v) times orthonormal ones, so no column is longer than sqrt(v + 1).
        return float(UNIT_ROUNDING * (r + 2) * np.sqrt(v + 1.0) * np.linalg.norm(direction))

    def _finish(self, climb: Climb, status: Status, misplaced: IntArray | None = None) -> Answer:
        certificate: Certificate | None = None
        upper = self._rounded_up(climb.upper, climb)
        if self.goal.prove:
            upper, certificate = self._prove(climb, misplaced)
            if status is Status.CLOSED and upper - self.lower > self.goal.tolerance * upper:
                status = Status.UNFINISHED
        return Answer(self.lower, max(upper, self.lower), certificate, self._effort(), status)

    def _prove(self, climb: Climb, misplaced: IntArray | None) -> tuple[float, Certificate]:
        """The upper bound the vertex proves, with what is needed to check it."""
        if 1.0 - self.lower <= self.goal.tolerance:  # no threshold lies above 1: nothing to prove
            return 1.0, Certificate(self.direction, np.empty(0, np.int64), np.empty(0))
        if misplaced is not None and not climb.group_is_pinned():
            pinned, phi, tau, residual = climb.pinned_fractions()
            lowest = min(0.0, float(phi.min(initial=0.0)))
            if phi.max(initial=0.0) <= 1.0:
                # What does not add up changes tau by y . residual: y is the inverse's row for tau.
                unbalanced = float(np.abs(self.direction) @ np.abs(residual))
                upper = self._rounded_up((tau - lowest) / (1.0 - lowest) + unbalanced, climb)
                if upper - self.lower <= self.goal.tolerance * upper:
                    tokens = np.concatenate([self.space.tokens[pinned], misplaced])
                    sides = np.where(self.space.side_of[misplaced] < 0.0, 1.0, 0.0)
                    fractions = np.concatenate([phi, sides])
                    return upper, Certificate(self.direction, tokens, fractions)
        upper, repaired = certificates.upper_bound(self.program, climb.all_fractions())
        return upper, certificates.compress(self.program, self.direction, repaired)

    def _trivial(self, upper: float) -> Answer:
        nothing = Certificate(self.direction, np.empty(0, np.int64), np.empty(0))
        return Answer(self.mass_i, upper, nothing, self._effort(), Status.CLOSED)

    def _effort(self) -> Effort:
        return Effort(self.pivots, self.passes, time.perf_counter() - self.began)
