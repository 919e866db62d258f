"""Examples of the documentation run as they stand."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import workers.models
from workers.models import LanguageModel

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.model
def test_the_example_of_the_workers_guide(demo_model: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    block = re.search(r"```python\n(.*?)```", (DOCS / "workers.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    # The model that is loaded already, instead of once more.
    monkeypatch.setattr(workers.models, "load", lambda name: {"smollm2-135m": demo_model}[name])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.group(1), "workers.md", "exec"), {})
    lines = printed.getvalue().splitlines()
    assert lines[0].startswith("smollm2-135m")
    assert lines[1].startswith("Estimate(value=0.")
    assert sum(line.startswith("length ") or line.startswith("end ") for line in lines) == 2


@pytest.mark.parametrize("guide", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(guide: Path) -> None:
    text = guide.read_text(encoding="utf-8")
    targets = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in targets if not (guide.parent / link).exists()] == []
