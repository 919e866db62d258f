"""bat-harness export: what is in the files is what is in the database."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from bat.acceptance import Acceptance
from harness.config import load_config, parse_config, run_identity
from harness.export import run_files
from harness.export.run_files import config_yaml, export_run
from harness.export.tables import TABLES
from harness.jobs import JobKind
from harness.store import open_reader
from tests.harness import stores
from tests.harness.store import examples
from tests.harness.stores import run_command

CONFIGS = Path(__file__).parent.parent.parent / "configs"


def export(capsys: pytest.CaptureFixture[str], address: str, *arguments: str, code: int = 0) -> str:
    return run_command(capsys, "export", "--db", address, *arguments, code=code)


def test_every_table_and_what_the_run_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, folder = stores.filled(tmp_path), tmp_path / "out"
    printed = export(capsys, address, "demo", "-o", str(folder))
    names = [f"{table.name}.parquet" for table in TABLES]
    assert sorted(path.name for path in folder.iterdir()) == sorted([*names, "config.yaml", "run.json"])
    for name in names:
        assert name in printed
    facts = json.loads((folder / "run.json").read_text())
    assert facts["versions"] == examples.VERSIONS
    assert facts["rows"]["jobs"] == 5
    assert facts["config"] == examples.CONFIG
    for table in TABLES:
        found = pq.read_table(folder / f"{table.name}.parquet")
        assert found.schema.equals(table.schema)
        assert len(found) == facts["rows"][table.name] > 0


def test_rows_are_those_of_the_database(tmp_path: Path) -> None:
    address, folder = stores.filled(tmp_path), tmp_path / "out"
    with open_reader(address) as reader:
        run = reader.get_run("demo")
        export_run(reader, run, folder)
        jobs = {kind: [job.id for job in reader.jobs(run.id, kind)] for kind in JobKind}
        texts = list(reader.generations(jobs[JobKind.GENERATE]))
        measured = reader.measurement(jobs[JobKind.MEASURE])
        features = reader.features(jobs[JobKind.FEATURIZE])
        [score] = reader.scores(jobs[JobKind.SCORE])

    def read(name: str) -> pd.DataFrame:
        return pd.read_parquet(folder / f"{name}.parquet")

    assert read("generations")["text"].tolist() == [text.text for _, text in texts]
    assert read("prefixes")["token_ids"][2].tolist() == [2, 3, 4, 5, 6]
    for name, values in (("probability", measured.probability), ("token", measured.token)):
        assert np.array_equal(read("measurements")[name], values)
    bounds = read("measurement_thresholds")
    for size, thresholds in measured.thresholds.items():
        assert np.array_equal(bounds[bounds["constraints"] == size]["upper"], thresholds.upper)
    assert np.array_equal(np.stack(read("features")["vector"].tolist()), features)
    assert read("scores")["value"].tolist() == [score.value]
    assert json.loads(read("scores")["detail"][0]) == {"seeds": [1, 2]}
    assert str(read("jobs")["finished_at"].dtype).endswith("UTC]")
    assert read("resolutions")["value"].tolist() == ["0.024"]
    check_tokens(read("tokens"), texts)


def check_tokens(tokens: pd.DataFrame, texts: list[Any]) -> None:
    assert len(tokens) == sum(len(text.trace) for _, text in texts)
    first = tokens[tokens["job"] == texts[0][0]]
    trace = texts[0][1].trace
    rows = first[first["item"] == 0]
    assert rows["step"].tolist() == list(range(len(trace)))
    assert np.array_equal(rows["token"], trace.token_ids)
    assert np.array_equal(rows["probability"], trace.probabilities)
    assert rows["threshold"].isna().all()
    assert rows["acceptance"].tolist() == [Acceptance(way).name.lower() for way in trace.acceptance]
    assert np.array_equal(rows["pivots"], trace.pivots)
    assert [list(rejected_tokens) for rejected_tokens in rows["rejected_tokens"]] == [
        trace.rejected_before(step) for step in range(len(trace))
    ]


def test_csv_says_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = stores.filled(tmp_path)
    export(capsys, address, "-o", str(tmp_path / "out"))
    told = json.loads(export(capsys, address, "-o", str(tmp_path / "csv"), "--format", "csv", "--json"))
    for one in told["files"]:
        if one["rows"] is None:
            continue
        path = Path(one["file"])
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        whole = pq.read_table(tmp_path / "out" / f"{path.stem}.parquet")
        assert len(rows) == one["rows"] == len(whole)
        assert list(rows[0]) == whole.column_names
    with (tmp_path / "csv" / "tokens.csv").open(newline="") as stream:
        row = next(row for row in csv.DictReader(stream) if row["rejections"] == "1")
    assert row["rejected_tokens"].isdecimal()
    assert row["threshold"] == ""
    assert row["acceptance"] == "threshold"


def test_nothing_is_written_over_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address, folder = stores.filled(tmp_path), tmp_path / "out"
    export(capsys, address, "-o", str(folder))
    (folder / "mine.txt").write_text("kept")
    assert "it contains files" in export(capsys, address, "-o", str(folder), code=1)
    export(capsys, address, "-o", str(folder), "--format", "csv", "--force")
    assert not list(folder.glob("*.parquet"))
    assert (folder / "mine.txt").read_text() == "kept"


def test_mistakes_are_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = stores.filled(tmp_path)
    (tmp_path / "file").write_text("")
    for arguments, message in (
        (["-o", str(tmp_path / "out"), "--format", "xml"], "--format must be parquet or csv; got 'xml'"),
        (["-o", str(tmp_path / "file")], "cannot be written"),
        (["other", "-o", str(tmp_path / "out")], "no run 'other'"),
    ):
        assert message in export(capsys, address, *arguments, code=1)
    export(capsys, address, code=2)


def test_jobs_that_are_done_meanwhile_stay_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address, run_id = stores.planned(tmp_path)
    with stores.open_again(address) as store, open_reader(address) as reader:
        stores.work(store, run_id, 3)
        first, *others = TABLES

        def tables() -> Any:
            yield first
            stores.work(store, run_id, 3)
            yield from others

        monkeypatch.setattr(run_files, "TABLES", Once(tables()))
        monkeypatch.setattr(run_files, "_prepare", lambda folder, force: folder.mkdir())
        written = export_run(reader, reader.get_run(run_id), tmp_path / "out")
    rows = {one.path.stem: one.rows for one in written}
    assert rows["generations"] == 4  # of one job, not of four
    assert rows["measurements"] == 24
    jobs = pq.read_table(tmp_path / "out" / "jobs.parquet")
    assert jobs.column("state").to_pylist().count("done") == 3


class Once:
    """Tables that are read once, with something happening between them."""

    def __init__(self, tables: Any) -> None:
        self.tables = tables

    def __iter__(self) -> Any:
        return self.tables


@pytest.mark.parametrize("name", ["smoke.yaml", "paper/comparison.yaml"])
def test_the_sweep_of_an_export_is_the_same_run(name: str, tmp_path: Path) -> None:
    config = load_config(CONFIGS / name).config
    stored = json.loads(json.dumps(run_identity(config)))
    (tmp_path / "config.yaml").write_text(config_yaml(stored), encoding="utf-8")
    assert run_identity(load_config(tmp_path / "config.yaml").config) == run_identity(config)
    assert run_identity(parse_config(config.model_dump(mode="json", exclude_none=True))) == run_identity(
        config
    )
