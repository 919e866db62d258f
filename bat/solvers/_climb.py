"""The state of one program between passes over the vocabulary.

The working set (``_workspace``) grows by the tokens that a pass finds on the wrong side of zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bat.arrays import FloatArray, IntArray
from bat.program import Goal
from bat.solvers import _simplex, _sweep, _workspace
from bat.solvers._workspace import ABOVE_GROUP, BELOW_GROUP, Workspace

GROWTH = 512  # most tokens that join after one pass
CROSSED_GROWTH = 384  # most of these that join for having crossed zero, not for being near it
# Outside tokens are listed as near zero when mass over distance passes a cutoff: this share of the lightest
# mass in the first working set, and from pass to pass a smaller one ...
NEAR_SHARE, NEAR_DECAY = 0.2, 0.5
FEW_CROSSINGS = 1200  # ... until so few cross that the end is in sight
REFACTOR_AFTER = 100  # pivots; each adds a rounding error or two to the edges
EMPTY = _simplex.EMPTY


class Context:
    """What all tokens of one distribution share: its mean, its heavy tokens and its whitening."""

    def __init__(self, rows: FloatArray, probs: FloatArray, wanted: int) -> None:
        self.rows = rows  # [r, v]
        self.probs = probs  # [v]
        self.mean: FloatArray = _sweep.weighted_column(rows, probs)  # [r] b
        self.heavy: IntArray = _sweep.heaviest(probs, min(wanted, probs.size))
        self.lightest = float(probs[self.heavy].min())
        self.heavy_columns = self.columns(self.heavy)
        centred = self.heavy_columns[1:] - self.mean[1:, None]
        self.spread = _whitening((centred * probs[self.heavy]) @ centred.T)  # [c, c], lower triangular

    def columns(self, tokens: IntArray) -> FloatArray:
        out = np.empty((self.rows.shape[0], tokens.size))
        _sweep.gather(self.rows, tokens, out)
        return out

    def direction(self, u: FloatArray) -> FloatArray:
        """The direction y, in the basis's own coordinates, of a point u of the climb."""
        tail = u @ self.spread
        return np.concatenate([[1.0 - self.mean[1:] @ tail], tail])


def _whitening(covariance: FloatArray) -> FloatArray:
    """A matrix that makes the covariance about the identity.

    Any invertible matrix would be correct: it only sets the lengths by which edges are compared. So a
    floor under the small eigenvalues keeps it well conditioned when a few tokens hold all the mass.
    """
    c = covariance.shape[0]
    floor = 1e-8 * np.trace(covariance) / max(c, 1)
    if not floor > 0.0:  # all mass on one token
        return np.eye(c)
    # Called directly: for matrices of twenty rows, numpy's functions around these take longer than they do.
    from scipy.linalg.lapack import dpotrf, dtrtri  # late, for those who only want the rules

    covariance[np.diag_indices(c)] += floor
    factor, failed = dpotrf(covariance, lower=1, clean=1)
    spread, singular = dtrtri(factor, lower=1)
    return np.eye(c) if failed or singular else np.ascontiguousarray(spread)


def _solve_twice(system: FloatArray, right: FloatArray) -> FloatArray:
    """Solve, and solve again for what was left over; least squares where that is not possible."""
    from scipy.linalg.lapack import dgesv, dgetrs

    rows, columns = system.shape
    if rows == columns:
        factors, swaps, solution, singular = dgesv(system, right)
        if not singular:
            further, _ = dgetrs(factors, swaps, right - system @ solution)
            return np.asarray(solution + further)
    return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0])  # slots are empty, or it is singular


class Found(NamedTuple):
    """What a pass over the vocabulary found; see ``_sweep.sweep``."""

    crossed: int
    near: int
    turned: int
    fallen: int


