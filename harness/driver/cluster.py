"""Connecting to Ray: starting it on this machine, or joining a running cluster."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO
from unittest import mock

import ray
from ray._private import parameter, ray_constants, services
from ray.exceptions import RayError

from bat.errors import InvalidInputError
from harness.config.schema import Resources
from harness.driver.log import LOGGER
from harness.driver.ray_pool import ClusterError, RayPool
from harness.words import without_colours

_SECONDS_TO_REACH = 10.0
_OPTIONS_OF_LOCAL: dict[str, Any] = {
    "include_dashboard": False,
    "_node_ip_address": "127.0.0.1",
    "_system_config": {
        # Ray starts workers with a niceness of 15, so that beside other programs they hardly get to run.
        "worker_niceness": 0,
        # One for each core: where a worker of ours takes several cores, the others would never be used.
        "prestart_worker_first_driver": False,
    },
}
_START = "Start one with `ray start --head`, or use --address local."
_FORM = "An address is local, auto, HOST:6379 or ray://HOST:10001."
_ADMISSION = (
    "It must have the same version of Ray. If it requires a token, set RAY_AUTH_MODE=token and "
    "RAY_AUTH_TOKEN_PATH to the file with the token."
)


@contextlib.contextmanager
def connected(address: str, *, ship_code: bool = False) -> Iterator[None]:
    """Connect to Ray at an address: `local` starts it here, `auto` joins a cluster on this machine.

    With `ship_code` the three packages are sent to the cluster, for machines that have the libraries but not
    this project.
    """
    if ray.is_initialized():  # by the caller, who also shuts it down
        yield
        return
    _check_reachable(address)
    environment = {"py_modules": [str(folder) for folder in _packages()]} if ship_code else None
    local = _OPTIONS_OF_LOCAL if address == "local" else {}
    try:
        with _own_signals(), _lean() if local else contextlib.nullcontext():
            ray.init(
                address=address,
                runtime_env=environment,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **local,
            )
    except ValueError as error:
        raise _unreachable(address, error, _FORM) from error
    except (ConnectionError, RuntimeError, TimeoutError, RayError) as error:
        raise _unreachable(address, error, _START if address in ("local", "auto") else _ADMISSION) from error
    try:
        # Ray prints about dead workers to standard output, which may be read by a program.
        with contextlib.redirect_stdout(_LogOfOtherThreads(sys.stdout)):
            yield
    except (ConnectionError, RayError) as error:
        advice = "When it is back, run the same command again to resume; stored results are kept."
        raise _unreachable(address, error, advice) from error
    finally:
        ray.shutdown()


def make_pool(
    resources: Resources, workers: int | None = None, note: Callable[[str], None] | None = None
) -> RayPool:
    """Start the number of workers that the resources name, or as many as fit.

    Workers that do not fit now start when there is room: some clusters grow on demand.
    """
    available: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    cores, gpus = available.get("CPU", 0.0), available.get("GPU", 0.0)
    room = int(cores // resources.num_cpus)
    if resources.num_gpus > 0:
        room = min(room, int(gpus / resources.num_gpus))
    if room < 1:
        raise ClusterError(
            f"a worker needs resources.num_cpus: {resources.num_cpus} and resources.num_gpus: "
            f"{resources.num_gpus:g}; the cluster has {cores:g} CPUs and {gpus:g} GPUs. Ask for less."
        )
    requested = workers if workers is not None else resources.workers
    count = room if requested == "auto" else int(requested)
    if count < 1:
        raise InvalidInputError(f"the number of workers must be at least 1; got {count}.")
    in_flight = None if resources.batches_in_flight == "auto" else resources.batches_in_flight
    return RayPool(count, resources.num_cpus, resources.num_gpus, note, batches_in_flight=in_flight)


def _check_reachable(address: str) -> None:
    """Try to connect to the machine once: Ray itself keeps trying for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # no machine in the address, or in a form that only Ray understands
    try:
        socket.create_connection((host, int(port)), _SECONDS_TO_REACH).close()
    except (OSError, OverflowError) as error:
        raise _unreachable(address, error, _START) from error


def _unreachable(address: str, error: Exception, advice: str) -> ClusterError:
    reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
    return ClusterError(f"Ray cannot be reached at {address!r}: {reason}. {advice}")


@contextlib.contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this process's SIGTERM handler, which ray.init replaces by one that exits at once."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _lean() -> Iterator[None]:
    """Let a Ray that starts inside be for this machine alone, for which `ray.init` has no options.

    * It listens on the loopback interface only. Otherwise Ray replaces a loopback address by that of the
      network, and its servers then listen on every interface. Ray's own switch is
      RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0, which keeps the firewalls of those systems quiet; but Ray reads it
      only once, when it is imported.
    * It starts no autoscaler, which looks for more machines; no log monitor, which copies what workers print
      to the driver; and no API server, which serves the dashboard and for which `ray.init` waits before it
      starts anything else. Each is a process that imports Ray.
    """
    options: dict[str, Any] = {"no_monitor": True, "include_log_monitor": False}
    params = functools.partial(parameter.RayParams, **options)
    changes: tuple[tuple[Any, str, Any], ...] = (
        (ray_constants, "ENABLE_RAY_CLUSTER", False),
        (parameter, "RayParams", params),
        (services, "start_api_server", lambda *_, **__: (None, None)),  # as when it could not be started
    )
    with contextlib.ExitStack() as stack:
        for module, name, value in changes:
            if hasattr(module, name):
                stack.enter_context(mock.patch.object(module, name, value))
            else:
                LOGGER.warning("Ray %s has no %s.%s: it starts as usual.", ray.__version__, module, name)
        yield


class _Log(io.TextIOBase):
    """Writes to the log, a line at a time."""

    def write(self, text: str) -> int:
        for line in filter(None, map(str.strip, without_colours(text).splitlines())):
            LOGGER.info("Ray: %s", line)
        return len(text)


class _LogOfOtherThreads(_Log):
    """Writes to the log what threads print that are started from now on, which are Ray's; the others, such
    as that of a notebook, print as before."""

    def __init__(self, output: TextIO) -> None:
        self._output = output
        self._threads = set(threading.enumerate())

    def write(self, text: str) -> int:
        if threading.current_thread() in self._threads:
            return self._output.write(text)
        return super().write(text)

    def flush(self) -> None:
        self._output.flush()


def _packages() -> list[Path]:
    import bat
    import harness
    import workers

    return [Path(package.__path__[0]) for package in (bat, workers, harness)]
