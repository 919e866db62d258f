"""The sample sweeps that ship with the package: the folder configs/ of the project.

`harness/_configs` is a link to that folder. Building a wheel follows the link, so an installed package has a
copy of the files under the same name.
"""

from __future__ import annotations

from pathlib import Path

from bat.errors import BatError, InvalidInputError

FOLDER = Path(__file__).parent / "_configs"
# What the project's own overview of the folder links to is not part of the package.
_LEFT_OUT = "README.md"


class SampleSweepError(BatError):
    """The sample sweeps are not installed, or cannot be written."""


def find_sample(name: str) -> Path:
    """The file of a sample sweep, such as demo.yaml."""
    path = FOLDER / name
    if not path.is_file():
        raise SampleSweepError(f"the sample sweep {name} must be in {FOLDER}; it is missing. {_REINSTALL}")
    return path


def write_samples(folder: Path, *, force: bool = False) -> list[Path]:
    """Copy the sample sweeps into a folder and return their new paths. Existing files need `force`."""
    sources = [path for path in sorted(FOLDER.rglob("*")) if path.is_file() and path.name != _LEFT_OUT]
    if not sources:
        raise SampleSweepError(f"the sample sweeps must be in {FOLDER}; there are none. {_REINSTALL}")
    targets = {folder / source.relative_to(FOLDER): source for source in sources}
    existing = [target for target in targets if target.exists()]
    if existing and not force:
        others = f", and {len(existing) - 1} more" if len(existing) > 1 else ""
        raise InvalidInputError(
            f"existing files are only overwritten with --force; {existing[0]} exists{others}. "
            "Choose another folder, or add --force."
        )
    try:
        for target, source in targets.items():
            content = source.read_bytes()
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o755 if source.suffix == ".sh" else 0o644)
    except OSError as error:
        raise SampleSweepError(
            f"{folder} cannot be written: {error.strerror}. Choose another folder."
        ) from error
    return list(targets)


_REINSTALL = "Reinstall bat-harness."
