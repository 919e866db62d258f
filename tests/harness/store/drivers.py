"""What other processes do in tests of the store; light, because they import it anew."""

from __future__ import annotations

from multiprocessing.connection import Connection

from harness.jobs import ScoreRows
from harness.scoring.scores import ScoreEntry
from harness.store import open_store, queue


def score(value: float = 0.5) -> ScoreRows:
    return ScoreRows((ScoreEntry("mauve", value, 0.4, 0.6, {"seeds": [1, 2]}),))


def work(address: str, owner: str, pipe: Connection) -> None:
    """Do jobs until none is left, and tell which."""
    done: list[str] = []
    with open_store(address) as store:
        pipe.send("ready")
        pipe.recv()
        while leases := store.claim(owner, 3, 600.0):
            kept = store.complete_many([(lease, score()) for lease in leases])
            done += [lease.job_id for lease, is_kept in zip(leases, kept, strict=True) if is_kept]
    pipe.send(done)


def write_half(address: str, owner: str, pipe: Connection) -> None:
    """Complete one job, then stand still in the middle of the transaction that completes the next."""
    with open_store(address) as store:
        first, second = store.claim(owner, 2, 600.0)
        assert store.complete(first, score(0.25))

        def stand_still(*_: object) -> None:
            pipe.send(first.job_id)
            pipe.recv()

        queue.finish = stand_still
        store.complete(second, score(0.75))
