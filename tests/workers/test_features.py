from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from mauve.utils import featurize_tokens_from_model

from bat.arrays import SingleArray
from bat.errors import BatError, InvalidInputError
from tests.workers import tiny_models
from workers import models
from workers.features import featurize
from workers.models import LanguageModel

TEXTS = [
    "The mayor said on Monday that the bridge would stay closed.",
    "Rain.",
    "Nobody had seen the letter, and nobody asked.",
    "Rain.",
    "",
    "Snow",
]


@pytest.fixture(scope="module")
def fake() -> LanguageModel:
    return models.load("fake:v=1000,d=16,layers=2", device="cpu")


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("BAT_HARNESS_CACHE", str(tmp_path))
    return tmp_path / "features"


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch, fake: LanguageModel) -> list[tuple[int, int]]:
    """The shapes of the batches that the fake model has read."""
    shapes: list[tuple[int, int]] = []
    base: Any = fake.model.base_model
    forward = base.forward

    def counted(*, input_ids: torch.Tensor, **named: object) -> object:
        shapes.append((input_ids.shape[0], input_ids.shape[1]))
        return forward(input_ids=input_ids, **named)

    monkeypatch.setattr(base, "forward", counted)
    return shapes


def load_tiny(folder: Path, model: Any) -> LanguageModel:
    return models.load(str(tiny_models.save(folder, model)), device="cpu")


@pytest.mark.parametrize("family", ["gpt2", "llama", "opt", "gpt_neox", "qwen3"])
def test_features_are_what_the_output_layer_is_given(family: str, tmp_path: Path) -> None:
    settings: dict[str, object] = {"opt": {"word_embed_proj_dim": 16, "ffn_dim": 32}}.get(family, {})
    tiny = tiny_models.gpt2() if family == "gpt2" else tiny_models.family(family, **settings)
    model = load_tiny(tmp_path / "model", tiny)
    ids = [[5, 6, 7], [250], [9, 8, 7, 6, 5, 4]]
    seen: list[torch.Tensor] = []
    hook = model.model.get_output_embeddings().register_forward_pre_hook(lambda _, a: seen.append(a[0]))
    with torch.inference_mode():
        for row in ids:
            model.model(input_ids=torch.tensor([row]), attention_mask=torch.ones(1, len(row)))
    hook.remove()
    features = featurize(model, ids, max_tokens=64)
    assert features.dtype == np.float32
    expected = np.stack([states[0, -1].numpy() for states in seen])
    np.testing.assert_allclose(features, expected, rtol=1e-4, atol=1e-5)


def test_features_are_those_of_mauve_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISABLE_TQDM", "1")
    model = load_tiny(tmp_path / "model", tiny_models.gpt2())
    ids = [[5, 6, 7, 8], [250, 3], [9, 8, 7, 6, 5, 4]]
    theirs = featurize_tokens_from_model(
        model.model.base_model, [torch.tensor([row]) for row in ids], batch_size=2
    ).numpy()
    np.testing.assert_allclose(featurize(model, ids, max_tokens=64), theirs, rtol=1e-4, atol=1e-5)


def test_no_logits_are_made(fake: LanguageModel) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("the output layer was called")

    hook = fake.model.get_output_embeddings().register_forward_pre_hook(fail)
    try:
        featurize(fake, TEXTS, cache=None)
    finally:
        hook.remove()


def test_batches_and_padding_change_no_more_than_rounding(fake: LanguageModel) -> None:
    together = featurize(fake, TEXTS, cache=None)
    for index, text in enumerate(TEXTS):
        alone = featurize(fake, [text], cache=None)
        np.testing.assert_allclose(alone[0], together[index], rtol=1e-4, atol=1e-5)
    for size in (1, 2, 3):
        by_size = featurize(fake, TEXTS, batch_size=size, cache=None)
        np.testing.assert_allclose(by_size, together, rtol=1e-4, atol=1e-5)
    assert np.abs(together[0] - together[2]).max() > 0.1


def test_the_same_texts_give_the_same_bits_in_any_order(fake: LanguageModel) -> None:
    first = featurize(fake, TEXTS, batch_size=2, cache=None)
    assert np.array_equal(featurize(fake, TEXTS, batch_size=2, cache=None), first)
    backwards = featurize(fake, TEXTS[::-1], batch_size=2, cache=None)
    assert np.array_equal(backwards[::-1], first)


