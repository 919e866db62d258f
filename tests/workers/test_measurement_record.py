"""The record keeps enough of each distribution: critical parameters follow from it bit for bit."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import torch

from bat.basis import Basis
from bat.errors import InvalidInputError
from bat.rules import get_rule_form, rule_names
from bat.validation import softmax
from workers.corpora import open_corpus
from workers.measurement import measure_rows
from workers.measurement_record import Measurement, Thresholds, concatenate
from workers.models import LanguageModel
from workers.positions import draw_positions, tokenize_documents

SIZES = (0, 2, 5)


def random_logits(kind: str, rows: int = 40, vocabulary: int = 30) -> np.ndarray:
    generator = np.random.default_rng(1)
    logits = generator.normal(scale=3.0, size=(rows, vocabulary)).astype(np.float32)
    if kind == "ties":  # few distinct values: tokens tie with each other, the largest too
        return np.round(logits / 3.0)
    if kind == "certain":  # one token has nearly everything, some nothing at all
        logits[:, 3] += 30.0
        logits[::2, 4:20] = -np.inf
    return logits


def measured(logits: np.ndarray, tokens: np.ndarray | None = None) -> tuple[Measurement, np.ndarray]:
    generator = np.random.default_rng(2)
    weight = generator.normal(size=(logits.shape[1], 6))
    chosen = generator.integers(logits.shape[1], size=len(logits)) if tokens is None else tokens
    bases = {size: Basis.from_matrix(weight, size) for size in SIZES}
    names = [f"d{row // 4}" for row in range(len(logits))]
    return measure_rows(names, np.arange(len(logits)), chosen, logits, bases), softmax(logits)


def assert_rules_follow(measurement: Measurement, probs: np.ndarray) -> None:
    for name in rule_names():
        rule = get_rule_form(name)
        for size in measurement.constraints:
            found = measurement.critical_parameters(name, size)
            rows = measurement.get_thresholds(size)
            ends = (rows.upper, rows.lower) if rule.basis_aware else (measurement.probability,) * 2
            for end, parameters in zip(ends, found, strict=True):
                own = measurement.probability if rule.basis_aware else None
                expected = rule.critical_parameter(probs, end, own)
                np.testing.assert_array_equal(parameters, expected, err_msg=f"{name} at {size}")


@pytest.mark.parametrize("kind", ["ordinary", "ties", "certain"])
def test_every_rule_s_critical_parameter_follows_bit_for_bit(kind: str) -> None:
    measurement, probs = measured(random_logits(kind))
    assert_rules_follow(measurement, probs)
    own = probs[np.arange(len(probs)), measurement.token]
    np.testing.assert_array_equal(measurement.probability, own)
    np.testing.assert_array_equal(measurement.rank, (probs > own[:, None]).sum(axis=1))
    # The cases that need care do occur.
    if kind == "ties":
        assert ((probs == own[:, None]).sum(axis=1) > 1).any()
        assert (measurement.rank == 0).any()
    if kind == "certain":
        assert (own == 0.0).any()
    assert (measurement.thresholds[0].upper == own).any()  # tau* on the tie with p


@pytest.mark.model
def test_every_rule_follows_on_the_demo_model(demo_model: LanguageModel) -> None:
    read = itertools.islice(open_corpus("news").documents(), 2)
    texts = [(document.id, document.text) for document in read]
    documents = tokenize_documents(demo_model.tokenizer, texts)
    positions = draw_positions(documents, count=None, per_document=6)
    for document in documents:
        wanted = positions[document.id]
        with torch.inference_mode():
            inputs = torch.from_numpy(document.token_ids[None, :-1])
            logits = demo_model.model(inputs, logits_to_keep=torch.from_numpy(wanted - 1)).logits[0].numpy()
        tokens = document.token_ids[wanted]
        bases = {20: demo_model.basis(20)}
        measurement = measure_rows([document.id] * len(wanted), wanted, tokens, logits, bases)
        assert measurement.thresholds[20].closed.all()
        assert_rules_follow(measurement, softmax(logits))


def assert_equal(first: Measurement, second: Measurement) -> None:
    columns, others = first.to_columns(), second.to_columns()
    assert list(columns) == list(others)
    for name, values in columns.items():
        assert values.dtype.kind == others[name].dtype.kind
        np.testing.assert_array_equal(values, others[name], err_msg=name)


def test_columns_pickles_and_pieces_lose_nothing() -> None:
    measurement, _ = measured(random_logits("ordinary"))
    assert measurement.constraints == SIZES
    columns = measurement.to_columns()
    assert len(columns) == 12 + 12 * len(SIZES)
    assert all(values.shape == (40,) for values in columns.values())
    assert_equal(Measurement.from_columns(columns), measurement)
    assert_equal(
        Measurement.from_columns({name: values.tolist() for name, values in columns.items()}), measurement
    )
    assert_equal(pickle.loads(pickle.dumps(measurement)), measurement)
    pieces = [measurement.select(slice(start, start + 7)) for start in range(0, 40, 7)]
    assert_equal(concatenate(pieces), measurement)
    assert_equal(measurement.select(np.arange(40) % 2 == 0), measurement.select(np.arange(0, 40, 2)))
    assert len(measurement.select([])) == 0
    assert_equal(concatenate([measurement.select([]), measurement]), measurement)


def test_ids_of_different_lengths_survive_concatenation() -> None:
    measurement, _ = measured(random_logits("ordinary", rows=2))
    columns = measurement.to_columns() | {"document": ["a much longer id", "another"]}
    joined = concatenate([measurement, Measurement.from_columns(columns)])
    assert joined.document.tolist() == ["d0", "d0", "a much longer id", "another"]


def test_what_does_not_fit_together_is_invalid() -> None:
    measurement, _ = measured(random_logits("ordinary", rows=3))
    columns = measurement.to_columns()
    with pytest.raises(InvalidInputError, match="position 1 of document 'd0' more than once"):
        concatenate([measurement, measurement.select([1])])
    with pytest.raises(InvalidInputError, match="none"):
        concatenate([])
    fewer = Measurement.from_columns({name: columns[name] for name in columns if not name.endswith("_5")})
    with pytest.raises(InvalidInputError, match=r"\(0, 2, 5\) and \(0, 2\)"):
        concatenate([measurement, fewer])
    with pytest.raises(InvalidInputError, match=r"measured \(0, 2, 5\); got 20"):
        measurement.get_thresholds(20)
    with pytest.raises(InvalidInputError, match="needs the columns entropy, rank"):
        Measurement.from_columns({name: columns[name] for name in columns if name not in ("entropy", "rank")})
    with pytest.raises(InvalidInputError, match="needs the columns status_2"):
        Measurement.from_columns({name: columns[name] for name in columns if name != "status_2"})
    with pytest.raises(InvalidInputError, match=r"no column 'entropie'. Did you mean 'entropy'?"):
        Measurement.from_columns(columns | {"entropie": columns["entropy"]})
    with pytest.raises(InvalidInputError, match=r"shape \[2\] for 'rank' beside 3 rows"):
        Measurement.from_columns(columns | {"rank": [1, 2]})
    with pytest.raises(InvalidInputError, match="at 2 constraints have 1 rows, the measurement 3"):
        Measurement(
            **{name: columns[name] for name in columns if not name[-1].isdigit()},
            thresholds={2: measurement.select([0]).thresholds[2]},
        )


def test_a_threshold_knows_whether_it_was_closed() -> None:
    measurement, _ = measured(random_logits("ordinary", rows=3))
    rows = {name: getattr(measurement.thresholds[2], name) for name in Thresholds.__slots__}
    found = Thresholds(**rows | {"status": ["closed", "unfinished", "failed"]})
    assert found.closed.tolist() == [True, False, False]
