"""docs/architecture.md names the files that a job of each kind passes through: these, and no more than 16."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from harness.driver.pool import Vacancy
from harness.jobs import KINDS
from harness.planning.materials import Materials
from harness.report.loading import load_results
from tests.harness.driver.sweeps import LocalPool, make_driver, open_quick_store, tiny_sweep

ROOT = Path(__file__).parents[2]
MOST = 16
# Where a job passes through. What the work calls, in workers and harness/scoring, is not part of the walk.
ROOMS = tuple(f"harness/{name}/" for name in ("planning", "jobs", "store", "driver", "report"))
# Ray runs the work elsewhere; here, workers are in this process.
IN_RAY = {"harness/driver/ray_pool.py", "workers/actors.py"}
Files = set[str]


def paths_in(text: str) -> Files:
    return set(re.findall(r"`((?:harness|workers)/[\w/]+(?:\.py|/))`", text))


def read_page() -> tuple[dict[str, Files], dict[str, int], Files]:
    """For each kind, the files of its walk and the number given for them; and what is left out."""
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    walk = page.partition("## The walk of a job")[2].partition("\n## ")[0]
    shared = paths_in(walk.partition("Read for every kind:")[2].partition("\n\n")[0])
    left_out = paths_in(walk.partition("A file counts if")[2].partition("\n\n")[0])
    files, numbers = {}, {}
    for kind, own, number in re.findall(r"^\| `(\w+)` \|(.*)\| (\d+) \|$", walk, re.MULTILINE):
        files[kind], numbers[kind] = shared | paths_in(own), int(number)
    return files, numbers, left_out


class OneAtATime(LocalPool):
    def vacancies(self) -> list[Vacancy]:
        return super().vacancies()[:1]


@contextmanager
def recording() -> Iterator[Files]:
    """The files of this project in which functions are called."""
    files: Files = set()

    def see(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(ROOT):
                files.add(str(path.relative_to(ROOT)))

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        yield files
    finally:
        sys.setprofile(before)


@pytest.fixture(scope="module")
def walked(text_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Files, dict[str, Files]]:
    """The files seen while a plan is made and results are loaded, and those of the jobs of each kind."""
    folder = tmp_path_factory.mktemp("walk")
    methods = [{"rule": "eta", "parameter": 0.01}]
    materials = Materials(tiny_sweep(text_corpus, methods=methods))
    prefixes = materials.prefix_set(materials.card(materials.config.models[0]), "test").prefixes
    rows = [json.dumps({"id": prefix.id, "continuation": "a new bridge would open"}) for prefix in prefixes]
    (folder / "theirs.jsonl").write_text("\n".join(rows))
    theirs = {"name": "theirs", "file": str(folder / "theirs.jsonl"), "prefix_id": "id"}
    pool = OneAtATime()
    jobs: dict[str, Files] = {}
    with open_quick_store(folder / "r.db") as store:
        config = tiny_sweep(text_corpus, methods=methods, imports=[theirs])
        driver = make_driver(store, config, lambda: pool)
        with recording() as around:
            driver._enqueue()
        while True:
            with recording() as files:
                driver._hand_out(pool)
                leases = list(driver.leases.values())
                if leases:
                    driver._collect(pool)
            if not leases:
                break
            [lease] = leases
            kind = type(lease.parse()).__name__
            jobs.setdefault(kind, set()).update(files)
        with recording() as files:
            assert len(load_results(store, store.runs()).results) == 2
    return around | files, jobs


@pytest.mark.parametrize("kind", [kind.__name__ for kind in KINDS])
def test_a_job_passes_through_the_files_that_the_page_names(
    kind: str, walked: tuple[Files, dict[str, Files]]
) -> None:
    pages, numbers, left_out = read_page()
    around, jobs = walked
    assert kind in pages, f"docs/architecture.md has no row for {kind} in its table of kinds of jobs"
    assert len(pages[kind]) == numbers[kind] <= MOST
    seen = {path for path in jobs[kind] if path.startswith(ROOMS)}
    unnamed = {path for path in seen - pages[kind] if not path.startswith(tuple(left_out))}
    assert unnamed == set(), "a job passes through files that docs/architecture.md does not name"
    assert pages[kind] - jobs[kind] - around == IN_RAY, "files that no such job passes through"


def test_the_page_names_all_files_around_the_jobs(walked: tuple[Files, dict[str, Files]]) -> None:
    pages, _, left_out = read_page()
    named = set().union(*pages.values())
    kinds = {kind.__name__ for kind in KINDS}
    assert pages.keys() <= kinds, "docs/architecture.md has rows for kinds of jobs that do not exist"
    assert [path for path in sorted(named | left_out) if not (ROOT / path).exists()] == []
    around = {path for path in walked[0] if path.startswith(ROOMS)}
    assert {path for path in around - named if not path.startswith(tuple(left_out))} == set()