def test_texts_are_read_once_and_beside_texts_of_their_length(
    fake: LanguageModel, passes: list[tuple[int, int]]
) -> None:
    told: list[int] = []
    features = featurize(fake, TEXTS, batch_size=2, cache=None, progress=told.append)
    assert np.array_equal(features[1], features[3])
    lengths = sorted(max(len(text), 1) for text in set(TEXTS))  # the fake tokenizer has a token a byte
    assert passes == [(2, lengths[1]), (2, lengths[3]), (1, lengths[4])]
    assert told == [2, 5, 6]


def test_texts_are_cut_to_the_length_stated(fake: LanguageModel, passes: list[tuple[int, int]]) -> None:
    cut = featurize(fake, TEXTS, max_tokens=4, cache=None)
    assert max(width for _, width in passes) == 4
    assert np.array_equal(cut, featurize(fake, [text[:4] for text in TEXTS], max_tokens=4, cache=None))
    ids = [list(text.encode()) for text in TEXTS if text]
    longer = featurize(fake, ids, max_tokens=4, cache=None)
    assert np.array_equal(longer, featurize(fake, [row[:4] for row in ids], max_tokens=4, cache=None))


def test_strings_and_their_token_ids_are_the_same_texts(fake: LanguageModel) -> None:
    ids = [fake.tokenizer(text).input_ids for text in TEXTS]
    assert np.array_equal(featurize(fake, ids, cache=None), featurize(fake, TEXTS, cache=None))
    arrays = [np.array(row, dtype=np.int32) for row in ids]
    assert np.array_equal(featurize(fake, arrays, cache=None), featurize(fake, TEXTS, cache=None))


def test_layers_count_as_hidden_states_do(fake: LanguageModel) -> None:
    ids = [[5, 6, 7], [8, 9, 10]]
    with torch.inference_mode():
        output = fake.model(input_ids=torch.tensor(ids), output_hidden_states=True)
    assert len(output.hidden_states) == 3
    for layer, states in enumerate(output.hidden_states):
        features = featurize(fake, ids, layer=layer, cache=None)
        np.testing.assert_allclose(features, states[:, -1].numpy(), rtol=1e-4, atol=1e-5)
        assert np.array_equal(featurize(fake, ids, layer=layer - 3, cache=None), features)
    embedding = fake.model.get_input_embeddings().weight[[7, 10]]
    assert np.array_equal(featurize(fake, ids, layer=0, cache=None), embedding.numpy())


def test_an_empty_text_is_read_as_the_beginning_of_one(fake: LanguageModel) -> None:
    beginning = fake.tokenizer.bos_token_id
    expected = featurize(fake, [[beginning]], cache=None)
    assert np.array_equal(featurize(fake, [""], cache=None), expected)
    assert np.array_equal(featurize(fake, [[]], cache=None), expected)


def test_an_empty_text_is_invalid_by_number_without_such_a_token(tmp_path: Path) -> None:
    model = load_tiny(tmp_path / "model", tiny_models.gpt2())
    model.tokenizer.bos_token = None
    model.tokenizer.eos_token = None
    with pytest.raises(InvalidInputError, match=r"text 1 is empty.*count them"):
        featurize(model, ["rain", "", "snow"], max_tokens=64)


def test_no_texts_give_no_rows(fake: LanguageModel) -> None:
    assert featurize(fake, []).shape == (0, 16)


def test_half_precision_gives_single_precision_features(fake: LanguageModel) -> None:
    half = models.load("fake:v=1000,d=16,layers=2", device="cpu", dtype="bfloat16")
    features = featurize(half, TEXTS, cache=None)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, featurize(fake, TEXTS, cache=None), atol=0.2)


def test_what_is_kept_is_found_again(fake: LanguageModel, cache: Path, passes: list[tuple[int, int]]) -> None:
    told: list[int] = []
    first = featurize(fake, TEXTS, batch_size=2)
    count = len(passes)
    assert count == 3
    again = featurize(fake, TEXTS[::-1], batch_size=2, progress=told.append)
    assert len(passes) == count
    assert told == [len(TEXTS)]
    assert np.array_equal(again[::-1], first)
    [kept] = cache.iterdir()
    assert kept.suffix == ".npz"
    assert np.array_equal(featurize(fake, TEXTS, batch_size=2, cache=None), first)
    assert len(passes) == 2 * count


