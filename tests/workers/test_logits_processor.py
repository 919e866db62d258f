"""The processor of exact candidate sets; and plain rules beside transformers' warpers on a real model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers.generation.logits_process import (
    EpsilonLogitsWarper,
    EtaLogitsWarper,
    MinPLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

import bat
from bat.basis import CACHE_VARIABLE
from bat.errors import BatError, InvalidInputError
from bat.rules import Summary, ThresholdRule
from workers import models
from workers.corpora import open_corpus
from workers.plugin import CandidateSetProcessor, UndecidedError
from workers.prefixes import prefixes

PROMPTS = torch.tensor([[72, 101, 108, 108, 111], [84, 104, 101, 32, 109]])


@pytest.fixture(scope="module")
def fake() -> models.LanguageModel:
    return models.load("fake:v=1000,d=16,seed=3", device="cpu")


@pytest.fixture(scope="module")
def logits(fake: models.LanguageModel) -> torch.Tensor:  # [2, v]
    with torch.inference_mode():
        return fake.model(PROMPTS).logits[:, -1]


def test_what_is_left_is_the_candidate_set(fake: models.LanguageModel, logits: torch.Tensor) -> None:
    processor = CandidateSetProcessor(fake, "ba-eta=0.05", constraints=8)
    left = processor(PROMPTS, logits)
    rule = bat.get_rule("ba-eta=0.05")
    assert isinstance(rule, ThresholdRule)
    probs = bat.softmax(logits)
    for row, tau in enumerate(rule.thresholds(probs)):
        expected = bat.candidate_set(fake.basis(8), probs[row], tau)
        assert expected.exact
        np.testing.assert_array_equal(processor.sets[row].accepted, expected.accepted)
        np.testing.assert_array_equal(left[row].isfinite().numpy(), expected.mask())
        assert 0 < (probs[row] >= tau).sum() < expected.accepted.size < 1000
    kept = left.isfinite()
    torch.testing.assert_close(left[kept], logits[kept], rtol=0, atol=0)


@pytest.mark.parametrize("rule", ["ancestral", "greedy", "top-k=5", "typical=0.5", "eta=0.01"])
def test_a_plain_rule_keeps_what_it_keeps(
    fake: models.LanguageModel, logits: torch.Tensor, rule: str
) -> None:
    processor = CandidateSetProcessor(fake, rule)
    left = processor(PROMPTS, logits)
    np.testing.assert_array_equal(left.isfinite().numpy(), bat.get_rule(rule).keep(bat.softmax(logits)))
    assert processor.sets == ()


def test_a_temperature_divides_what_is_left(fake: models.LanguageModel, logits: torch.Tensor) -> None:
    for rule, heat in (("ba-eta=0.05", 1.6), ("eta=0.05", bat.Temperature(1.6, "last")), ("eta=0.05", 1.6)):
        left = CandidateSetProcessor(fake, rule, constraints=8, temperature=heat)(PROMPTS, logits)
        seen = logits / 1.6 if heat == 1.6 and rule == "eta=0.05" else logits
        kept = CandidateSetProcessor(fake, rule, constraints=8)(PROMPTS, seen).isfinite()
        assert torch.equal(left.isfinite(), kept)
        torch.testing.assert_close(left[kept], (logits / 1.6)[kept], rtol=0, atol=0)


def test_half_precision_scores_keep_their_type(fake: models.LanguageModel, logits: torch.Tensor) -> None:
    half = logits.to(torch.bfloat16)
    left = CandidateSetProcessor(fake.basis(8), "ba-eta=0.05")(PROMPTS, half)
    assert left.dtype == torch.bfloat16
    assert torch.equal(left[left.isfinite()], half[left.isfinite()])


def test_inside_plain_generate(
    fake: models.LanguageModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    processor = CandidateSetProcessor(fake.model, "ba-eta=0.05", constraints=8)
    settings: dict[str, Any] = {"return_dict_in_generate": True, "output_scores": True, "output_logits": True}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        output = fake.model.generate(
            PROMPTS, max_new_tokens=3, do_sample=True, top_k=0, logits_processor=[processor], **settings
        )
    for step, (scores, logits) in enumerate(zip(output.scores, output.logits, strict=True)):
        expected = CandidateSetProcessor(fake.basis(8), "ba-eta=0.05")(PROMPTS, logits)
        assert torch.equal(scores, expected)
        drawn = output.sequences[:, PROMPTS.shape[1] + step]
        assert scores[[0, 1], drawn].isfinite().all()


def test_undecided_tokens_go_where_the_caller_says(fake: models.LanguageModel, logits: torch.Tensor) -> None:
    def left(**settings: Any) -> tuple[npt.NDArray[np.bool_], CandidateSetProcessor]:
        processor = CandidateSetProcessor(fake.basis(8), "ba-eta=0.05", **settings)
        return processor(PROMPTS, logits).isfinite().numpy(), processor

    whole, _ = left()
    rejected, _ = left(max_programs=3, undecided="reject")
    accepted, processor = left(max_programs=3, undecided="accept")
    for row, found in enumerate(processor.sets):
        assert found.undecided.size
        np.testing.assert_array_equal(np.flatnonzero(accepted[row] & ~rejected[row]), found.undecided)
    assert whole[rejected].all()
    assert accepted[whole].all()
    with pytest.raises(
        UndecidedError, match=r"of row 0 are not, after 3 programs .* choose undecided='reject'"
    ):
        left(max_programs=3)
    assert issubclass(UndecidedError, BatError)


def test_the_choice_is_checked(fake: models.LanguageModel) -> None:
    with pytest.raises(
        InvalidInputError, match=r"error, reject, accept; got 'rejected'. Did you mean 'reject'\?"
    ):
        CandidateSetProcessor(fake, "ba-eta=0.05", undecided="rejected")


# On a real model. transformers computes in the type of the scores, float32 in `generate`; rules in float64.


WARPERS = {
    "epsilon": EpsilonLogitsWarper,
    "eta": EtaLogitsWarper,
    "min-p": MinPLogitsWarper,
    "nucleus": TopPLogitsWarper,
    "top-k": TopKLogitsWarper,
    "typical": TypicalLogitsWarper,
}
SETTINGS = [
    ("epsilon", 0.0003),
    ("epsilon", 0.02),
    ("eta", 0.0009),
    ("eta", 0.02),
    ("min-p", 0.001),
    ("min-p", 0.1),
    ("nucleus", 0.5),
    ("nucleus", 0.95),
    ("top-k", 1),
    ("top-k", 50),
    ("typical", 0.2),
    ("typical", 0.95),
]


@pytest.fixture(scope="module")
def human(demo_model: models.LanguageModel) -> torch.Tensor:
    """Logits after human prefixes, float32 [10, v]."""
    found = prefixes(open_corpus("news"), demo_model.tokenizer, n=10, tokens=20)
    with torch.inference_mode():
        ids = torch.tensor([prefix.token_ids for prefix in found.prefixes])
        return demo_model.model(ids, logits_to_keep=1).logits[:, -1]


def kept_by_both(
    name: str, parameter: float, scores: torch.Tensor
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    ours = bat.get_rule(name, parameter).keep(bat.softmax(scores))
    theirs = (WARPERS[name](parameter)(None, scores.clone()) > -torch.inf).numpy()
    return ours, theirs


@pytest.mark.model
@pytest.mark.parametrize(("name", "parameter"), SETTINGS)
def test_the_same_sets_in_double_precision(human: torch.Tensor, name: str, parameter: float) -> None:
    ours, theirs = kept_by_both(name, parameter, human.double())
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.model
def test_nucleus_keeps_the_ties_that_transformers_cuts(human: torch.Tensor) -> None:
    for row in human.double():
        levels, counts = row.unique(return_counts=True)
        if (counts > 1).any():
            break
    level = levels[counts > 1].max()  # the likeliest logit that several tokens share
    probs = row.softmax(dim=-1)
    tied = (row == level).numpy()
    # Half way into the first of the equals: one of them is needed, and nothing says which.
    parameter = float(probs[row > level].sum() + probs[row == level][0] / 2)
    ours, theirs = (kept[0] for kept in kept_by_both("nucleus", parameter, row[None]))
    assert ours[tied].all()
    assert theirs[tied].sum() == 1
    np.testing.assert_array_equal(ours[~tied], theirs[~tied])
    for name in ("top-k", "typical"):  # these two keep the same ties as transformers
        value = int((row > level).sum()) + 1 if name == "top-k" else parameter
        np.testing.assert_array_equal(*kept_by_both(name, value, row[None]))


@pytest.mark.model
@pytest.mark.parametrize(("name", "parameter"), SETTINGS)
def test_single_precision_moves_only_what_lies_on_the_boundary(
    human: torch.Tensor, name: str, parameter: float
) -> None:
    ours, theirs = kept_by_both(name, parameter, human)
    rows = Summary(bat.softmax(human))
    rule = bat.get_rule(name, parameter)
    for row, token in np.argwhere(ours != theirs):
        # float32 carries 24 bits; sums of 49,152 probabilities have an error of about 1e-6.
        if isinstance(rule, ThresholdRule) and name != "nucleus":
            assert rows.probs[row, token] == pytest.approx(rule.thresholds(rows)[row], rel=1e-5)
        elif name == "nucleus":
            mass = rows.probs[row, rows.probs[row] >= rows.probs[row, token]].sum()
            assert mass == pytest.approx(parameter, abs=rows.probs[row, token] + 1e-5)
        else:
            mass = rows.probs[row, rows.distances[row] <= rows.distances[row, token]].sum()
            assert mass == pytest.approx(parameter, abs=rows.probs[row, token] + 1e-5)


@pytest.mark.model
def test_the_demo_models_candidate_set(demo_model: models.LanguageModel, human: torch.Tensor) -> None:
    processor = CandidateSetProcessor(demo_model, "ba-epsilon=0.02")
    left = processor(torch.zeros(1, 1, dtype=torch.long), human[:1])
    probs = bat.softmax(human[:1])
    expected = bat.candidate_set(demo_model.basis(), probs[0], min(0.02, float(probs.max())))
    assert expected.exact
    np.testing.assert_array_equal(left[0].isfinite().numpy(), expected.mask())
