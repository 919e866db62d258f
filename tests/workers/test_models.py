from __future__ import annotations

import dataclasses
import json
import logging
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub.constants
import numpy as np
import pytest
import torch
from huggingface_hub import errors as hub_errors
from huggingface_hub.utils import logging as hub_logging
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaModel
from transformers.utils import logging as transformers_logging

import bat
from bat.basis import CACHE_VARIABLE
from bat.errors import InvalidInputError
from tests.workers import tiny_models
from workers import conversion, models, pretrained
from workers.devices import DTYPES
from workers.encoding import leading_ids

PROMPT = torch.tensor([[72, 101, 108, 108, 111]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save(tmp_path_factory.mktemp("gpt2"), tiny_models.gpt2())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of our own."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    return tmp_path / "cache"


def logits(model: object) -> torch.Tensor:
    with torch.inference_mode():
        return model(PROMPT).logits


def complaint(name: str | Path, **settings: str) -> str:
    """The sentence with which a model is declined."""
    with pytest.raises(InvalidInputError) as caught:
        models.load(str(name), device="cpu", **settings)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith((".", "?"))
    return message


def test_a_model_folder_is_loaded_as_it_is(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loaded = models.load(str(folder), device="cpu")
    assert capfd.readouterr() == ("", "")
    torch.testing.assert_close(logits(loaded.model), logits(tiny_models.gpt2()), rtol=0, atol=0)
    assert not loaded.model.training
    assert not any(weight.requires_grad for weight in loaded.model.parameters())
    assert loaded.tokenizer.decode(loaded.tokenizer("any text").input_ids) == "any text"
    info = loaded.info
    assert (info.name, info.revision, info.device, info.dtype) == (str(folder), None, "cpu", "float32")
    assert (info.vocabulary_size, info.hidden_size, info.context_length) == (300, 16, 64)
    assert info.end_tokens == (256,)
    assert info == models.load(str(folder), device="cpu").info
    assert pickle.loads(pickle.dumps(info)) == info


def test_people_are_told_in_one_line(folder: Path) -> None:
    loaded = models.load(str(folder), device="cpu")
    line = loaded.announce()
    assert "\n" not in line
    for part in ("vocabulary 300", "hidden size 16", "context 64", "float32 on cpu"):
        assert part in line
    assert loaded.info.weight_fingerprint in line
    assert loaded.info.tokenizer_fingerprint in line


@pytest.mark.parametrize("dtype", DTYPES)
def test_number_types(folder: Path, dtype: str) -> None:
    loaded = models.load(str(folder), device="cpu", dtype=dtype)
    assert {weight.dtype for weight in loaded.model.parameters()} == {DTYPES[dtype]}
    assert loaded.info.dtype == dtype
    assert loaded.basis(4).rows.shape == (5, 300)


def test_the_device_asked_for_is_where_the_model_goes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[object] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.nn.Module, "to", lambda self, device: (moved.append(device), self)[1])
    assert models.load(str(folder), device="cuda:1").info.device == "cuda:1"
    assert models.load(str(folder)).info.device == "cuda"
    assert moved == ["cuda:1", "cuda"]


def test_the_basis_is_kept_in_memory_and_on_disk(folder: Path, cache: Path) -> None:
    loaded = models.load(str(folder), device="cpu")
    basis = loaded.basis(6)
    assert loaded.basis(6) is basis
    assert loaded.basis(3).constraints == 3
    weight = loaded.model.get_output_embeddings().weight.numpy()
    np.testing.assert_array_equal(basis.rows, bat.Basis.from_matrix(weight, 6).rows)
    assert len(list(cache.glob("basis-*.npz"))) == 2


def test_more_rows_than_tokens_are_padding(tmp_path: Path) -> None:
    tiny_models.save(tmp_path, tiny_models.gpt2(320))
    loaded = models.load(str(tmp_path), device="cpu")
    assert len(loaded.tokenizer) == 300
    assert loaded.info.vocabulary_size == 320


def test_more_tokens_than_rows_are_invalid(tmp_path: Path) -> None:
    tiny_models.save(tmp_path, tiny_models.gpt2(), tiny_models.tokenizer(305))
    assert "has 300 rows, but it has token ids up to 304" in complaint(tmp_path)


def test_a_special_token_may_lie_beyond_the_rows(tmp_path: Path) -> None:
    tokenizer = tiny_models.tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    tiny_models.save(tmp_path, tiny_models.gpt2(), tokenizer)
    loaded = models.load(str(tmp_path), device="cpu")
    assert loaded.tokenizer.convert_tokens_to_ids("<image>") == loaded.info.vocabulary_size == 300


def test_whatever_ends_a_text_is_collected(tmp_path: Path) -> None:
    model = tiny_models.gpt2()
    model.config.eos_token_id = [270, 256]
    model.generation_config.eos_token_id = [280, 999]  # 999 lies beyond the vocabulary
    tokenizer = tiny_models.tokenizer()
    tokenizer.eos_token = tokenizer.convert_ids_to_tokens(290)
    tiny_models.save(tmp_path, model, tokenizer)
    assert models.load(str(tmp_path), device="cpu").info.end_tokens == (256, 270, 280, 290)


def test_a_model_may_have_no_limit_of_context(tmp_path: Path) -> None:
    tiny_models.save(tmp_path, tiny_models.family("bloom", n_layer=1, n_head=2))
    loaded = models.load(str(tmp_path), device="cpu")
    assert loaded.info.context_length == models.UNLIMITED_CONTEXT
    assert "context unlimited" in loaded.announce()


def write_config(folder: Path, **config: object) -> Path:
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_folders_that_hold_no_model(tmp_path: Path, folder: Path) -> None:
    assert "must hold a config.json" in complaint(tmp_path)
    (tmp_path / "config.json").write_text("{broken")
    assert "configuration" in complaint(tmp_path)
    assert "configuration" in complaint(write_config(tmp_path, model_type="no-such-type"))
    assert "never run here" in complaint(
        write_config(tmp_path, model_type="strange", auto_map={"AutoConfig": "code.Config"})
    )
    assert "of type 't5'" in complaint(write_config(tmp_path, model_type="t5"))
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    assert "weights" in complaint(tmp_path)
    (tmp_path / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes())
    # transformers makes an empty tokenizer here and says nothing.
    assert "must have tokens for text, but has none" in complaint(tmp_path)


def test_a_checkpoint_without_its_output_layer_is_invalid(tmp_path: Path) -> None:
    whole = tiny_models.family("llama")
    tiny_models.save(tmp_path, LlamaModel(whole.config))
    message = complaint(tmp_path)
    assert "lack 1 of them, such as lm_head.weight" in message


def test_an_output_layer_that_is_not_linear_is_invalid(tmp_path: Path) -> None:
    tiny_models.save(tmp_path, tiny_models.family("gemma2", head_dim=8))
    assert "final_logit_softcapping = 30" in complaint(tmp_path)


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    assert "There is no GGUF file" in complaint(tmp_path / "model.gguf")
    assert "does not exist" in complaint(tmp_path / "folder")
    assert "does not exist" in complaint("./no-such-folder")
    (tmp_path / "notes.txt").write_text("words")
    assert "is a file of another kind" in complaint(tmp_path / "notes.txt")


def test_settings_that_mean_nothing(folder: Path) -> None:
    assert "Did you mean 'bfloat16'" in complaint(folder, dtype="bfloat")
    with pytest.raises(InvalidInputError, match="device must be"):
        models.load(str(folder), device="gpu")
    for name in (str(folder), "fake:", "smollm2-135m"):
        assert "hub models only; got 'main'" in complaint(name, revision="main")


@pytest.mark.parametrize("architecture", ["llama", "qwen2"])
def test_a_gguf_file_is_converted_once_and_changes_no_logit(
    architecture: str, tmp_path: Path, cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tiny_models.write_gguf(tmp_path / "tiny.gguf", architecture)
    loaded = models.load(str(file), device="cpu")
    lines = capfd.readouterr().err.splitlines()
    assert [line.split()[0] for line in lines] == ["Converting", "Converted"]
    with pretrained.quietly():
        straight = AutoModelForCausalLM.from_pretrained(tmp_path, gguf_file=file.name, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(tmp_path, gguf_file=file.name)
    capfd.readouterr()
    assert type(loaded.model) is type(straight)
    torch.testing.assert_close(logits(loaded.model), logits(straight), rtol=0, atol=0)
    assert loaded.tokenizer("bat").input_ids == tokenizer("bat").input_ids
    assert loaded.info.revision == next(cache.glob("models/tiny-*-1")).name
    assert models.load(str(file), device="cpu").info == loaded.info
    assert capfd.readouterr() == ("", "")


def test_a_model_in_parts_of_packages_is_loaded_by_name_and_gets_the_beginning_it_asks_for(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = tiny_models.write_gguf(tmp_path / "tiny.gguf", "llama", add_beginning=True).read_bytes()
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(site)
    tiny_models.install_package(site, "tiny", {}, ("tiny-part1", "tiny-part2"))
    for number, part in enumerate((content[:5000], content[5000:])):
        file = {f"part{number}/tiny.gguf.part0{number}": part}
        tiny_models.install_package(site, f"tiny-part{number + 1}", file)
    packaged = models.load("package:tiny", device="cpu")
    assert leading_ids(packaged.tokenizer) == (256,)
    whole = models.load(str(tmp_path / "tiny.gguf"), device="cpu")
    assert packaged.info == dataclasses.replace(whole.info, name="package:tiny")
    assert "hub models only" in complaint("package:tiny", revision="main")


def test_a_damaged_gguf_file_is_invalid(tmp_path: Path, cache: Path) -> None:
    tiny_models.write_gguf(tmp_path / "tiny.gguf", "qwen2", without="blk.0.attn_q.weight")
    assert "lack 1 of them, such as model.layers.0.self_attn.q_proj.weight" in complaint(
        tmp_path / "tiny.gguf"
    )
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF and then nothing that makes sense")
    assert "could not be converted" in complaint(tmp_path / "tiny.gguf")
    assert not any(path.is_dir() for path in (cache / "models").iterdir())


@pytest.fixture
def hub(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An earlier download of the model org/tiny, and no network; returns its commit."""
    commit = "c0ffee" * 6 + "beef"
    repository = tmp_path / "models--org--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    (repository / "snapshots").mkdir()
    (repository / "snapshots" / commit).symlink_to(folder)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return commit


def test_a_hub_model_is_pinned_to_its_commit(hub: str, capfd: pytest.CaptureFixture[str]) -> None:
    loaded = models.load("org/tiny", device="cpu")
    out, err = capfd.readouterr()
    assert out == ""
    assert err == "Looking for org/tiny on the model hub; the first time, it is downloaded ...\n"
    assert (loaded.info.name, loaded.info.revision) == ("org/tiny", hub)
    torch.testing.assert_close(logits(loaded.model), logits(tiny_models.gpt2()), rtol=0, atol=0)
    assert models.load("org/tiny", device="cpu", revision=hub).info == loaded.info


def test_names_that_nobody_knows(hub: str) -> None:
    message = complaint("org/tinny")
    assert "'org/tinny' is not an embedded model, a file or a folder" in message
    assert "the hub could not be reached, and no earlier download was found" in message
    assert "HF_TOKEN" in message
    assert "HF_HUB_OFFLINE" in message
    assert "Did you mean 'smollm2-135m'?" in complaint("SmolLM-135")
    assert "Did you mean" not in message
    assert "not a name a hub model can have" in complaint("a/b/c")


def http_error(kind: type[hub_errors.HfHubHTTPError]) -> Callable[..., str]:
    def fail(*_args: object, **_settings: object) -> str:
        raise kind(
            "404 Client Error.\n\nMany more lines.", response=SimpleNamespace(headers={}, request=None)
        )

    return fail


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (hub_errors.GatedRepoError, "only to those who accepted its terms"),
        (hub_errors.RepositoryNotFoundError, "no such model, or keeps it private"),
        (hub_errors.RevisionNotFoundError, "no revision 'v9' of it"),
        (hub_errors.RemoteEntryNotFoundError, "the hub's copy has no config.json"),
        (hub_errors.HfHubHTTPError, "the hub answered: 404 Client Error"),
    ],
)
def test_what_the_hub_denies_is_said_in_a_sentence(
    kind: type[hub_errors.HfHubHTTPError], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", http_error(kind))
    message = complaint("org/tiny", revision="v9")
    assert reason in message
    assert "Many more lines" not in message


def test_library_settings_are_put_back() -> None:
    def settings() -> tuple[int, bool, int]:
        bars = transformers_logging.is_progress_bar_enabled()
        return transformers_logging.get_verbosity(), bars, hub_logging.get_verbosity()

    def fail_quietly() -> None:
        with pretrained.quietly():
            assert settings() == (logging.ERROR, False, logging.ERROR)
            raise RuntimeError("inside")

    before = settings()
    with pytest.raises(RuntimeError, match="inside"):
        fail_quietly()
    assert settings() == before


@pytest.mark.model
def test_the_embedded_model_is_what_it_says(demo_model: models.LanguageModel) -> None:
    info = demo_model.info
    assert (info.name, info.device, info.dtype) == ("smollm2-135m", "cpu", "float32")
    assert (info.vocabulary_size, info.hidden_size, info.context_length) == (49_152, 576, 8_192)
    ends = demo_model.tokenizer.convert_tokens_to_ids(["<|endoftext|>", "<|im_end|>"])
    assert info.end_tokens == tuple(sorted(ends))
    assert re.fullmatch(r"SmolLM2-135M-Instruct\.Q4_1-[0-9a-f]{16}-1", info.revision)
    assert {weight.dtype for weight in demo_model.model.parameters()} == {torch.float32}
    assert demo_model.model.get_output_embeddings().weight is demo_model.model.get_input_embeddings().weight
    assert demo_model.basis() is demo_model.basis(20)
    assert demo_model.basis().rows.shape == (21, 49_152)


@pytest.mark.model
def test_the_embedded_model_knows_english(demo_model: models.LanguageModel) -> None:
    prompt = demo_model.tokenizer("The capital of France is", return_tensors="pt")
    with torch.inference_mode():
        best = demo_model.model(**prompt).logits[0, -1].topk(5).indices
    assert " Paris" in [demo_model.tokenizer.decode([token]) for token in best.tolist()]


@pytest.mark.model
def test_loading_the_embedded_model_again_uses_the_cache(
    demo_model: models.LanguageModel, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(gguf_file: Path, folder: Path) -> None:
        raise AssertionError("converted a second time")

    monkeypatch.setattr(conversion, "convert_gguf", fail)
    again = models.load("smollm2-135m", device="cpu")
    assert capfd.readouterr() == ("", "")
    assert again.info == demo_model.info