class Climb:
    """One program being solved. ``run`` climbs, the caller passes over the vocabulary, ``absorb`` learns."""

    def __init__(self, context: Context, token: int, space: Workspace) -> None:
        self.context, self.token, self.space = context, token, space
        self.mass_i = float(context.probs[token])
        self.a_i = np.ascontiguousarray(context.rows[:, token])  # [r]
        self.beta_i = context.spread @ (self.a_i[1:] - context.mean[1:])
        self.u = np.zeros(self.beta_i.size)  # the direction e_1: every token at z = 1, the plain threshold
        self.below_sum = np.zeros(self.a_i.size)  # [r] sum of p_j a_j over the group below
        self.below_count = 0
        self.moved_mass = 0.0  # all that was ever added to or taken from that sum: its rounding error's scale
        self.pivots = 0
        self.factored_at = 0
        self.upper = 1.0
        self.optimal = False
        self.cutoff = NEAR_SHARE * context.lightest
        self.published = False
        self.n = 2
        tokens = context.heavy[context.heavy != token]
        self._join(tokens, np.ones(tokens.size))
        self._empty_basis()
        self.regroup()

    def _empty_basis(self) -> None:
        c = self.u.size
        self.space.side[: self.n][self.space.side[: self.n] == 0.0] = 1.0
        self.basis = np.full(c, EMPTY)
        self.pinned = np.eye(c)  # row m: what slot m holds at zero, or moves along while it is empty
        self.inverse = np.eye(c)
        self.frame = np.zeros((c, c))
        self.crash = np.zeros(1, np.int64)

    def _join(self, tokens: IntArray, z: FloatArray) -> slice:
        """Take tokens with values z into the working set; returns their slots."""
        space, context = self.space, self.context
        new = slice(self.n, self.n + tokens.size)
        if new.stop > space.tokens.size:
            space.reserve(self.n, 2 * new.stop)
        _workspace.admit(
            context.rows, context.probs, context.mean, context.spread, tokens, z, self.n,
            space.tokens, space.mass, space.z, space.side, space.length, space.columns, space.beta,
            space.by_token,
        )  # fmt: skip
        self.n = new.stop
        return new

    def regroup(self) -> None:
        """Recompute the two groups after the working set or the sides of outside tokens changed."""
        space = self.space
        for slot in np.flatnonzero((self.basis >= 0) & (self.basis <= BELOW_GROUP)):
            self.pinned[slot] = space.by_token[self.basis[slot]]
            self.basis[slot] = EMPTY
        _workspace.form_groups(
            self.mass_i * self.a_i, self.below_sum, self.context.mean, self.context.spread, self.u, self.n,
            space.mass, space.z, space.side, space.length, space.columns, space.beta, space.by_token,
        )  # fmt: skip

    def refactor(self) -> None:
        """Rebuild what rounding wears down: the edges, the point and the values."""
        self.factored_at = self.pivots
        filled = self.basis != EMPTY
        self.pinned[filled] = self.space.by_token[self.basis[filled]]
        try:
            self.inverse = np.ascontiguousarray(np.linalg.inv(self.pinned).T)
        except np.linalg.LinAlgError:
            self._empty_basis()
            return
        self.u -= np.where(filled, 1.0 + self.pinned @ self.u, 0.0) @ self.inverse
        _simplex.place(self.space.beta, self.u, self.basis, self.n, self.space.z, self.space.side)

    def refresh(self) -> bool:
        """Refactor if anything was done since the last time: whether that can change the bounds."""
        worn = self.pivots > self.factored_at
        if worn:
            self.refactor()
        return worn

    def run(self, goal: Goal, promise: float) -> None:
        """Climb to the best vertex of the working set, or until its bounds seem to answer the goal.

        ``promise`` is how many times the threshold the value must reach before climbing stops for a pass.
        """
        accept_above, reject_below = np.inf, -1.0
        if goal.threshold is not None:
            accept_above = goal.threshold * promise
            # Left of this margin for rounding a rejection may be called before the best vertex is reached.
            reject_below = goal.threshold * (1.0 - 1e-6) if promise > 1.0 else -1.0
        # A crude model is not worth solving to the end: pass over the vocabulary and improve it instead.
        c, space = self.u.size, self.space
        stop_at = self.pivots + min(max(c, 100), 288) + (c if self.pivots == 0 else 0)
        stop_at = min(stop_at, goal.max_pivots)
        while self.pivots < stop_at:
            if self.pivots - self.factored_at >= max(REFACTOR_AFTER, c // 2):
                self.refactor()
            limit = min(max(REFACTOR_AFTER, c // 2), stop_at - self.pivots)
            pivots, self.optimal, self.upper, value = _simplex.climb(
                space.beta, space.by_token, space.mass, space.z, space.side, space.length, self.n,
                self.mass_i * self.beta_i, self.mass_i, self.beta_i, self.u, self.basis, self.inverse,
                self.frame, self.crash, limit, 1e-10 * self.mass_i, accept_above, reject_below,
            )  # fmt: skip
            self.pivots += pivots
            if pivots < limit or self.upper <= reject_below or value > accept_above:
                return

    def publish_sides(self) -> None:
        """Tell the vocabulary-wide arrays what the working set holds. Decisions often need no pass at all,
        so nothing of the size of the vocabulary is touched before the first."""
        space = self.space
        if not self.published:
            space.side_of[:] = 1.0
            space.side_of[self.token] = 0.0
            space.outside[:] = self.context.probs
            space.outside[self.token] = 0.0
            self.published = True
        _workspace.publish(space.tokens, space.side, 2, self.n, space.side_of, space.outside)

    def absorb(self, found: Found, moved: FloatArray, direction: FloatArray) -> int:
        """Move outside tokens found on the wrong side, and take the most relevant into the working set.

        Arguments are what ``_sweep.sweep`` found along ``direction``. Returns how many tokens crossed zero.
        """
        space = self.space
        crossed, fallen = _sweep.change_sides(
            space.found[: found.crossed], space.found_z[: found.crossed], self.context.probs, space.outside,
            space.side_of, space.weights,
        )  # fmt: skip
        joining, joining_z = _sweep.choose(
            space.found[:crossed], space.found_z[:crossed], space.weights, space.near[: found.near],
            space.near_z[: found.near], self.context.probs, CROSSED_GROWTH, GROWTH,
        )  # fmt: skip
        many = found.crossed + found.turned > FEW_CROSSINGS
        self.cutoff = self.cutoff * NEAR_DECAY if many else np.inf
        new = self._join(joining, joining_z)
        # Tokens now above leave the group below; tokens now below enter it, unless they join.
        left, joined_mass = _workspace.leave_groups(
            joining, new.start, space.side_of, space.outside, moved, space.mass, space.columns, self.below_sum
        )
        self.below_count += fallen + found.fallen - left
        self.moved_mass += abs(float(moved[0])) + float(self.below_sum[0]) + joined_mass
        if self.below_count == 0:
            self.below_sum, self.moved_mass = np.zeros_like(self.below_sum), 0.0
        opened = self._open_pinned_group(direction, crossed == 0)
        self.regroup()
        return int(crossed) + opened

    def _open_pinned_group(self, direction: FloatArray, stuck: bool) -> int:
        """Take in the members of a group that is itself held at zero, once few are left or nothing else
        moves: a vertex on a group is none of the whole vocabulary's."""
        opened = 0
        for group, side in ((BELOW_GROUP, -1.0), (ABOVE_GROUP, 1.0)):
            if group not in self.basis or not (stuck or (side < 0.0 and self.below_count <= GROWTH)):
                continue
            members = np.flatnonzero((self.space.side_of == side) & (self.space.outside > 0.0))
            z = direction @ self.context.columns(members)
            if members.size > GROWTH:
                chosen = _sweep.heaviest(self.context.probs[members] / (np.abs(z) + 0.1), GROWTH)
                members, z = members[chosen], z[chosen]
            new = self._join(members, z)
            self.space.outside[members] = 0.0
            opened += members.size
            if side < 0.0:
                self.below_sum = self.below_sum - self.space.columns[:, new] @ self.space.mass[new]
                self.below_count -= members.size
                if self.below_count == 0:
                    self.below_sum, self.moved_mass = np.zeros_like(self.below_sum), 0.0
        return opened

    def group_is_pinned(self) -> bool:
        """Whether a group itself is held at zero, so that its tokens share a fraction between 0 and 1."""
        return bool(np.any((self.basis >= 0) & (self.basis <= BELOW_GROUP)))

    def pinned_fractions(self) -> tuple[IntArray, FloatArray, float, FloatArray]:
        """Pinned slots of the working set, their fractions, the threshold, and what does not add up.

        Solved afresh in the basis's own coordinates, so that a proof does not carry the climb's rounding.
        """
        pinned = self.basis[self.basis != EMPTY]
        below = np.where(self.space.side[: self.n] < 0.0, self.space.mass[: self.n], 0.0)
        fixed = self.mass_i * self.a_i + self.space.columns[:, : self.n] @ below
        system = np.empty((fixed.size, 1 + pinned.size))  # [r, 1 + pinned]
        system[:, 0] = self.context.mean
        np.negative(self.space.columns[:, pinned], out=system[:, 1:])
        solution = _solve_twice(system, fixed)
        residual = fixed - system @ solution
        return pinned, solution[1:] / self.space.mass[pinned], float(solution[0]), residual

    def refined_directions(self) -> Iterator[FloatArray]:
        """The vertex's direction solved afresh in the basis's own coordinates: b . y = 1, a_B . y = 0.

        First near the point where the climb ended. Then, because empty slots leave it free to wander off
        along directions that no token notices, the shortest.
        """
        pinned = self.basis[self.basis != EMPTY]
        shortest: FloatArray = np.linalg.lstsq(
            self.space.by_token[pinned], -np.ones(pinned.size), rcond=None
        )[0].astype(np.float64)
        system = np.vstack([self.context.mean, self.space.columns[:, pinned].T])  # [1 + pinned, r]
        right = np.eye(1, pinned.size + 1)[0]
        for u in (self.u, shortest):
            y = self.context.direction(u)
            for _ in range(3):
                y = y + np.linalg.lstsq(system, right - system @ y, rcond=None)[0]
            yield y

    def all_fractions(self) -> FloatArray:
        """phi over the whole vocabulary, as the climb stands."""
        self.publish_sides()
        phi = np.where(self.space.side_of < 0.0, 1.0, 0.0)
        pinned, fractions, _, _ = self.pinned_fractions()
        for slot, fraction in zip(pinned, fractions, strict=True):
            if slot == ABOVE_GROUP:
                phi[(self.space.outside > 0.0) & (self.space.side_of > 0.0)] = fraction
            elif slot == BELOW_GROUP:
                phi[(self.space.outside > 0.0) & (self.space.side_of < 0.0)] = fraction
            else:
                phi[self.space.tokens[slot]] = fraction
        phi[self.token] = 0.0
        return np.asarray(phi)
