"""Small untrained models of real families, and the files they are loaded from."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from workers import fake_model
from workers.pretrained import quietly

VOCABULARY = 300


def tokenizer(size: int = VOCABULARY) -> PreTrainedTokenizerFast:
    return fake_model.parse(f"fake:v={size}").build(torch.float32)[1]


def gpt2(size: int = VOCABULARY, **settings: object) -> GPT2LMHeadModel:
    """A GPT-2 whose logits are as large as a trained model's."""
    config = GPT2Config(
        vocab_size=size,
        n_embd=16,
        n_layer=1,
        n_head=2,
        n_positions=64,
        bos_token_id=256,
        eos_token_id=256,
        initializer_range=0.5,
        **settings,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return GPT2LMHeadModel(config).eval()


def family(name: str, dtype: torch.dtype = torch.float32, **settings: object) -> PreTrainedModel:
    """A model of any family that is configured in the usual words."""
    usual = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "bos_token_id": 256,
        "eos_token_id": 256,
        "pad_token_id": 0,
    }
    with torch.random.fork_rng(devices=[]), quietly():
        torch.manual_seed(1)
        config = AutoConfig.for_model(name, **usual | settings)
        return AutoModelForCausalLM.from_config(config, dtype=dtype).eval()


def save(folder: Path, model: PreTrainedModel, tokens: PreTrainedTokenizerFast | None = None) -> Path:
    with quietly():
        model.save_pretrained(folder)
        (tokens or tokenizer()).save_pretrained(folder)
    return folder


def write_gguf(path: Path, architecture: str, without: str = "", add_beginning: bool = False) -> Path:
    """Write a model of one layer with random weights, and a vocabulary of bytes, as a GGUF file."""
    size, hidden, inner = 260, 16, 32
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_vocab_size(size)
    writer.add_context_length(64)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(inner)
    writer.add_block_count(1)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    vocabulary = tokenizer(size).get_vocab()
    words = sorted(vocabulary, key=lambda word: vocabulary[word])
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*words[:-1], "ba"])
    writer.add_token_merges(["b a"])
    writer.add_token_types([1] * size)
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(256)
    writer.add_add_bos_token(add_beginning)

    shapes = {"token_embd.weight": (size, hidden), "output.weight": (size, hidden)}
    shapes |= {f"{norm}.weight": (hidden,) for norm in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm")}
    shapes |= {f"blk.0.attn_{part}.weight": (hidden, hidden) for part in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{part}.weight": (inner, hidden) for part in ("gate", "up")}
    shapes["blk.0.ffn_down.weight"] = (hidden, inner)
    if architecture == "qwen2":
        shapes |= {f"blk.0.attn_{part}.bias": (hidden,) for part in "qkv"}
    shapes.pop(without, None)
    generator = np.random.default_rng(1)
    for name, shape in shapes.items():
        writer.add_tensor(name, generator.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def install_package(site: Path, name: str, files: dict[str, bytes], requires: tuple[str, ...] = ()) -> None:
    """Put a package into a folder that Python imports from, as pip does."""
    about = site / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir(parents=True)
    lines = [f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0", *(f"Requires-Dist: {r}" for r in requires)]
    (about / "METADATA").write_text("\n".join(lines))
    (about / "RECORD").write_text("".join(f"{file},,\n" for file in files))
    for file, content in files.items():
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_bytes(content)
