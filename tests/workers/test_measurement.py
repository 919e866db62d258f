"""The pass over text: each row is what the definition says, and nothing but time depends on the threads."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from bat.errors import InvalidInputError
from bat.program import NO_EFFORT, Answer, Status
from bat.rules import get_rule_form
from bat.thresholds import critical_thresholds
from bat.validation import softmax
from workers import measurement, models
from workers.corpora import open_corpus
from workers.measurement import measure
from workers.measurement_record import Measurement
from workers.models import LanguageModel
from workers.positions import TokenizedDocument, draw_positions, tokenize_documents

VOCABULARY = 300
LENGTHS = (70, 36, 120, 20, 45, 300, 52, 41, 90, 66, 37, 58)  # one too short, one longer than any context
ROWS = 9 * 3 + 2 + 1  # of these documents, at three positions each: two are short of three


@pytest.fixture(scope="module")
def fake() -> LanguageModel:
    return models.load(f"fake:v={VOCABULARY},d=8,layers=2", device="cpu")


@pytest.fixture(scope="module")
def gpt2(fake: LanguageModel) -> LanguageModel:
    torch.manual_seed(1)
    config = GPT2Config(vocab_size=VOCABULARY, n_embd=8, n_layer=2, n_head=2, initializer_range=0.6)
    return LanguageModel(
        GPT2LMHeadModel(config).eval(), fake.tokenizer, dataclasses.replace(fake.info, name="tiny-gpt2")
    )


@pytest.fixture(scope="module")
def documents() -> list[TokenizedDocument]:
    generator = np.random.default_rng(2)
    return [TokenizedDocument(f"d{n}", generator.integers(VOCABULARY, size=n)) for n in LENGTHS]


@pytest.fixture(scope="module")
def positions(documents: list[TokenizedDocument]) -> dict[str, np.ndarray]:
    return draw_positions(documents, count=None, per_document=3)


def assert_same(first: Measurement, second: Measurement, exactly: bool = True) -> None:
    columns, others = first.to_columns(), second.to_columns()
    assert list(columns) == list(others)
    for name, values in columns.items():
        if name.startswith("seconds"):
            continue
        if exactly or values.dtype.kind == "U":
            np.testing.assert_array_equal(values, others[name], err_msg=name)
        elif values.dtype.kind == "f":
            np.testing.assert_allclose(values, others[name], rtol=1e-3, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("name", ["fake", "gpt2"])
def test_every_row_is_what_the_definition_says(name, documents, positions, request) -> None:
    language_model = request.getfixturevalue(name)
    found = measure(language_model, documents, positions=positions, constraints=(3, 0))
    assert found.constraints == (0, 3)
    expected = [(d.id, p) for d in documents for p in positions.get(d.id, ())]
    assert list(zip(found.document.tolist(), found.position.tolist(), strict=True)) == expected
    assert len(expected) == ROWS
    ids = {document.id: document.token_ids for document in documents}
    surprise = []
    for row, (document, position) in enumerate(expected):
        # One document at a time, no padding, every logit computed.
        with torch.inference_mode():
            logits = language_model.model(torch.from_numpy(ids[document][None, :position])).logits[0, -1:]
        probs = softmax(logits)
        token = ids[document][position]
        assert found.token[row] == token
        assert found.probability[row] == pytest.approx(probs[0, token], rel=1e-4)
        assert found.maximum[row] == pytest.approx(probs.max(), rel=1e-4)
        assert found.entropy[row] == pytest.approx(-(probs * np.log(probs)).sum(), rel=1e-4)
        likelier = probs[0] > probs[0, token]
        # Equally likely tokens may change places with the batch's rounding; random weights give none.
        assert found.rank[row] == likelier.sum()
        assert found.mass_above[row] == pytest.approx(probs[0][likelier].sum(), rel=1e-4)
        typical = get_rule_form("typical").critical_parameter(probs, probs[0, token : token + 1])
        assert found.mass_nearer[row] == pytest.approx(typical[0], rel=1e-4)
        threshold = critical_thresholds(language_model.basis(3), probs, [token])
        assert found.thresholds[3].lower[row] == pytest.approx(threshold.lower[0], rel=1e-3)
        assert found.thresholds[3].upper[row] == pytest.approx(threshold.upper[0], rel=1e-3)
        surprise.append(-np.log(probs[0, token]))
    # The checks can fail: tokens differ in probability by far more than the tolerance.
    assert np.std(surprise) > 0.1
    assert (found.thresholds[3].upper > 1.5 * found.probability).any()
    assert (found.thresholds[3].passes > 0).any()


def test_threads_and_the_order_of_documents_change_no_bit(fake, documents, positions, monkeypatch) -> None:
    first = measure(fake, documents, positions=positions, constraints=(3,), threads=1)
    monkeypatch.setattr(measurement, "_TASKS_PER_THREAD", 1)
    assert_same(measure(fake, documents, positions=positions, constraints=(3,), threads=3), first)
    backwards = measure(fake, documents[::-1], positions=positions, constraints=(3,))
    order = np.lexsort((backwards.position, [LENGTHS.index(int(d[1:])) for d in backwards.document]))
    assert backwards.document[0] == "d58"
    assert_same(backwards.select(order), first)


def test_shards_put_together_are_the_whole_but_for_rounding(fake, documents, positions) -> None:
    whole = measure(fake, documents, positions=positions, constraints=())
    shards = [measure(fake, documents[i : i + 5], positions=positions, constraints=()) for i in (0, 5, 10)]
    assert whole.constraints == ()
    assert_same(measurement.concatenate(shards), whole, exactly=False)


def test_a_model_that_makes_all_logits_will_do(fake, documents, positions) -> None:
    class Bare:
        """Of the arguments of a forward pass this knows the oldest three."""

        device = fake.model.device

        def forward(self, input_ids, attention_mask, use_cache):
            return SimpleNamespace(logits=fake.model(input_ids, attention_mask=attention_mask).logits)

        def __call__(self, **named):
            return self.forward(**named)

    bare = LanguageModel(Bare(), fake.tokenizer, fake.info, {3: fake.basis(3)})
    found = measure(bare, documents, positions=positions, constraints=(3,))
    expected = measure(fake, documents, positions=positions, constraints=(3,))
    assert_same(found, expected, exactly=False)


def test_half_precision_is_welcome(documents, positions) -> None:
    half = models.load(f"fake:v={VOCABULARY},d=8,layers=2", device="cpu", dtype="bfloat16")
    found = measure(half, documents, positions=positions, constraints=(3,))
    assert len(found) == ROWS
    assert (found.probability > 0).all()


def test_positions_are_drawn_by_default(fake) -> None:
    with pytest.raises(InvalidInputError, match="10,000 positions were asked for"):
        measure(fake, [TokenizedDocument("d", np.zeros(50, dtype=np.int64))])


def test_progress_is_told_until_the_end(fake, documents, positions) -> None:
    told: list[int] = []
    measure(fake, documents, positions=positions, constraints=(), progress=told.append)
    assert told == sorted(set(told))
    assert told[-1] == ROWS
    assert len(told) > 2


def test_what_no_solver_could_close_is_kept_as_it_is(fake, documents, positions, monkeypatch) -> None:
    class Helpless:
        name = "helpless"

        def prepare(self, rows, probs):
            return None

        def solve(self, program, goal, prepared=None):
            own = float(program.probs[program.token])
            return Answer(own, 1.0, None, NO_EFFORT, Status.FAILED)

    monkeypatch.setattr(measurement, "critical_thresholds", partial(critical_thresholds, solver=Helpless()))
    found = measure(fake, documents, positions=positions, constraints=(3,)).thresholds[3]
    assert len(found) == ROWS
    assert set(found.status.tolist()) == {"failed"}
    assert not found.closed.any()
    assert (found.upper == 1.0).all()
    assert (found.lower < 1.0).all()


def test_an_error_in_a_thread_ends_the_pass(fake, documents, positions, monkeypatch) -> None:
    def broken(*arguments, **named):
        raise ZeroDivisionError("in a thread")

    before = threading.active_count()
    monkeypatch.setattr(measurement, "critical_thresholds", broken)
    with pytest.raises(ZeroDivisionError, match="in a thread"):
        measure(fake, documents, positions=positions, constraints=(3,))
    assert threading.active_count() == before


def test_an_error_of_the_model_ends_the_pass(documents, positions) -> None:
    failing = models.load(f"fake:v={VOCABULARY},d=8,fail_at=2", device="cpu")
    before = threading.active_count()
    with pytest.raises(RuntimeError, match="fails at forward pass 2"):
        measure(failing, documents, positions=positions, constraints=(3,))
    assert threading.active_count() == before


def test_nothing_to_measure_is_an_empty_measurement(fake, documents) -> None:
    found = measure(fake, documents, positions={}, constraints=(3,))
    assert len(found) == 0
    assert found.constraints == (3,)
    assert_same(measurement.concatenate([found, found]), found)


@pytest.mark.parametrize(
    ("length", "token", "position", "message"),
    [
        (50, 1, 50, r"positions must lie in \[1, 50\) in document 'd'.* got 50 to 50"),
        (50, 1, 0, "got 0 to 0"),
        (50, VOCABULARY, 40, r"\[0, 300\), the vocabulary of fake:.* has 300 to 300"),
        (50, -1, 40, "has -1 to -1"),
        (2000, 1, 1500, "reads at most 1024 tokens; document 'd' has 1500"),
    ],
)
def test_what_the_model_cannot_read_is_invalid(fake, length, token, position, message) -> None:
    document = TokenizedDocument("d", np.full(length, token))
    with pytest.raises(InvalidInputError, match=message):
        measure(fake, [document], positions={"d": np.array([position])})


@pytest.mark.model
def test_the_demo_model_foresees_human_text(demo_model: LanguageModel) -> None:
    read = itertools.islice(open_corpus("news").documents(), 6)
    texts = [(document.id, document.text) for document in read]
    documents = tokenize_documents(demo_model.tokenizer, texts)
    found = measure(demo_model, documents, positions=draw_positions(documents, count=24, per_document=8))
    assert len(found) == 24
    assert found.thresholds[20].closed.all()
    # Measured: 3.5 nats on average for what people wrote, where a uniform guess has 10.8.
    assert 1.5 < -np.log(found.probability).mean() < 6.0
    assert (found.thresholds[20].lower >= found.probability).all()
    assert (found.thresholds[20].upper <= found.thresholds[20].lower * (1 + 2e-6)).all()
