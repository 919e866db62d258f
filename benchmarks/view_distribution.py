"""`bat-harness view`, one distribution: what the server computes for it, and what a move of a slider costs.

The machine may be busy with other work, so the server's part is measured in processor time, and the script's
by the median of many moves.
"""

from __future__ import annotations

import os
import shutil
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.record import Figure, figures_of, write_figures
from harness.store import open_store
from harness.view.answers import TOKENS, Context, describe
from harness.view.model import DEFAULT_CONSTRAINTS, DEFAULT_MODEL, LoadedModel
from harness.view.serving import make_server
from harness.view.settings import ViewSettings

GROUP = "view, one distribution"
PROMPTS = (
    "The mayor said",
    "My name is",
    "Once upon a time",
    "Taylor",
    "In the experiment, we found that the",
)
METHODS = 8
MOVES = 100
SECONDS = 2.0
FRAME_MILLISECONDS = 16.0

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]

# Every move decides anew for all methods, and the time includes style and layout, up to painting.
_MOVE = """moves => {
  const slider = document.querySelector('input[data-method="ba-eta"]');
  const times = [];
  for (let move = 0; move < moves; move += 1) {
    slider.value = (move * 37) % Number(slider.max);
    const began = performance.now();
    slider.dispatchEvent(new Event("input"));
    document.getElementById("methods").getBoundingClientRect();
    times.push(performance.now() - began);
  }
  return times;
}"""


def measure() -> Iterator[Figure]:
    yield from figures_of("benchmarks.view_distribution")


def _figures() -> Iterator[Figure]:
    yield _distribution()
    if BROWSER is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        yield _slider(Path(folder))


def _distribution() -> Figure:
    from workers import models

    loaded = LoadedModel(models.load(DEFAULT_MODEL))
    describe(loaded, Context("Before it is timed,", ()), DEFAULT_CONSTRAINTS)  # bases, and compiled code
    cores = len(os.sched_getaffinity(0))
    shares, walls = [], []
    for prompt in PROMPTS:
        began, spent = time.perf_counter(), time.process_time()
        describe(loaded, Context(prompt, ()), DEFAULT_CONSTRAINTS)
        shares.append((time.process_time() - spent) / cores)
        walls.append(time.perf_counter() - began)
    numbers = ", ".join(map(str, DEFAULT_CONSTRAINTS))
    return Figure(
        GROUP,
        f"{TOKENS} tokens after a prompt on {DEFAULT_MODEL}, c = {numbers}: processor time for each core",
        statistics.median(shares),
        "s",
        f"median of {len(PROMPTS)} prompts on {cores} cores; slowest {max(shares):.2f} s; "
        f"by the clock {statistics.median(walls):.2f} s",
        f"< {SECONDS:g} s",
        statistics.median(shares) < SECONDS,
    )


def _slider(folder: Path) -> Figure:
    from playwright.sync_api import sync_playwright

    address = f"sqlite:///{folder}/empty.db"
    open_store(address).close()
    with _serving(ViewSettings(address, model="fake:v=1000,d=64")) as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=_FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{site}/distribution")
        page.locator("#play:not([hidden])").wait_for(timeout=300_000)
        page.locator("#distribution:not([aria-busy])").wait_for()
        for name in ("min-p", "ba-min-p"):
            page.locator("#more").get_by_label(name, exact=True).check()
        page.locator("#shown").fill(str(TOKENS))
        count = page.locator(".method").count()
        assert count == METHODS, count
        times: list[float] = page.evaluate(_MOVE, MOVES)
        browser.close()
    median = statistics.median(times)
    return Figure(
        GROUP,
        f"a move of a slider, {TOKENS} tokens and {METHODS} methods: script, style and layout",
        median,
        "ms",
        f"median of {MOVES} moves; slowest {max(times):.1f} ms",
        f"< {FRAME_MILLISECONDS:g} ms",
        median < FRAME_MILLISECONDS,
    )


@contextmanager
def _serving(settings: ViewSettings) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = make_server(settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        thread.join(timeout=10)


if __name__ == "__main__":
    write_figures(_figures())
