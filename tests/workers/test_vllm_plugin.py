"""What of the plug-in for vLLM needs no vLLM. The tests in tests/vllm_engine run it for real."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import bat
from bat.basis import CACHE_VARIABLE
from bat.errors import InvalidInputError
from workers import models
from workers.generation_record import GenerationSettings
from workers.prompts import prompt_name
from workers.trace_record import TraceRecord
from workers.traces import decode_trace
from workers.vllm_plugin.bases import ModelBases
from workers.vllm_plugin.choosing import Chooser, Row, RuleRequest
from workers.vllm_plugin.parameters import admit, check_sampling, parse_parameters, write_parameters
from workers.vllm_plugin.recording import TraceWorker

END = 7
VOCABULARY = 400
CONSTRAINTS = 6


@pytest.fixture(scope="module")
def basis() -> bat.Basis:
    return models.load(f"fake:v={VOCABULARY},d=16", "cpu").basis(CONSTRAINTS)


def logits_of(rows: int, seed: int = 0) -> torch.Tensor:
    numbers = np.random.default_rng(seed).normal(0, 2, (rows, VOCABULARY))
    return torch.tensor(numbers, dtype=torch.float32)


def request(**extra_args: Any) -> RuleRequest:
    parameters = parse_parameters({"bat_constraints": CONSTRAINTS, **extra_args})
    assert parameters is not None
    return RuleRequest.of(parameters, prompt_name([1, 2, 3]), [END, 9])


class TestParameters:
    def test_settings_survive_the_trip(self) -> None:
        heat = bat.Temperature(0.7, "last")
        rule = bat.get_rule("ba-eta", 0.1 + 0.2)
        address: dict[str, Any] = {"seed": 5, "run": "r", "sample": 2}
        settings = GenerationSettings(rule, 8, max_tries=3, fallback="exact", temperature=heat, **address)
        parameters = parse_parameters(write_parameters(settings, "some prefix", 4))
        assert parameters is not None
        assert parameters.settings == settings
        assert parameters.trace == 4
        assert parameters.key("another") == bat.Key(5, "r", "some prefix", 2)

    def test_a_prompt_is_named_by_its_tokens(self) -> None:
        """So that a prompt has the numbers that it has in `transformers`' generate (workers.plugin)."""
        parameters = parse_parameters({"bat_rule": "eta=0.1", "bat_seed": 3})
        assert parameters is not None
        assert parameters.key(prompt_name([5, 6])) == bat.Key(3, "", "5 6", 0)

    @pytest.mark.parametrize("extra_args", [None, {}, {"other": 1}])
    def test_other_requests_are_left_alone(self, extra_args: dict[str, Any] | None) -> None:
        assert parse_parameters(extra_args) is None
        check_sampling(SimpleNamespace(extra_args=extra_args, temperature=0.3, top_p=0.5, n=4, seed=1))

    @pytest.mark.parametrize(
        ("extra_args", "sentence"),
        [
            ({"bat_rule": "ba-etta=0.1"}, "bat_rule must be one of"),
            ({"bat_rule": "ba-eta=7"}, "7"),
            ({"bat_rule": 0.1}, "bat_rule must be a string; got 0.1."),
            ({"bat_rule": "eta=0.1", "bat_sead": 1}, "Did you mean 'bat_seed'"),
            ({"bat_seed": 1}, "bat_rule must say which rule"),
            ({"bat_rule": "eta=0.1", "bat_seed": "x"}, "bat_seed must be an integer"),
            ({"bat_rule": "eta=0.1", "bat_prefix": 3}, "bat_prefix must be a string"),
            ({"bat_rule": "eta=0.1", "bat_run": 3}, "bat_run must be a string"),
            ({"bat_rule": "eta=0.1", "bat_trace": -1}, "bat_trace must be an integer"),
            ({"bat_rule": "eta=0.1", "bat_temperature": 0}, "bat_temperature must be a finite number"),
            ({"bat_rule": "eta=0.1", "bat_temperature_order": "last"}, "without a temperature"),
            (
                {"bat_rule": "ba-eta=0.1", "bat_temperature_order": "first", "bat_temperature": 2},
                "bat_temperature_order must be last",
            ),
            ({"bat_rule": "ba-eta=0.1", "bat_fallback": "non"}, "bat_fallback must be"),
            ({"bat_rule": "ba-eta=0.1", "bat_solver": "certifed"}, "certified"),
        ],
    )
    def test_what_cannot_be_used_is_said(self, extra_args: dict[str, Any], sentence: str) -> None:
        with pytest.raises(InvalidInputError) as caught:
            check_sampling(SimpleNamespace(extra_args=extra_args))
        assert sentence in str(caught.value)
        assert "bat_bat_" not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("temperature", 0.0),
            ("top_p", 0.9),
            ("top_k", 50),
            ("min_p", 0.1),
            ("presence_penalty", 0.1),
            ("frequency_penalty", 0.1),
            ("repetition_penalty", 1.1),
            ("seed", 0),
            ("n", 2),
        ],
    )
    def test_nothing_else_may_sample_beside_a_rule(self, name: str, value: object) -> None:
        asked = SimpleNamespace(extra_args={"bat_rule": "eta=0.1"}, **{name: value})
        with pytest.raises(ValueError, match=rf"^{name} must be .* beside bat_rule; got {value}"):
            check_sampling(asked)


