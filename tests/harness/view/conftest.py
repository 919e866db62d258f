"""A finished run whose corpus holds HTML, a server of `bat-harness view` for it, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from harness.view.settings import ViewSettings
from tests.harness.driver.sweeps import tiny_sweep, write_corpus
from tests.harness.report.finished import run_in_this_process
from tests.harness.view.sites import serving

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# It runs as root in containers, and talks to nobody.
QUIET = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]
MILLISECONDS = 30_000  # before a test gives up: other tests take the cores

# A page that does not escape it runs it, and the test that opens the page finds out.
HTML = "<img src=x onerror=alert(1)><script>alert(2)</script> & <b>bold</b>"


@pytest.fixture(scope="session")
def site_db(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a database with one run, "tiny", that is done; only to be read."""
    folder = tmp_path_factory.mktemp("view")
    corpus = write_corpus(folder / "corpus")
    for path in corpus.iterdir():
        path.write_text(path.read_text().replace(":", f": {HTML}"))
    sweep = tiny_sweep(
        corpus,
        prefixes={"count": 6, "tokens": 96, "min_continuation_tokens": 6, "shard_size": 3},
        scoring={"mauve": {"kmeans_seeds": [25], "kmeans_redo": 1}, "resamples": 20},
    )
    return run_in_this_process(folder / "tiny.db", sweep)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for a module. While it is open, no other loop runs in this thread."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=BROWSER, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def site(site_db: str) -> Iterator[str]:
    """The address of a server of the finished run."""
    with serving(ViewSettings(site_db)) as address:
        yield address


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may write nothing to the console, and whose requests stay on this machine."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(MILLISECONDS)
    opened = context.new_page()
    problems: list[str] = []
    opened.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
    hosts: set[str | None] = set()
    opened.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    yield opened
    context.close()
    assert problems == []
    assert hosts <= {"127.0.0.1", None}  # None: the icon in the page itself
