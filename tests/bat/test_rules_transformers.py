"""Our plain rules keep what transformers' processors keep, but for documented ties.

Logits are float64 and the seed is fixed; transformers rounds eta to float32, so a token within about
1e-7 (relative) of a threshold could differ. None of these does.
"""

import numpy as np
import pytest
import torch
from transformers.generation.logits_process import (
    EpsilonLogitsWarper,
    EtaLogitsWarper,
    MinPLogitsWarper,
    TopHLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

from bat.rules import get_rule
from bat.validation import softmax

WARPERS = {
    "epsilon": EpsilonLogitsWarper,
    "eta": EtaLogitsWarper,
    "min-p": MinPLogitsWarper,
    "nucleus": TopPLogitsWarper,
    "top-h": TopHLogitsWarper,
    "top-k": TopKLogitsWarper,
    "typical": TypicalLogitsWarper,
}


def kept_by_transformers(name, parameter, logits):
    scores = torch.as_tensor(logits)
    return (WARPERS[name](parameter)(None, scores.clone()) > -torch.inf).numpy()


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("epsilon", 0.0006),
        ("epsilon", 0.05),
        ("epsilon", 0.7),
        ("eta", 0.0003),
        ("eta", 0.02),
        ("eta", 0.5),
        ("min-p", 0.01),
        ("min-p", 0.3),
        ("nucleus", 0.3),
        ("nucleus", 0.95),
        ("top-k", 1),
        ("top-k", 40),
        ("top-k", 5000),
        ("typical", 0.2),
        ("typical", 0.95),
    ],
)
def test_random_rows(name, parameter):
    rng = np.random.default_rng(11)
    # From nearly flat to nearly certain, so that both arms of every minimum are taken.
    logits = np.concatenate([rng.normal(scale=scale, size=(8, 400)) for scale in (0.1, 1, 3, 10)])
    ours = get_rule(name, parameter).keep(softmax(logits))
    np.testing.assert_array_equal(ours, kept_by_transformers(name, parameter, logits))


@pytest.mark.parametrize("parameter", [0.05, 0.4, 0.9, 0.999])
def test_top_h_on_the_hundred_tokens_that_transformers_looks_at(parameter):
    """Short of one, at which theirs drops what rounding of the last sum decides and ours keeps everything."""
    rng = np.random.default_rng(11)
    logits = np.concatenate([rng.normal(scale=scale, size=(8, 100)) for scale in (0.1, 1, 3, 10)])
    ours = get_rule("top-h", parameter).keep(softmax(logits))
    np.testing.assert_array_equal(ours, kept_by_transformers("top-h", parameter, logits))


@pytest.mark.parametrize("parameter", [0.2, 1.0, 2.5])
def test_top_n_sigma_as_a_logits_processor_states_it(parameter):
    """transformers has none; this is the definition on logits, with the standard deviation of torch."""
    rng = np.random.default_rng(11)
    logits = np.concatenate([rng.normal(scale=scale, size=(8, 400)) for scale in (0.1, 1, 3, 10)])
    scores = torch.as_tensor(logits)
    lowest = scores.amax(1, keepdim=True) - parameter * scores.std(1, correction=0, keepdim=True)
    ours = get_rule("top-n-sigma", parameter).keep(softmax(logits))
    np.testing.assert_array_equal(ours, (scores >= lowest).numpy())


def test_both_arms_of_eta_are_among_the_rows():
    rng = np.random.default_rng(11)
    logits = np.concatenate([rng.normal(scale=scale, size=(8, 400)) for scale in (0.1, 1, 3, 10)])
    thresholds = get_rule("eta", 0.02).thresholds(softmax(logits))
    assert (thresholds == 0.02).any()
    assert (thresholds < 0.02).any()


def test_top_k_keeps_the_same_ties():
    logits = np.log([[0.4, 0.2, 0.2, 0.2], [0.3, 0.3, 0.3, 0.1]])
    ours = get_rule("top-k", 2).keep(softmax(logits))
    np.testing.assert_array_equal(ours, kept_by_transformers("top-k", 2, logits))
    assert ours.sum(axis=1).tolist() == [4, 3]


def test_nucleus_keeps_ties_that_transformers_cuts():
    logits = np.log([[0.4, 0.2, 0.2, 0.2]])
    ours, theirs = (
        get_rule("nucleus", 0.5).keep(softmax(logits)),
        kept_by_transformers("nucleus", 0.5, logits),
    )
    assert ours.sum() == 4
    assert theirs.sum() == 2
    assert ours[theirs].all()