class TestChoosing:
    def test_every_row_keeps_its_own_rule_seed_and_step(self, basis: bat.Basis) -> None:
        """In any company and at any place in the batch; rows without a rule keep their logits."""
        asked = [
            request(bat_rule="ba-eta=0.1", bat_seed=1),
            None,
            request(bat_rule="eta=0.01", bat_seed=1),
            request(bat_rule="ba-eta=0.1", bat_seed=2),
            request(bat_rule="ba-nucleus=0.7", bat_prefix="own", bat_temperature=0.5),
        ]
        steps = [0, 3, 11, 2, 5]
        seen = logits_of(5)
        expected = []
        for index, each in enumerate(asked):
            if each is not None:
                settings = each.parameters.settings
                numbers = bat.uniforms([each.parameters.key("1 2 3")], steps[index], 11)
                row = seen[index : index + 1]
                heat = settings.temperature
                expected.append(
                    int(bat.sample(basis, row, settings.rule, numbers, temperature=heat).tokens[0])
                )
        for order in ([0, 1, 2, 3, 4], [3, 0, 4, 2, 1]):
            logits = seen[order].clone()
            rows = [
                Row(place, steps[index], each)
                for place, index in enumerate(order)
                if (each := asked[index]) is not None
            ]
            Chooser(lambda _: basis).choose(logits, rows)
            chosen = {
                order[row.batch_index]: logits[row.batch_index].isfinite().nonzero().flatten().tolist()
                for row in rows
            }
            assert [chosen[index] for index in (0, 2, 3, 4)] == [[token] for token in expected]
            assert torch.equal(logits[order.index(1)], seen[1])
        assert len(set(expected)) > 1

    def test_a_row_that_cannot_be_sampled_ends_alone(
        self, basis: bat.Basis, caplog: pytest.LogCaptureFixture
    ) -> None:
        """An exception would end the engine, and all other texts with it."""
        logits = logits_of(3)
        logits[1, 0] = torch.nan
        asked = request(bat_rule="ba-eta=0.1")
        Chooser(lambda _: basis).choose(logits, [Row(index, 0, asked) for index in range(3)])
        assert [row.isfinite().sum() for row in logits] == [1, 1, 1]
        assert logits[1].argmax() == END
        assert "A text under ba-eta=0.1 ends at step 0" in caplog.text

    def test_a_request_that_nobody_checked_ends_at_once(self, basis: bat.Basis) -> None:
        """vLLM asks plug-ins before it accepts a request, but not every version in every runner."""
        parameters = admit(SimpleNamespace(extra_args={"bat_rule": "eta=0.1"}, top_p=0.9))
        assert parameters is not None
        logits = logits_of(2)
        rows = [
            Row(0, 0, RuleRequest.of(parameters, "", [END])),
            Row(1, 0, request(bat_rule="ancestral")),
        ]
        Chooser(lambda _: basis).choose(logits, rows)
        assert logits[0].argmax() == END
        assert logits[1].argmax() != END

    def test_a_basis_that_the_model_does_not_have_ends_its_texts_alone(self, basis: bat.Basis) -> None:
        def find(constraints: int) -> bat.Basis:
            if constraints > 16:
                raise InvalidInputError("constraints must be at most the rank")
            return basis

        worker, logits = TraceWorker(), logits_of(2)
        worker.open_bat_traces(2, 4)
        asked = [
            request(bat_rule="ba-eta=0.1", bat_trace=0),
            request(bat_rule="ba-eta=0.1", bat_trace=1, bat_constraints=99),
        ]
        Chooser(find).choose(logits, [Row(index, 0, each) for index, each in enumerate(asked)])
        assert logits[1].argmax() == END
        fine, failed = worker.take_bat_traces([1, 0])
        assert fine[2] is None
        assert failed[2] == "constraints must be at most the rank"
        assert decode_trace(fine[0]).token_ids.tolist() == [logits[0].argmax()]


