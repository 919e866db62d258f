"""The examples of docs/vllm.md, in the order they have there."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

TEXT = (Path(__file__).parents[2] / "docs" / "vllm.md").read_text(encoding="utf-8")
MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"
OFFLINE, CLIENT = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
[SWEEP] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
[SERVE] = re.findall(r"^    vllm serve (.*)$", TEXT, re.MULTILINE)
[PREPARE] = re.findall(r"`(--additional-config .*?)`", TEXT)


def printed_by(example: str, name: str = "__main__") -> str:
    """Run it as it stands, as a script, or as what a process that a script starts imports (`__mp_main__`)."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(example, "vllm.md", "exec"), {"__name__": name})
    return output.getvalue()
