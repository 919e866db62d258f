"""What tables are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.report.results import Cost, Measured, Result, Results
from workers.measurement_record import Measurement


@dataclass(frozen=True, slots=True)
class Sources:
    """Results, and where to get what is too large to be kept with them."""

    results: Results
    measurement: Callable[[Measured], Measurement]
    cost: Callable[[Result], Cost | None]  # None where it is not known

    def find_measurement(self, result: Result) -> tuple[Measured, Measurement] | None:
        """The human text that tells a result's rejection rate, if its model has measured any."""
        wanted = result.setting.constraints
        fitting = [
            measured
            for measured in self.results.measured
            if measured.model == result.model and (wanted is None or wanted in measured.basis_sizes)
        ]
        if not fitting:
            return None
        chosen = min(fitting, key=lambda measured: measured.run_id != result.run_id)  # its own run's, if any
        return chosen, self.measurement(chosen)
