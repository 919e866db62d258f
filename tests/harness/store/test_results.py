"""Results: what workers made comes back bit for bit, whole or not at all."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.jobs import FeatureRows, GenerationRows, Job, JobKind, MeasurementRows, Rows, ScoreRows, storable
from harness.scoring.scores import ScoreEntry
from harness.store import JobState, Store, StoreError
from tests.harness.store import examples
from tests.harness.store.examples import add, claim_one, make_generations, make_measurement
from workers.generation import Generation
from workers.measurement_record import Measurement, concatenate

PREFIX_SET = examples.make_prefix_set().human_fingerprint


def complete(store: Store, kind: JobKind, *results: Rows) -> list[str]:
    """Run a job for each of the results, and return the jobs' ids."""
    store.add_prefix_set(examples.make_prefix_rows())
    jobs = [Job(kind, {"shard": shard}) for shard in range(len(results))]
    add(store, *jobs)
    leases = store.claim("driver", len(jobs), 600.0)
    assert store.complete_many(list(zip(leases, results, strict=True))) == [True] * len(jobs)
    return [job.id for job in jobs]


def assert_same_measurement(found: Measurement, expected: Measurement) -> None:
    one, other = found.to_columns(), expected.to_columns()
    assert list(one) == list(other)
    for name, values in one.items():
        assert values.dtype.kind == other[name].dtype.kind
        np.testing.assert_array_equal(values, other[name], err_msg=name)


def assert_same_generation(found: Generation, expected: Generation) -> None:
    for field in dataclasses.fields(Generation):
        if field.name != "trace":
            assert getattr(found, field.name) == getattr(expected, field.name)
    for field in dataclasses.fields(found.trace):
        np.testing.assert_array_equal(getattr(found.trace, field.name), getattr(expected.trace, field.name))


def test_measurements(store: Store) -> None:
    parts = [make_measurement(12, seed) for seed in range(3)]
    ids = complete(store, JobKind.MEASURE, *map(MeasurementRows, parts))
    assert_same_measurement(store.measurement(ids), concatenate(parts))
    assert_same_measurement(store.measurement([ids[2], ids[0]]), concatenate([parts[2], parts[0]]))


def test_measurements_without_rows_or_without_thresholds(store: Store) -> None:
    bare = make_measurement(3, sizes=())
    ids = complete(store, JobKind.MEASURE, MeasurementRows(bare), MeasurementRows(bare.select([])))
    assert_same_measurement(store.measurement(ids), bare)
    assert len(store.measurement(ids[1:])) == 0


def test_numbers_keep_every_bit(store: Store) -> None:
    odd = dataclasses.replace(
        make_measurement(4, sizes=()), probability=np.array([5e-324, 0.1, np.nextafter(1, 0), 1e-300])
    )
    ids = complete(store, JobKind.MEASURE, MeasurementRows(odd))
    assert store.measurement(ids).probability.tobytes() == odd.probability.tobytes()


def test_generations(store: Store) -> None:
    first, second = make_generations(seed=1), make_generations(seed=2)
    ids = complete(
        store, JobKind.GENERATE, *(GenerationRows.of(PREFIX_SET, texts) for texts in (first, second))
    )
    found = list(store.generations(ids[::-1]))
    assert [job_id for job_id, _ in found] == [ids[1]] * 4 + [ids[0]] * 4
    for (_, one), other in zip(found, [*second, *first], strict=True):
        assert_same_generation(one, other)
    texts = list(store.texts(ids))
    assert [text.text for text in texts] == [entry.text for entry in (*first, *second)]
    assert [(text.item, text.token_count) for text in texts[:2]] == [(0, 6), (1, 7)]


def test_texts_that_databases_cannot_keep_are_kept_as_near_as_can_be(store: Store) -> None:
    texts = ["a\x00b", "lone \ud800 half", "pair \U0001f600", "%s :name ' \" \\ é\ufeff", ""]
    entries = [
        dataclasses.replace(entry, text=text) for entry, text in zip(make_generations(), texts, strict=False)
    ]
    ids = complete(store, JobKind.GENERATE, GenerationRows.of(PREFIX_SET, entries))
    assert [text.text for text in store.texts(ids)] == ["a\ufffdb", "lone \ufffd half", *texts[2:4]]
    assert storable("") == ""


def test_random_numbers_of_any_address_are_found_again(store: Store) -> None:
    huge = dataclasses.replace(make_generations()[0].key, seed=2**63, run=7, sample=3)
    entries = [dataclasses.replace(make_generations()[0], key=huge)]
    ids = complete(store, JobKind.GENERATE, GenerationRows.of(PREFIX_SET, entries))
    assert next(store.generations(ids))[1].key == huge


