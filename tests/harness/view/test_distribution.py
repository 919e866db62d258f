"""One distribution over HTTP: what the model answers, what it is not asked, and who waits."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import bat
from bat.rules import Summary
from harness.explore.next_token import next_distribution
from harness.explore.prompts import encode_prompt
from harness.store import open_reader
from harness.view.app import create_app
from harness.view.model import MOST_WAITING, LoadedModel, SharedModel
from harness.view.problems import ViewError
from harness.view.settings import ViewSettings
from workers import models
from workers.rejection import parameter_at_rate

MODEL = "fake:v=300,d=8"
PROMPT = "The mayor"


class Visitor:
    """A script of the page, without a browser."""

    def __init__(self, db: str, model: str = MODEL) -> None:
        self.settings = ViewSettings(db, model=model)
        self.client = TestClient(create_app(self.settings), "http://127.0.0.1:8700")

    def ask(self, path: str, **fields: Any) -> Any:
        form = {"form_token": self.settings.form_token, "prompt": PROMPT, "taken": "", **fields}
        headers = {"accept": "application/json"}
        return self.client.post(f"/distribution/{path}", data=form, headers=headers)


@pytest.fixture(scope="module")
def visitor(site_db: str) -> Visitor:
    return Visitor(site_db)


@pytest.fixture(scope="module")
def model() -> models.LanguageModel:
    return models.load(MODEL)


@pytest.fixture(scope="module")
def probs(model: models.LanguageModel) -> np.ndarray:
    return next_distribution(model, encode_prompt(model, PROMPT))


def test_the_likeliest_tokens_are_described(visitor: Visitor, probs: np.ndarray) -> None:
    record = visitor.ask("next", constraints="0, 4").json()
    order = np.argsort(-probs, kind="stable")[:200]
    assert record["ids"] == order.tolist()
    assert record["probabilities"] == probs[order].tolist()  # JSON keeps every bit
    assert {method["name"] for method in record["methods"]} >= {"eta", "ba-eta", "typical", "ba-top-k"}
    [plain] = [method for method in record["methods"] if method["name"] == "epsilon"]
    # The likeliest token is rejected by no threshold, the others from their probability on.
    assert plain["critical"][""]["lower"] == [1.0, *probs[order[1:]].tolist()]
    again = visitor.ask("next", constraints="0", taken=str(order[3])).json()
    assert again["taken"] == [record["texts"][3]]
    assert again["contextTokens"] == record["contextTokens"] + 1


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"constraints": "0,1,2,3,4"}, "values of c must be 1 to 4 different numbers; got '0,1,2,3,4'"),
        ({"constraints": "4,4"}, "different numbers"),
        ({"constraints": "-1"}, "must be whole numbers with commas between them; got '-1'"),
        ({"constraints": "9"}, "at most the rank of the output matrix, 8"),
        ({"constraints": "4", "taken": "300"}, "must be below 300; got 300"),
        ({"constraints": "4", "prompt": "a" * 1100}, "must fit into the 1024 tokens"),
        ({"constraints": "4", "prompt": "a" * 1022, "taken": "1,2,3"}, "at most 1,024 tokens here"),
    ],
)
def test_invalid_questions_get_a_sentence(visitor: Visitor, fields: dict[str, str], words: str) -> None:
    answer = visitor.ask("next", **fields)
    assert answer.status_code == 400
    assert words in answer.json()["problem"]


def test_a_megabyte_is_not_read(visitor: Visitor) -> None:
    answer = visitor.ask("next", prompt="x" * 2**20, constraints="4")
    assert answer.status_code == 413
    assert "at most 256 KB" in answer.json()["problem"]
    assert visitor.client.get("/").status_code == 200


def test_other_sites_cannot_ask(visitor: Visitor) -> None:
    assert visitor.ask("next", constraints="4", form_token="x").status_code == 403


@pytest.mark.parametrize("name", ["eta=0.05", "ba-eta=0.2", "ba-nucleus=0.5", "typical=0.5"])
def test_explanations_agree_with_decisions(
    visitor: Visitor, model: models.LanguageModel, probs: np.ndarray, name: str
) -> None:
    rule, rows = bat.get_rule(name), Summary(probs[None])
    verdicts = set()
    for token in np.argsort(-probs)[[0, 20, 60, 150]].tolist():
        fields = {"token": token, "rule": rule.name, "parameter": rule.parameter, "constraints": 4}
        answer = visitor.ask("explain", **fields).json()
        if rule.basis_aware:
            decided = bat.decide(model.basis(4), rows.probs, [token], [answer["threshold"]])
            assert answer["verdict"] == decided.verdicts[0]
            assert bool(answer["changes"]) == bool(decided.used_program[0])
        else:
            assert (answer["verdict"] == "accept") == rule.keep(rows)[0, token]
        assert "probability" in answer["words"][0]
        verdicts.add(answer["verdict"])
    assert len(verdicts) == 2


def test_a_draw_gives_one_token_which_the_method_accepts(visitor: Visitor, probs: np.ndarray) -> None:
    fields = {"rule": "eta", "parameter": 0.2, "constraints": 4}
    tokens = [visitor.ask("sample", draw=draw, **fields).json()["token"] for draw in (1, 1, 2, 3, 4)]
    assert tokens[0] == tokens[1]
    kept = bat.get_rule("eta=0.2").keep(probs[None])[0]
    assert len(set(tokens)) > 1
    assert all(kept[token] for token in tokens)


def test_rates_are_those_of_measured_text(visitor: Visitor, site_db: str) -> None:
    visitor.ask("next", constraints="0")  # the model is loaded, and known by its weights
    record = visitor.client.get("/distribution/rates").json()
    assert record["run"] == "tiny#1"
    with open_reader(site_db) as reader:
        [instance] = [each for each in reader.instances(1) if each.kind == "measure"]
        measurement = reader.measurement(instance.job_ids("measurement"))
    for rule, number in (("eta", None), ("ba-nucleus", 4)):
        [curve] = [c for c in record["curves"] if (c["rule"], c["constraints"]) == (rule, number)]
        index = record["rates"].index(0.25)
        expected = parameter_at_rate(measurement, rule, 0.25, number or 0, replicates=0)
        assert curve["parameters"][index] == expected.value
    other = Visitor(site_db, "fake:v=300,d=8,seed=1")
    other.ask("next", constraints="0")
    assert other.client.get("/distribution/rates").json()["run"] is None


def test_a_model_that_cannot_be_loaded_gives_a_sentence(site_db: str) -> None:
    visitor = Visitor(site_db, "./no/such/folder")
    visitor.ask("next", constraints="4")  # waits until loading has failed
    for answer in (visitor.ask("next", constraints="4"), visitor.ask("sample", rule="eta", parameter=0.1,
                                                                      constraints=4, draw=1)):  # fmt: skip
        assert answer.status_code == 503
        assert "'./no/such/folder' does not exist" in answer.json()["problem"]
    page = visitor.client.get("/distribution")
    assert page.status_code == 200
    assert "does not exist" in page.text
    assert visitor.client.get("/").status_code == 200


def test_questions_take_turns_and_few_may_wait() -> None:
    shared = SharedModel(MODEL)
    began, may_end = threading.Event(), threading.Event()
    order: list[int] = []

    def slow(model: LoadedModel) -> int:
        began.set()
        assert may_end.wait(60)
        return 0

    async def visit() -> None:
        first = asyncio.create_task(shared.ask(slow))
        await asyncio.to_thread(began.wait, 120)
        waiting = [
            asyncio.create_task(shared.ask(lambda _, number=number: order.append(number)))
            for number in range(MOST_WAITING)
        ]
        await asyncio.sleep(0)
        with pytest.raises(ViewError, match=f"{MOST_WAITING} are waiting"):
            await shared.ask(lambda _: None)
        may_end.set()
        assert await first == 0
        await asyncio.gather(*waiting)

    asyncio.run(visit())
    assert order == list(range(MOST_WAITING))


def test_scripts_that_import_each_other_are_never_old(visitor: Visitor) -> None:
    page = visitor.client.get("/distribution").text
    address = page.partition('<script src="/static/distribution.js?v=')[2].partition('"')[0]
    kept = visitor.client.get(f"/static/distribution.js?v={address}").headers["cache-control"]
    assert "immutable" in kept
    # An import names no version.
    asked_again = visitor.client.get("/static/distribution_chart.js").headers["cache-control"]
    assert asked_again == "no-cache"
