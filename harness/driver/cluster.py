"""Where workers run: a Ray of this machine's own, or a cluster that is there already."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

import ray

from bat.errors import BatError, InvalidInputError
from harness.config.schema import Resources
from harness.driver.ray_pool import RayPool


class ClusterError(BatError):
    """The Ray cluster cannot be reached, or has no room for a worker."""


@contextlib.contextmanager
def connected(address: str, *, ship_code: bool = False) -> Iterator[None]:
    """Be connected to Ray at an address: `local` starts one here, `auto` finds one that runs.

    With `ship_code` the three packages are sent along, for clusters whose machines have the libraries but not
    this project.
    """
    if ray.is_initialized():  # by whoever called: theirs to end, too
        yield
        return
    environment = {"py_modules": [str(folder) for folder in _packages()]} if ship_code else None
    try:
        ray.init(
            address=address,
            runtime_env=environment,
            include_dashboard=False if address == "local" else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"Ray cannot be reached at {address!r}: {str(error).splitlines()[0]} "
            "Start one with `ray start --head`, or use --address local."
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def make_pool(resources: Resources, workers: int | None = None) -> RayPool:
    """Start the workers that the resources ask for, or as many as there is room for."""
    available: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    cores, gpus = available.get("CPU", 0.0), available.get("GPU", 0.0)
    room = int(cores // resources.num_cpus)
    if resources.num_gpus > 0:
        room = min(room, int(gpus / resources.num_gpus))
    wanted = workers if workers is not None else resources.workers
    count = room if wanted == "auto" else int(wanted)
    if count < 1:
        raise InvalidInputError(f"at least one worker is needed; got {count}.")
    if room < 1:
        raise ClusterError(
            f"a worker needs {resources.num_cpus} cores and {resources.num_gpus:g} GPUs, and the cluster has "
            f"{cores:g} and {gpus:g}. Change resources.num_cpus or resources.num_gpus."
        )
    # More than there is room for would wait for ever while the others have their jobs.
    return RayPool(min(count, room), resources.num_cpus, resources.num_gpus)


def _packages() -> list[Path]:
    import bat
    import harness
    import workers

    return [Path(package.__path__[0]) for package in (bat, workers, harness)]
