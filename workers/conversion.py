"""GGUF files, converted once into ordinary model folders in the cache.

A quantised GGUF file takes some 25 seconds to read, and more; loading the folder takes a few. The conversion
changes no logit.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

from bat.basis import CACHE_VARIABLE
from workers.assets import AssetError

# Raised whenever the folder that the conversion writes would come out different.
_CONVERSION_VERSION = 1


def prepare_model(
    parts: Sequence[Path],
    cache: Path,
    convert: Callable[[Path, Path], None] | None = None,
    report: Callable[[str], None] | None = None,
) -> Path:
    """Return the cached model folder for a GGUF file in one or more parts, made now if it is not there yet.

    The folder's name is the file's content, so a new release of the package cannot meet an old conversion.
    Any number of processes may ask at once: one converts, the others wait for it. The folder appears under
    its name only when complete; what a killed conversion left is removed by the next one.
    """
    name = re.sub(r"\.part\d+$", "", parts[0].name)
    folder = cache / "models" / f"{Path(name).stem}-{_digest(parts)[:16]}-{_CONVERSION_VERSION}"
    if folder.is_dir():
        return folder

    convert = convert or convert_gguf
    report = report or report_on_stderr
    _require_writable(folder.parent)
    with FileLock(f"{folder}.lock"):
        if folder.is_dir():  # another process made it while this one waited
            return folder
        for remains in folder.parent.glob(f"{folder.name}.partial-*"):
            shutil.rmtree(remains)
        partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.partial-", dir=folder.parent))
        report(f"Converting {name}, once; this takes about half a minute, large models longer ...")
        try:
            with _whole(parts, partial / name) as gguf_file:
                convert(gguf_file, partial)
            partial.rename(folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        report(f"Converted into {folder}")
    return folder


def _digest(parts: Sequence[Path]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        with part.open("rb") as stream:
            hashlib.file_digest(stream, lambda: digest)
    return digest.hexdigest()


@contextlib.contextmanager
def _whole(parts: Sequence[Path], joined: Path) -> Iterator[Path]:
    """The file itself, or its parts joined for as long as it is read."""
    if len(parts) == 1:
        yield parts[0]
        return
    with joined.open("wb") as target:
        for part in parts:
            with part.open("rb") as source:
                shutil.copyfileobj(source, target)
    yield joined
    joined.unlink()


def convert_gguf(gguf_file: Path, folder: Path) -> None:
    """Write the model and tokenizer of a GGUF file as an ordinary model folder."""
    missing = [name for name in ("gguf", "accelerate") if importlib.util.find_spec(name) is None]
    if missing:
        raise AssetError(
            f"Reading {gguf_file.name} needs the package {' and '.join(missing)}. "
            "Install it with: make setup, or: python -m pip install 'bat-harness[gguf]'"
        )
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from workers.pretrained import quietly, read_weights

    # The reader draws a bar of its own that no setting of transformers turns off.
    with quietly(), contextlib.redirect_stderr(io.StringIO()):
        location: dict[str, Any] = {
            "pretrained_model_name_or_path": gguf_file.parent,
            "gguf_file": gguf_file.name,
            "local_files_only": True,
            "trust_remote_code": False,
        }
        read = read_weights(gguf_file.name, **location, dtype=torch.float32)
        tokenizer = AutoTokenizer.from_pretrained(**location)
        if _asks_for_beginning(gguf_file):  # the reader of tokenizers ignores this
            tokenizer.add_bos_token = True  # type: ignore[misc]
        # The model as read cannot be saved, because its configuration still calls it quantised.
        config = read.config
        if hasattr(config, "quantization_config"):
            del config.quantization_config
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        model.load_state_dict(read.state_dict())
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _asks_for_beginning(gguf_file: Path) -> bool:
    """Whether the file says that a beginning-of-text token stands before every text."""
    from gguf import GGUFReader

    field = GGUFReader(gguf_file).get_field("tokenizer.ggml.add_bos_token")
    return field is not None and bool(field.contents())


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise AssetError(
            f"The cache folder must be writable to hold the converted model, but: {error}. "
            f"Name another folder in the environment variable {CACHE_VARIABLE}."
        ) from error


def report_on_stderr(line: str) -> None:
    """Tell people what takes a while, on the stream that carries no results."""
    sys.stderr.write(line + "\n")
