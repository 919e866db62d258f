"""Texts made elsewhere: read, matched to prefixes, cut, scored and reported beside our own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import yaml

from bat.errors import InvalidInputError
from harness import cli
from harness.config import SweepConfig, expand, parse_config, run_identity
from harness.jobs import ImportedFile, ImportTexts, JobKind, PrefixRange, parse_job
from harness.planning.import_sweep import ImportOptions, import_sweep, join
from harness.report.building import build_tables
from harness.report.parts import Table
from harness.store import Reader, open_reader
from harness.store.records import InstanceKind
from tests.harness.driver.sweeps import (
    WORDS,
    LocalPool,
    make_driver,
    open_quick_store,
    tiny_sweep,
    write_corpus,
)
from tests.harness.jobs.specs import MODEL
from workers.given_texts import encode_continuations, without_prefix
from workers.models import load

FAKE = "fake:v=300,d=8"
Row = dict[str, Any]


def words(generator: np.random.Generator, count: int) -> str:
    return " ".join(generator.choice(WORDS, count).tolist())


def made_up_rows(count: int = 8) -> list[Row]:
    """Prefixes with what a person and two methods wrote; the second repeats the prefix before its text."""
    generator = np.random.default_rng(3)
    rows = []
    for number in range(count):
        prefix = f"Report {number}: {words(generator, 4)}"
        rows.append(
            {
                "prefix": prefix,
                "human": f"{prefix} {words(generator, 9)}.",
                "first": f" {words(generator, 7)}",
                "second": f"{prefix} {words(generator, 8)}",
            }
        )
    return rows


def write_jsonl(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run_here(database: Path, config: SweepConfig) -> tuple[int, int]:
    """Run a sweep to its end; its number, and how many jobs that took."""
    pool = LocalPool()
    with open_quick_store(database) as store:
        driver = make_driver(store, config, lambda: pool)
        assert driver.run().complete
        return driver.run_id, pool.answered


def options_of(file: Path, **changes: Any) -> ImportOptions:
    values: dict[str, Any] = {
        "run": "theirs",
        "file": str(file),
        "columns": (("one", "first"), ("two", "second")),
        "features": FAKE,
        "max_tokens": 24,
    }
    return ImportOptions(**{**values, **changes})


def tables_of(reader: Reader, run: str) -> dict[str, Table]:
    _, parts = build_tables(reader, [reader.get_run(run)])
    return {part.name: part for part in parts if isinstance(part, Table)}


def texts_of(reader: Reader, method: str) -> dict[str, str]:
    sql = "SELECT prefix_text, text FROM generations_view WHERE method = :method"
    with reader.query(sql, {"method": method}) as answer:
        return {row[0]: row[1] for row in answer.rows}


@pytest.mark.parametrize(
    ("prefix", "text", "left"),
    [
        ("a b", "a b c", " c"),
        ("a b", " c", " c"),
        ("Q. My cat", "Q . My  cat sat", " sat"),
        ("Q. My cat", "Q! My cat sat", "Q! My cat sat"),
        ("a (b", "a ( b) c", ") c"),
        ("a b", "a", "a"),
    ],
)
def test_a_text_that_begins_with_its_prefix_loses_it(prefix: str, text: str, left: str) -> None:
    assert without_prefix(prefix, text) == left


def test_a_continuation_is_the_tokens_behind_the_prefix() -> None:
    tokenizer = load(FAKE, "cpu").tokenizer
    prefix = tuple(tokenizer("abc").input_ids)
    whole, cut = encode_continuations(tokenizer, [prefix] * 2, ["abc"] * 2, [" de", " defgh"], 3)
    assert tokenizer.decode(whole) == " de"
    assert tokenizer.decode(cut) == " de"
    # Where the prefix was cut elsewhere, in the middle of what is one token together, both stay as they are.
    [apart] = encode_continuations(tokenizer, [(5, 6)], ["abc"], ["de"], 3)
    assert tokenizer.decode(apart) == "de"


def test_a_new_run_is_made_of_the_file(tmp_path: Path) -> None:
    rows = made_up_rows()
    config = import_sweep(options_of(write_jsonl(tmp_path / "texts.jsonl", rows)), None)
    _, answered = run_here(tmp_path / "r.db", config)
    with open_reader(f"sqlite:///{tmp_path / 'r.db'}") as reader:
        # One shard: 2 of texts, 3 of features with those of people, 3 of scores.
        assert answered == 8
        for column, method in (("first", "one"), ("second", "two")):
            texts = texts_of(reader, method)
            assert texts == {
                row["prefix"]: without_prefix(row["prefix"], row[column])[:24] for row in rows
            }  # a token is a byte
        tables = tables_of(reader, "theirs")
        instances = reader.instances(reader.get_run("theirs").id)
    assert [row.label for row in tables["comparison"].rows] == ["one (imported)", "two (imported)"]
    assert all(row.cells[0].low is not None for row in tables["comparison"].rows)
    [difference] = tables["imported"].rows
    assert difference.label == "one (imported) minus two (imported)"
    one, two = tables["comparison"].rows
    assert difference.cells[0].value == pytest.approx((one.cells[0].value or 0) - (two.cells[0].value or 0))
    assert "perplexity" not in tables["statistics"].columns
    imported = [instance for instance in instances if instance.kind is InstanceKind.GENERATE]
    assert [(each.method, each.rule, each.seed) for each in imported] == [
        ("one", "imported", None),
        ("two", "imported", None),
    ]


def test_a_parquet_file_gives_the_same_texts(tmp_path: Path) -> None:
    rows = made_up_rows()
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "texts.parquet")
    write_jsonl(tmp_path / "texts.jsonl", rows)
    found = []
    for suffix in ("parquet", "jsonl"):
        config = import_sweep(options_of(tmp_path / f"texts.{suffix}"), None)
        run_here(tmp_path / f"{suffix}.db", config)
        with open_reader(f"sqlite:///{tmp_path / suffix}.db") as reader:
            found.append((texts_of(reader, "one"), texts_of(reader, "two")))
    assert found[0] == found[1]


def longer_prefixes(corpus: Path, **changes: Any) -> SweepConfig:
    """The tiny sweep with prefixes that differ: the reports of its corpus begin alike."""
    prefixes = {"count": 6, "tokens": 20, "min_continuation_tokens": 6, "shard_size": 3}
    return tiny_sweep(corpus, prefixes=prefixes, **changes)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row]]:
    """A database with a finished run, "tiny", and its prefixes with texts made elsewhere."""
    folder = tmp_path_factory.mktemp("own")
    run_here(folder / "r.db", longer_prefixes(write_corpus(folder / "corpus")))
    with open_reader(f"sqlite:///{folder / 'r.db'}") as reader:
        [human] = [each for each in reader.instances(1) if each.kind is InstanceKind.HUMAN]
        prefixes = reader.prefixes(human.prefix_set or "")
    generator = np.random.default_rng(8)
    rows = [
        {"prefix": prefix.text, "id": prefix.id, "continuation": f" {words(generator, 5)}"}
        for prefix in prefixes
    ]
    return folder, rows


@pytest.fixture
def database(own: tuple[Path, list[Row]], tmp_path: Path) -> Path:
    """A copy to write to."""
    copy = tmp_path / "r.db"
    copy.write_bytes((own[0] / "r.db").read_bytes())
    return copy


def joining(file: Path, **changes: Any) -> ImportOptions:
    changes = {"columns": (("theirs", "continuation"),), **changes}
    return options_of(file, run="tiny", features=None, max_tokens=None, **changes)


@pytest.mark.parametrize("by", [{}, {"prefix_id": "id"}], ids=["text", "id"])
def test_texts_join_a_run_with_the_same_prefixes(
    own: tuple[Path, list[Row]], database: Path, tmp_path: Path, by: dict[str, str]
) -> None:
    file = write_jsonl(tmp_path / "more.jsonl", own[1][::-1])  # in any order
    with open_reader(f"sqlite:///{database}") as reader:
        before = {job.id for job in reader.jobs(1)}
        config = import_sweep(joining(file, **by), reader)
    run_id, answered = run_here(database, config)
    assert answered == 5  # 2 shards of texts and of features, and scores: what was done is not done again
    with open_reader(f"sqlite:///{database}") as reader:
        assert before < {job.id for job in reader.jobs(run_id)}
        assert reader.get_run("tiny").id == run_id
        assert texts_of(reader, "theirs") == {row["prefix"]: row["continuation"][:6] for row in own[1]}
        tables = tables_of(reader, "tiny")
        again = import_sweep(joining(file, **by), reader)
    assert run_identity(again) == run_identity(config)  # the same command resumes
    labels = [row.label for row in tables["comparison"].rows]
    assert labels[0] == "eta=0.01"
    assert labels[-1] == "theirs (imported)"
    statistics = tables["statistics"]
    perplexity = statistics.columns.index("perplexity") - 1
    by_label = {row.label: row.cells for row in statistics.rows}
    assert by_label["theirs (imported)"][perplexity].text == ""
    assert by_label["eta=0.01"][perplexity].value is not None
    assert "theirs (imported)" not in [row.label for row in tables["sampling"].rows]
    assert "theirs (imported)" not in [row.label for row in tables["rates"].rows]
    against = [row.label for row in tables["imported"].rows]
    assert against[0] == "theirs (imported) minus eta=0.01"
    assert "paired by prefix" in tables["imported"].rows[0].cells[0].how


def test_a_run_is_joined_only_when_it_is_done_and_fits(
    own: tuple[Path, list[Row]], database: Path, tmp_path: Path
) -> None:
    rows = own[1]
    few = write_jsonl(tmp_path / "few.jsonl", rows[:4])
    file = write_jsonl(tmp_path / "more.jsonl", rows)
    unfinished = longer_prefixes(own[0] / "corpus", name="unfinished", generation={"max_tokens": 7})
    with open_quick_store(database) as store:
        store.add_run("unfinished", run_identity(unfinished), {})
    with open_reader(f"sqlite:///{database}") as reader:
        for asked, message in (
            (joining(few), r"has texts for 4 of 6\. Add the others, or choose another name"),
            (joining(file, columns=(("eta", "continuation"),)), r"'eta' is already methods\[0\]"),
            (options_of(file, run="tiny"), "exists, with 6 for --max-tokens; got 24"),
            (joining(file, tokenizer="gpt2"), f"exists, with {FAKE} for --tokenizer; got gpt2"),
            (options_of(file, run="unfinished", features=None, max_tokens=None), "must be done before"),
            (joining(file, prefix="prefix", prefix_id="id"), "by one column"),
        ):
            with pytest.raises(InvalidInputError, match=message):
                import_sweep(asked, reader)


def test_prefixes_with_the_same_text_are_matched_by_id(tmp_path: Path) -> None:
    config = tiny_sweep(write_corpus(tmp_path / "corpus"))  # all of its prefixes are "Repor"
    run_here(tmp_path / "r.db", config)
    file = write_jsonl(tmp_path / "t.jsonl", [{"prefix": "Repor", "continuation": " x"}])
    told = pytest.raises(InvalidInputError, match=r"have the same text, 'Repor', .* Match by id")
    with open_reader(f"sqlite:///{tmp_path / 'r.db'}") as reader, told:
        import_sweep(joining(file), reader)


def test_prefixes_that_tokenizers_cut_differently_are_matched_by_text(
    own: tuple[Path, list[Row]], tmp_path: Path
) -> None:
    file = write_jsonl(tmp_path / "more.jsonl", own[1])
    with open_reader(f"sqlite:///{own[0] / 'r.db'}") as reader:
        [source] = joining(file, prefix_id="id").imports
        [human] = [each for each in reader.instances(1) if each.kind is InstanceKind.HUMAN]
        run = reader.get_run("tiny")
        prefixes = reader.prefixes(human.prefix_set or "")
        other = replace(human, model="other", prefix_set="cut elsewhere")
        stub = cast(Reader, SimpleNamespace(prefixes=lambda _: prefixes))
        assert join(source, stub, run, [human]).models == ("fake",)
        with pytest.raises(InvalidInputError, match=r"into different prefixes, .* Match by text"):
            join(source, stub, run, [human, other])


def test_a_sweep_may_have_imports_and_methods_on_prefixes_of_a_file(tmp_path: Path) -> None:
    file = str(write_jsonl(tmp_path / "texts.jsonl", made_up_rows()))
    config = parse_config(
        {
            **tiny_sweep(tmp_path).model_dump(mode="json", exclude_unset=True),
            "corpus": {"name": file, "column": "human", "prefix_column": "prefix"},
            "prefixes": {"count": 8, "min_continuation_tokens": 1},
            "methods": [{"rule": "eta", "parameter": 0.01}],
            "imports": [{"name": "one", "file": file, "continuation": "first"}],
            "stages": [{"name": "compare", "split": "all"}],
        }
    )
    assert [(each.method, each.seed) for each in expand(config)] == [("eta", 0), ("one", None)]
    run_here(tmp_path / "r.db", config)
    with open_reader(f"sqlite:///{tmp_path / 'r.db'}") as reader:
        labels = [row.label for row in tables_of(reader, "tiny")["comparison"].rows]
    assert labels == ["eta=0.01", "one (imported)"]


def test_runs_and_jobs_from_before_keep_their_identity(tmp_path: Path) -> None:
    identity = run_identity(tiny_sweep(tmp_path))
    assert "imports" not in identity
    assert "prefix_column" not in identity["corpus"]
    spec = ImportTexts(MODEL, ImportedFile("a.jsonl", "0" * 64, "eta", "prefix"), 6, PrefixRange("set", 0, 4))
    assert parse_job(JobKind.GENERATE, spec.job.spec) == spec


def invalid_files() -> Iterator[tuple[str, Callable[[Path], Path], str]]:
    """What is wrong with a file, how it is made, and what is said."""
    rows = made_up_rows(4)

    def changed(number: int, **values: Any) -> Callable[[Path], Path]:
        return lambda folder: write_jsonl(
            folder / "t.jsonl", [{**row, **(values if i == number else {})} for i, row in enumerate(rows)]
        )

    def raw(text: bytes) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            (folder / "t.jsonl").write_bytes(text)
            return folder / "t.jsonl"

        return make

    def without(column: str) -> Callable[[Path], Path]:
        left = [{key: value for key, value in row.items() if key != column} for row in rows]
        return lambda folder: write_jsonl(folder / "t.jsonl", [{**row, "frist": "x"} for row in left])

    line = json.dumps(rows[0]).encode()
    yield (
        "column",
        without("first"),
        "no column 'first' in line 1 of .*'second', 'frist'. Did you mean 'frist'",
    )
    yield "empty", changed(2, first=" "), "column 'first' must hold text; it is empty in line 3 of"
    yield "null", changed(1, first=None), "must hold text; got nothing in line 2 of"
    yield "number", changed(1, first=3), "must hold text; got int in line 2 of"
    yield "only the prefix", changed(1, human=rows[1]["prefix"]), "more than the prefix"
    yield "twice", changed(1, prefix=rows[0]["prefix"]), "line 2 of .* repeats that of line 1 of"
    yield "json", raw(line + b"\n{broken\n"), "line 2 of .* must be a JSON object; it is not"
    yield "list", raw(b"[1, 2]\n"), "line 1 of .* must be a JSON object; got list"
    yield "encoding", raw(line + b'\n{"prefix": "\xff"}\n'), "must be UTF-8 text; line 2 is not"
    yield "nothing", raw(b"\n"), "must have at least one row"
    yield "one row", raw(line + b"\n"), "MAUVE needs at least two texts; .* has 1"
    yield "no file", lambda folder: folder / "t.jsonl", "there is no file"
    yield "suffix", lambda folder: folder / "t.csv", "must end in .jsonl"
    yield "parquet", lambda folder: raw(b"no")(folder).rename(folder / "t.parquet"), "must be a Parquet file"


@pytest.mark.parametrize(
    ("make", "message"), [case[1:] for case in invalid_files()], ids=[c[0] for c in invalid_files()]
)
def test_what_is_wrong_with_a_file_is_said_in_a_sentence(
    tmp_path: Path, make: Callable[[Path], Path], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = make(tmp_path)
    database = tmp_path / "r.db"
    arguments = ["--run", "x", "--method", "one=first", "--features", FAKE, "--db", str(database)]
    with pytest.raises(SystemExit) as left:
        cli.main(["import", str(file), *arguments])
    assert left.value.code == 1
    told = capsys.readouterr().err
    assert told.count("error: ") == 1
    with pytest.raises(InvalidInputError, match=message):
        raise InvalidInputError(told)


def test_an_import_is_named_as_nothing_else() -> None:
    base = {
        "name": "x",
        "models": [{"name": FAKE}],
        "corpus": {"name": "news"},
        "stages": [{"name": "compare"}],
    }
    for imports, message in (
        ([{"name": "a", "file": "f"}] * 2, r"'a' is already imports\[0\]"),
        ([{"name": "a", "file": "f", "stages": ["compar"]}], "no generate stage 'compar'.*Did you mean"),
        ([{"name": "a", "file": "f", "models": ["other"]}], "no model 'other'"),
        (
            [{"name": "a", "file": "f", "prefix": "p", "prefix_id": "i"}],
            "one of the keys prefix and prefix_id",
        ),
        ([{"name": "a", "flie": "f"}], "flie"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            parse_config({**base, "imports": imports})


def test_the_sweep_in_the_guide_can_be_used() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "importing.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    config = parse_config(yaml.safe_load(block))
    assert [str(each.setting) for each in expand(config)] == ["nucleus=0.95", "imported"]


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str], without_ray: None) -> Callable[..., str]:
    """Call a command on the database r.db; what it prints."""

    def called(*arguments: object) -> str:
        with pytest.raises(SystemExit) as left:
            cli.main([*map(str, arguments), "--db", str(tmp_path / "r.db")])
        assert not left.value.code
        captured = capsys.readouterr()
        return captured.out + captured.err

    return called


def test_prefixes_of_a_run_can_be_continued_elsewhere(
    database: Path, tmp_path: Path, call: Callable[..., str]
) -> None:
    sql = "SELECT DISTINCT prefix, prefix_text FROM generations_view WHERE run = 'tiny'"
    call("query", sql, "--output", tmp_path / "prefixes.parquet")
    prefixes = pa.parquet.read_table(tmp_path / "prefixes.parquet").to_pylist()
    rows = [{"prefix": row["prefix"], "continuation": f" so {row['prefix']}"} for row in prefixes]
    file = write_jsonl(tmp_path / "theirs.jsonl", rows)
    told = call("import", file, "--run", "tiny", "--method", "theirs", "--prefix-id-column", "prefix")
    assert "5 jobs done." in told
    assert "theirs (imported)" in call("report", "tiny", "--output", tmp_path / "report")


def test_the_command_line_imports_resumes_reports_and_exports(
    tmp_path: Path, call: Callable[..., str]
) -> None:
    file = write_jsonl(tmp_path / "texts.jsonl", made_up_rows())
    asked = ("import", file, "--run", "pairs", "--method", "one=first", "--method", "eta=0.5=second")
    asked = (*asked, "--features", FAKE, "--max-tokens", 24, "--written-by", "Somebody")
    assert "The sweep is complete." in call(*asked)
    assert "Nothing to do" in call(*asked)
    told = call("report", "pairs", "--output", tmp_path / "report")
    assert "one (imported)" in told
    assert "eta=0.5 (imported) minus" in told or "minus eta=0.5 (imported)" in told
    page = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "Imported texts continue 8 prefixes" in page
    assert "column 'second' of texts.jsonl, sha256" in page
    traced = call("trace", "comparison", "one", "MAUVE")
    assert "imported column 'first' of texts.jsonl" in traced
    assert "all 8 jobs" in call("status", "pairs")
    call("export", "pairs", "-o", tmp_path / "files")
    tokens = pa.parquet.read_table(tmp_path / "files" / "tokens.parquet")
    for column in ("probability", "acceptance", "rejections", "programs"):
        assert tokens[column].null_count == len(tokens) > 0
    assert "Nothing to do" in call("run", tmp_path / "files" / "config.yaml")
