"""Whether the solver is compiled is read off the files of numba's cache, so it must look where numba does."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest

from bat import compiled
from bat.compiled import EntryPoint, is_compiled

PACKAGE = Path(compiled.__file__).parent


def dispatcher(entry: EntryPoint) -> Any:
    module = "bat." + entry.value[0].removesuffix(".py").replace("/", ".")
    return getattr(importlib.import_module(module), entry.value[1])


@pytest.mark.parametrize("entry", EntryPoint)
def test_numba_keeps_what_it_compiles_where_we_look(
    entry: EntryPoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = dispatcher(entry)
    source = PACKAGE / entry.value[0]
    if "NUMBA_CACHE_DIR" not in os.environ:
        assert Path(code.stats.cache_path) in list(compiled._folders(source))
    index = code._cache._cache_file._index_name

    # In a cache of its own there is nothing yet; then the index of older sources, then that of these.
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert not is_compiled(entry)
    [folder] = compiled._folders(source)
    folder.mkdir()
    index_file = code._cache._cache_file
    monkeypatch.setattr(index_file, "_index_path", str(folder / index))
    with monkeypatch.context() as older:
        older.setattr(index_file, "_source_stamp", "0" * 64)
        index_file._save_index({})
        assert not is_compiled(entry)
    index_file._save_index({})
    assert is_compiled(entry)
    assert not fnmatch(index, f"*.py{sys.version_info.major}{sys.version_info.minor + 1}.*")
    with monkeypatch.context() as upgraded:
        upgraded.setattr(importlib.metadata, "version", lambda name: "99.0")
        assert not is_compiled(entry)


def test_a_cache_that_users_name_is_the_one_looked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    script = "from bat._settle_rows import settle_rows; print(settle_rows.stats.cache_path)"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert [Path(found.stdout.strip())] == list(compiled._folders(PACKAGE / "_settle_rows.py"))
    assert not is_compiled(*EntryPoint)


def test_asking_imports_no_compiler() -> None:
    script = (
        "import sys; from bat.compiled import EntryPoint, is_compiled; is_compiled(*EntryPoint); "
        "print('numba' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