def test_features(store: Store) -> None:
    parts = [np.random.default_rng(seed).normal(size=(seed + 1, 5)).astype(np.float32) for seed in range(3)]
    empty = np.empty((0, 5), np.float32)
    ids = complete(store, JobKind.FEATURIZE, *map(FeatureRows, [*parts, empty]))
    found = store.features(ids)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.concatenate(parts))
    assert store.features(ids[3:]).shape == (0, 0)


def test_features_of_two_models_cannot_be_put_together(store: Store) -> None:
    ids = complete(
        store, JobKind.FEATURIZE, *(FeatureRows(np.zeros((2, width), np.float32)) for width in (3, 4))
    )
    with pytest.raises(InvalidInputError, match=r"the same width; .* \[3, 4\]"):
        store.features(ids)


def test_scores(store: Store) -> None:
    entries = (
        ScoreEntry("self-bleu", 0.25),
        ScoreEntry("mauve", 0.9, 0.8, math.nan, {"seeds": [1, 2]}),
        ScoreEntry("undefined", math.nan),
    )
    (job_id,) = complete(store, JobKind.SCORE, ScoreRows(entries))
    found = store.scores([job_id])
    assert [(entry.name, entry.value, entry.low, entry.high) for entry in found] == [
        ("mauve", 0.9, 0.8, None),
        ("self-bleu", 0.25, None, None),
        ("undefined", None, None, None),
    ]
    assert found[0].detail == {"seeds": [1, 2]}
    assert found[1].detail is None


def test_results_of_unfinished_jobs_are_not_given(store: Store) -> None:
    job = Job(JobKind.MEASURE, {})
    add(store, job)
    with pytest.raises(InvalidInputError, match=f"job {job.id} is waiting"):
        store.measurement([job.id])
    with pytest.raises(InvalidInputError, match="is not in this database"):
        next(store.generations(["0" * 64]))


def test_a_result_must_fit_its_job(store: Store) -> None:
    add(store, Job(JobKind.MEASURE, {}))
    lease = claim_one(store)
    with pytest.raises(InvalidInputError, match="of a measure job must be MeasurementRows; got ScoreRows"):
        store.complete(lease, examples.score())
    assert store.complete(lease, MeasurementRows(make_measurement()))


def test_a_result_that_the_database_rejects_leaves_nothing_behind(store: Store) -> None:
    good, bad = Job(JobKind.SCORE, {}), Job(JobKind.GENERATE, {})
    add(store, good, bad)
    store.add_prefix_set(examples.make_prefix_rows(2))  # the texts below continue prefixes beyond these two
    texts = GenerationRows.of(examples.make_prefix_set(2).human_fingerprint, make_generations(4))
    leases = {lease.job_id: lease for lease in store.claim("driver", 2, 600.0)}
    with pytest.raises(StoreError, match="reported an error"):
        store.complete_many([(leases[good.id], examples.score()), (leases[bad.id], texts)])
    found = store.find_jobs([good.id, bad.id])
    assert {job.state for job in found.values()} == {JobState.LEASED}
    with store.query("SELECT (SELECT count(*) FROM scores) + (SELECT count(*) FROM generations)") as answer:
        assert list(answer.rows) == [(0,)]
    assert store.complete(leases[good.id], examples.score())


def test_texts_need_their_prefixes(store: Store) -> None:
    add(store, Job(JobKind.GENERATE, {}))
    with pytest.raises(InvalidInputError, match="Call add_prefix_set first"):
        store.complete(claim_one(store), GenerationRows.of(PREFIX_SET, make_generations()))


def test_payloads_are_checked_where_they_are_made() -> None:
    broken = make_measurement(3, sizes=())
    with pytest.raises(InvalidInputError, match="got nan in entropy, row 1"):
        MeasurementRows(dataclasses.replace(broken, entropy=np.array([0.0, np.nan, 1.0])))
    with pytest.raises(InvalidInputError, match=r"float32 .* got float64 \[2, 3\]"):
        FeatureRows(np.zeros((2, 3)))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="each score once"):
        ScoreRows((ScoreEntry("mauve", 1.0), ScoreEntry("mauve", 0.5)))
    with pytest.raises(InvalidInputError, match="finite"):
        ScoreRows((ScoreEntry("mauve", 1.0, detail={"low": math.nan}),))
    with pytest.raises(InvalidInputError, match="a prefix twice"):
        GenerationRows.of(PREFIX_SET, make_generations(1) * 2)
    endless = dataclasses.replace(make_generations(1)[0], solver_seconds=math.inf)
    with pytest.raises(InvalidInputError, match="solver_seconds must be finite"):
        GenerationRows.of(PREFIX_SET, [endless])
