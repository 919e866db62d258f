"""Pages that change while they are open: one look for all who watch, and none when nobody does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bat.errors import InvalidInputError
from harness.api.runs import list_progress
from harness.view import live
from harness.view.live import Live, Parts
from tests.harness import stores


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_LEAST_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(live, "_PAUSE_FOR_EACH_SECOND", 0.0)


async def _first_messages(channels: Live, look: Callable[[], Parts], count: int) -> list[Parts]:
    """The first so many messages of one watcher."""
    messages: list[Parts] = []
    stream = channels.response("subject", look).body_iterator
    async for line in stream:
        messages.append(json.loads(str(line).removeprefix("data: ")))
        if len(messages) == count:
            break
    await stream.aclose()  # type: ignore[union-attr]
    return messages


def test_only_the_parts_that_changed_are_sent_and_all_watchers_share_a_look() -> None:
    looks = 0

    def look() -> Parts:
        nonlocal looks
        looks += 1
        return {"same": "<p>1</p>", "counts": f"<p>{looks // 5}</p>"}

    async def watch() -> list[list[Parts]]:
        channels = Live()
        messages = await asyncio.gather(*(_first_messages(channels, look, 3) for _ in range(10)))
        seen = looks
        await asyncio.sleep(0.2)
        assert looks <= seen + 1  # nobody watches, nobody looks
        return messages

    for first, second, third in asyncio.run(watch()):
        assert first == {"same": "<p>1</p>", "counts": "<p>0</p>", "problem": ""}
        assert (second, third) == ({"counts": "<p>1</p>"}, {"counts": "<p>2</p>"})
    assert looks < 30  # not ten times as many


def test_a_database_that_is_away_is_a_sentence_until_it_is_back() -> None:
    answers = iter(["now", None, "then"])

    def look() -> Parts:
        part = next(answers, "then")
        if part is None:
            raise InvalidInputError("the database is away.")
        return {"part": part}

    messages = asyncio.run(_first_messages(Live(), look, 3))
    assert messages[1] == {"problem": "The database is away."}
    assert messages[2] == {"part": "then", "problem": ""}


def test_a_run_that_is_running_has_a_pace_and_a_time_left(tmp_path: Path) -> None:
    address, run_id = stores.planned(tmp_path)
    assert list_progress(address)[0].jobs_per_second is None
    with stores.open_again(address) as store:
        stores.work(store, run_id, 2)
        stores.move_back(store, started=20, attempts_took=5)
        store.claim("other:1:aa", 1, 600.0, run_id)
        [progress] = list_progress(store)
    assert progress.jobs_per_second == pytest.approx(2 / 20, rel=0.3)
    assert progress.seconds_left is not None
    assert progress.seconds_left_is_least  # of other kinds, no job is done
