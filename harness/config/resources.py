"""The section of a sweep that results do not depend on: nothing in it enters an identity."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from harness.config.sections import Enters, Positive, Section


class Resources(Section):
    """How the work is done. Nothing here enters an identity, so all of it may be changed before resuming.

    A worker on CPU computes with `num_cpus` threads; another number of threads, like other hardware, may
    change the last bits of results that are still to be computed.
    """

    enters: ClassVar[Enters] = Enters.NOTHING

    num_cpus: Positive = 1
    """Cores of one worker."""

    num_gpus: Annotated[float, Field(ge=0)] = 0
    """GPUs of one worker; a fraction lets workers share one. With 0 it computes on its cores."""

    workers: Literal["auto"] | Positive = "auto"
    """How many workers; auto is as many as the cluster has room for."""

    lease_seconds: Annotated[float, Field(ge=1)] = 300
    """A driver that is silent for so long loses its jobs to whoever asks for them next. Workers that die are
    noticed at once."""

    max_attempts: Positive = 3
    """How often a job is tried before it is set aside."""
