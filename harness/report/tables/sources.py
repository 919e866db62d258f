"""The data that tables are built from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.report.results import Cost, Measured, Result, Results
from workers.measurement_record import Measurement


@dataclass(frozen=True, slots=True)
class Sources:
    """Results, and functions that load what is too large to keep with them."""

    results: Results
    measurement: Callable[[Measured], Measurement]
    cost: Callable[[Result], Cost | None]  # None if unknown

    def find_measurement(self, result: Result) -> tuple[Measured, Measurement] | None:
        """The measured human text from which a result's rejection rate is computed, if there is any."""
        constraints = result.setting.constraints
        matching = [
            measured
            for measured in self.results.measured
            if measured.model == result.model and (constraints is None or constraints in measured.basis_sizes)
        ]
        if not matching:
            return None
        # Preferably of the same run.
        chosen = min(matching, key=lambda measured: measured.run_id != result.run_id)
        return chosen, self.measurement(chosen)
