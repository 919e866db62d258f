"""Positions on the axis of a chart, in percent of its width: lengths of SVG that suit any screen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_MARGIN = 0.04  # of the width, on either side
_TICKS = 5


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis from `low` to `high`."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> str:
        """Where a value is drawn, such as "12.5%"."""
        span = self.high - self.low or 1.0
        share = _MARGIN + (1 - 2 * _MARGIN) * (value - self.low) / span
        return f"{100 * min(max(share, 0.0), 1.0):.2f}%"

    def text(self, tick: float) -> str:
        """The number at a tick."""
        return f"{tick:.6g}"


def scale_of(values: Iterable[float | None], *, include: float | None = None) -> Scale:
    """An axis on which all of these values are."""
    numbers = [value for value in (*values, include) if value is not None and math.isfinite(value)]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    step = _step((high - low) / _TICKS)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return Scale(low, high, tuple(round(step * number, 12) for number in range(first, last + 1)))


def _step(least: float) -> float:
    """The next larger of 1, 2, 5, 10..."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))
