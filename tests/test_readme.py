"""The README's first code block runs and prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_first_code_block_reproduces_the_toy_example() -> None:
    block = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.group(1), "README.md", "exec"), {})
    lines = printed.getvalue().splitlines()
    assert lines[0] == "[0.42505, 1.0, 0.57495]"
    assert lines[1] == "['reject', 'accept', 'accept']"
    assert "it is rejected" in lines[3]


def test_make_targets_in_the_readme_exist() -> None:
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"make ([a-z]+)", README.read_text(encoding="utf-8")))
    assert {"demo", "test", "bench"} <= named
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_tree_names_what_is_there() -> None:
    tree = README.read_text(encoding="utf-8").split("## The tree\n")[1].split("\n## ")[0]
    folder, seen = "", 0
    for line in tree.splitlines():
        if re.match(r" {4}\w", line):
            folder = line.split()[0]
            assert (README.parent / folder).is_dir()
        elif line.strip():
            first = line.split()[0]
            for name in {first, *re.findall(r"\w+\.py", line)}:
                assert (README.parent / folder / name).exists(), f"{folder}{name}"
                seen += 1
    assert seen > 25
