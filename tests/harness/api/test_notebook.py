"""The worked example of docs/notebook.md runs as it stands, one block after another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent.parent
GUIDE = ROOT / "docs" / "notebook.md"


def code_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.model  # it takes the embedded corpus
def test_the_worked_example(
    without_ray: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    blocks = code_blocks()
    assert len(blocks) > 8
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"notebook.md, block {number}", "exec"), names)

    printed = capsys.readouterr().out
    [promised] = re.findall(r"print\(status\)  # (.*)", "\n".join(blocks))
    assert promised in printed
    assert names["plan"].done == 0
    assert names["outcome"].complete
    mauve = names["mauve"]
    assert (mauve["seeds"] == 2).all()
    assert mauve["low"].le(mauve["value"]).all()
    assert mauve["value"].le(mauve["high"]).all()
    assert (tmp_path / "mauve.png").stat().st_size > 5_000
    assert names["shares"].sum(axis=1).round(9).eq(1).all()
    assert set(names["curves"]["constraints"].dropna()) == {4, 8}
    assert names["pairs"].shape == (16, 2)
    assert names["pairs"].notna().all(axis=None)
    assert set(names["slowest"]["kind"]) == {"measure", "generate", "featurize", "score"}
    assert (tmp_path / "smoke-report" / "report.html").exists()
    assert not names["thread"].is_alive()


def test_the_table_names_every_method() -> None:
    from harness import RunResults

    listed = re.findall(r"^\| `(\w+)\(", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    public = [name for name, value in vars(RunResults).items() if callable(value) and name[0] != "_"]
    assert sorted(listed) == sorted(set(public) - {"close"})
