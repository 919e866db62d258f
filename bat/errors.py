"""Every exception the project raises on purpose.

    BatError                     the root: catch this to catch them all
    ├── InvalidInputError        a value the caller gave cannot be used (also a ValueError)
    └── SolverUnavailableError   a solver was named whose package cannot be imported

A message states the requirement, the value received, where it was found and what to do next.
A solver that merely fails to close an interval does not raise: it answers with a status.
"""


class BatError(Exception):
    """Root of the project's exceptions; printed to users without a traceback."""


class InvalidInputError(BatError, ValueError):
    """A value the caller gave cannot be used."""


class SolverUnavailableError(BatError):
    """A solver was named whose package cannot be imported."""
