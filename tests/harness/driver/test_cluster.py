"""Reaching a cluster and sizing the pool, with a Ray that is only talked about."""

from __future__ import annotations

import contextlib
import signal
import sys
from typing import Any

import pytest
from ray.exceptions import AuthenticationError

from harness.config.schema import Resources
from harness.driver import cluster
from harness.driver.ray_pool import ClusterError


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What ray.init was asked for; it changes what SIGTERM does, as the real one."""
    asked: dict[str, Any] = {}

    def init(**options: Any) -> None:
        asked.update(options)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    monkeypatch.setattr(cluster.ray, "is_initialized", lambda: False)
    monkeypatch.setattr(cluster.ray, "init", init)
    monkeypatch.setattr(cluster.ray, "shutdown", lambda: asked.update(ended=True))
    return asked


def test_a_connection_leaves_signals_as_they_were(asked: dict[str, Any]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with cluster.connected("local"):
        assert signal.getsignal(signal.SIGTERM) is before
        assert "ended" not in asked
    assert asked["ended"]
    assert (asked["address"], asked["runtime_env"]) == ("local", None)


def test_the_code_is_sent_along_when_asked_for(asked: dict[str, Any]) -> None:
    with cluster.connected("auto", ship_code=True):
        pass
    folders = asked["runtime_env"]["py_modules"]
    assert [folder.rpartition("/")[2] for folder in folders] == ["bat", "workers", "harness"]


def test_a_cluster_that_wants_a_token_says_so(asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> None:
        raise AuthenticationError("InvalidAuthToken")

    monkeypatch.setattr(cluster.ray, "init", fail)
    monkeypatch.setattr(cluster, "_check_reachable", lambda _: None)
    with (
        pytest.raises(ClusterError, match=r"'head:6379': InvalidAuthToken.*RAY_AUTH_TOKEN_PATH"),
        cluster.connected("head:6379"),
    ):
        pass
    assert "ended" not in asked


@pytest.mark.parametrize(
    ("resources", "workers", "expected"),
    [
        ({}, None, 12),
        ({"num_cpus": 5}, None, 2),
        ({"num_cpus": 2, "num_gpus": 1}, None, 3),
        ({"num_gpus": 0.5}, None, 6),
        ({"num_gpus": 0.25}, None, 12),
        ({"batches_in_flight": 3}, None, 12),
        ({"workers": 4}, None, 4),
        ({"workers": 4}, 7, 7),
        ({"num_cpus": 12}, 5, 5),  # the others start when the cluster has grown
    ],
)
def test_as_many_workers_as_asked_for_or_as_there_is_room_for(
    resources: dict[str, Any], workers: int | None, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    monkeypatch.setattr(cluster.ray, "cluster_resources", lambda: {"CPU": 12.0, "GPU": 3.0})
    monkeypatch.setattr(cluster, "RayPool", lambda *given, **named: made.append((given, named)))
    wanted = Resources(**resources)
    cluster.make_pool(wanted, workers)
    in_flight = resources.get("batches_in_flight")  # auto: each worker decides, by its device
    positional = (expected, wanted.num_cpus, wanted.num_gpus, None)
    assert made == [(positional, {"batches_in_flight": in_flight})]


def test_no_room_at_all_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster.ray, "cluster_resources", lambda: {"CPU": 12.0})
    with pytest.raises(
        ClusterError, match=r"num_cpus: 4 and .*num_gpus: 1; the cluster has 12 CPUs and 0 GPUs"
    ):
        cluster.make_pool(Resources(num_cpus=4, num_gpus=1))


def test_what_ray_prints_goes_to_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(cluster.LOGGER, "info", lambda form, line: lines.append(form % line))
    with contextlib.redirect_stdout(cluster._Log()):
        sys.stdout.write("\x1b[33m(raylet)\x1b[0m A worker died\n\nof something\n")
    assert lines == ["Ray: (raylet) A worker died", "Ray: of something"]