@pytest.mark.parametrize("change", [{"layer": 1}, {"max_tokens": 8}, {"batch_size": 3}, {"texts": TEXTS[:4]}])
def test_other_requests_are_kept_apart(fake: LanguageModel, cache: Path, change: dict[str, Any]) -> None:
    request: dict[str, Any] = {"texts": TEXTS, "batch_size": 2}
    featurize(fake, **request)
    changed = featurize(fake, **request | change)
    assert len(list(cache.iterdir())) == 2
    assert np.array_equal(changed, featurize(fake, **request | change, cache=None))


def test_other_models_are_kept_apart(fake: LanguageModel, cache: Path) -> None:
    first = featurize(fake, TEXTS)
    other = featurize(models.load("fake:v=1000,d=16,layers=2,seed=1", device="cpu"), TEXTS)
    assert len(list(cache.iterdir())) == 2
    assert np.abs(first - other).max() > 0.1


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "gone"])
def test_a_damaged_file_is_made_again(
    fake: LanguageModel, cache: Path, passes: list[tuple[int, int]], damage: str
) -> None:
    first = featurize(fake, TEXTS, batch_size=8)
    [kept] = cache.iterdir()
    whole = kept.read_bytes()
    if damage == "cut":
        kept.write_bytes(whole[: len(whole) // 2])
    elif damage == "flipped":
        place = whole.index(first[0].tobytes())
        kept.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    elif damage == "foreign":
        featurize(fake, TEXTS[:2], batch_size=8)
        [other] = set(cache.iterdir()) - {kept}
        kept.write_bytes(other.read_bytes())
    else:
        kept.unlink()
    before = len(passes)
    assert np.array_equal(featurize(fake, TEXTS, batch_size=8), first)
    assert len(passes) == before + 1
    assert kept.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_a_warning(fake: LanguageModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.warns(RuntimeWarning, match="could not be kept"):
        features = featurize(fake, TEXTS, cache=tmp_path / "file")
    assert np.array_equal(features, featurize(fake, TEXTS, cache=None))


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ("one text", {}, "got one string. Put a single text in a list"),
        (["text", [1, 2]], {}, "got both kinds"),
        ([[1, 1000]], {}, r"\[0, 1000\).*text 0 has 1 to 1000"),
        ([[3], [-1]], {}, "text 1 has -1 to -1"),
        ([[1.5, 2.0]], {}, "flat lists of integers"),
        (["a"], {"max_tokens": 0}, "max_tokens=0"),
        (["a"], {"batch_size": 0}, "batch_size=0"),
        (["a"], {"max_tokens": 1025}, "at most 1024, the context of fake"),
        (["a"], {"layer": 3}, "between -3 and 2 in this model; got 3"),
        (["a"], {"layer": -4}, "between -3 and 2 in this model; got -4"),
    ],
)
def test_mistakes_are_named(fake: LanguageModel, texts: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        featurize(fake, texts, **options)


def test_states_that_are_no_numbers_are_invalid(cache: Path) -> None:
    broken = models.load("fake:v=1000,d=16,seed=3", device="cpu")
    broken.model.get_input_embeddings().weight.data[ord("R")] = torch.nan
    with pytest.raises(BatError, match="not finite in float32, for 1 of 2 texts"):
        featurize(broken, [[ord("R")], [ord("S")]])
    assert not cache.exists()


@pytest.mark.model
def test_shuffled_words_change_the_features_of_the_demo_model(demo_model: LanguageModel) -> None:
    human = [
        "The council voted on Tuesday to close the old bridge while engineers examine its foundations, and "
        "drivers were told to expect delays for several weeks.",
        "She opened the letter, read it twice without sitting down, and then asked her brother whether he "
        "had known about the money all along.",
        "Heavy rain is expected across the north of the country tomorrow, with a risk of flooding in low "
        "areas near the coast and along the larger rivers.",
        "The company reported higher profits for the third quarter, which analysts attributed to lower fuel "
        "prices and to strong demand for its newer aircraft.",
    ]
    order = random.Random(0)
    shuffled = [" ".join(order.sample(words := text.split(), len(words))) for text in human]
    features = featurize(demo_model, human + shuffled, batch_size=8, cache=None)
    assert features.shape == (8, 576)

    def cosine(a: SingleArray, b: SingleArray) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    # Padding and rounding alone leave a cosine of 0.9999 and more.
    for one, other in zip(features[:4], features[4:], strict=True):
        assert cosine(one, other) < 0.9