def test_a_step_that_is_recorded_again_replaces_what_followed(basis: bat.Basis) -> None:
    """vLLM samples a row again after it took back its keys and values."""
    record, again, rule = TraceRecord(2, 5), TraceRecord(2, 5), bat.get_rule("ba-eta", 0.2)
    rows = np.array([0, 1])

    def sampled(step: int, seed: int) -> Any:
        numbers = bat.uniforms([bat.Key(seed, "", row, 0) for row in range(2)], step, 11)
        return bat.sample(basis, logits_of(2, seed), rule, numbers)

    for step in range(4):
        record.add(rows, step, sampled(step, 100 + step))
    record.add(rows, np.array([1, 3]), sampled(0, 7))
    for step, seed in ((0, 100), (1, 101), (2, 102)):
        again.add(rows, step, sampled(step, seed))
    again.add(rows, np.array([1, 3]), sampled(0, 7))
    assert [len(record.trace(row)) for row in rows] == [2, 4]
    assert sum(len(record.trace(1).rejected_before(position)) for position in range(4)) > 0
    for row in rows:
        one, other = record.trace(row), again.trace(row)
        assert one.token_ids.tolist() == other.token_ids.tolist()
        assert one.rejected_tokens.tolist() == other.rejected_tokens.tolist()
        assert len(one.rejected_tokens) == one.rejections.sum()
    assert len(record.trace(1, 2)) == 2
    assert record.solver_seconds(1, 2) <= record.solver_seconds(1)


def test_a_basis_is_read_from_the_models_files_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    fake = models.load("fake:v=300,d=8")
    folder = tmp_path / "model"
    fake.model.save_pretrained(folder)
    fake.tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        os.utime(file, (0, 0))  # as old as the files that people use
    first = ModelBases(str(folder), None, "float32", 300)(4)
    np.testing.assert_array_equal(first.rows, fake.basis(4).rows)

    def load(*arguments: object) -> None:
        raise AssertionError("the model was read again")

    monkeypatch.setattr(models, "load", load)
    bases = ModelBases(str(folder), None, "float32", 300)
    np.testing.assert_array_equal(bases(4).rows, first.rows)
    assert bases(4) is bases(4)
    assert bases(0).rows.tolist() == [[1.0] * 300]  # a plain rule asks for no weight


def test_a_model_that_has_no_basis_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every token of every text asks again."""
    fake = models.load("fake:v=300,d=8")
    loads: list[object] = []
    monkeypatch.setattr(models, "load", lambda *arguments: loads.append(arguments) or fake)
    monkeypatch.setattr(models, "find_source", lambda name, revision: (name, "a commit"))
    bases = ModelBases("someone/model", None, "float32", 300)
    for _ in range(3):
        with pytest.raises(InvalidInputError, match="constraints must be at most the rank"):
            bases(99)
    assert len(loads) == 1
    assert bases(4).constraints == 4
