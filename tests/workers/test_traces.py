"""Traces: nothing is lost in the encoding, equal traces are equal bytes, damage is noticed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from bat.acceptance import Acceptance
from bat.errors import InvalidInputError
from workers.traces import Trace, acceptance_counts, decode_trace, encode_trace


def make_trace(count: int, vocabulary: int = 50_000, seed: int = 0, share: float = 0.1) -> Trace:
    """A trace like those of real generations: a share of the tokens saw rejections and programs."""
    generator = np.random.default_rng(seed)
    eventful = generator.random(count) < share
    rejections = np.where(eventful, generator.integers(0, 4, count), 0).astype(np.int32)
    programs = np.where(eventful, rejections + 1, 0).astype(np.int32)
    return Trace(
        token_ids=generator.integers(0, vocabulary, count).astype(np.int32),
        probabilities=generator.random(count).astype(np.float32),
        thresholds=np.full(count, 0.003, np.float32),
        acceptance=np.where(eventful, Acceptance.CERTIFIED, Acceptance.THRESHOLD).astype(np.uint8),
        rejections=rejections,
        undecided=np.zeros(count, np.int32),
        programs=programs,
        pivots=programs * 61,
        passes=programs * 3,
        rejected_tokens=generator.integers(0, vocabulary, int(rejections.sum())).astype(np.int32),
    )


def assert_equal(first: Trace, second: Trace) -> None:
    for field in dataclasses.fields(Trace):
        one, other = getattr(first, field.name), getattr(second, field.name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [0, 1, 2, 256, 5000])
@pytest.mark.parametrize("vocabulary", [300, 65_536, 262_144])
def test_nothing_is_lost(count: int, vocabulary: int) -> None:
    trace = make_trace(count, vocabulary)
    assert_equal(decode_trace(encode_trace(trace)), trace)


def test_a_rule_without_a_threshold_keeps_its_nan() -> None:
    trace = dataclasses.replace(make_trace(20), thresholds=np.full(20, np.nan, np.float32))
    assert np.isnan(decode_trace(encode_trace(trace)).thresholds).all()


def test_equal_traces_are_equal_bytes_and_others_are_not() -> None:
    assert encode_trace(make_trace(100)) == encode_trace(make_trace(100))
    assert encode_trace(make_trace(100)) != encode_trace(make_trace(100, seed=1))


def test_tokens_accepted_at_once_cost_no_more_than_their_numbers() -> None:
    # Ids and probabilities here are noise, which nothing compresses: 2 and some 3 bytes a token.
    assert len(encode_trace(make_trace(5000, share=0.0))) / 5000 < 6.5


def test_rejected_tokens_belong_to_their_position() -> None:
    trace = make_trace(200, share=0.3)
    assert [trace.rejected_before(t) for t in range(200) if trace.rejections[t] == 0] == [
        [] for t in range(200) if trace.rejections[t] == 0
    ]
    listed = [token for t in range(200) for token in trace.rejected_before(t)]
    assert listed == trace.rejected_tokens.tolist()
    assert listed


def test_ways_of_acceptance_are_counted_by_name() -> None:
    counts = acceptance_counts(make_trace(300, share=0.5))
    assert set(counts) == {"threshold", "certified", "greedy_fallback", "exact_fallback"}
    assert sum(counts.values()) == 300
    assert counts["certified"] > 0
    assert counts["greedy_fallback"] == 0


@pytest.mark.parametrize("damage", [lambda b: b[:5], lambda b: b[:-4], lambda b: b[:14] + b"xx" + b[16:]])
def test_damaged_bytes_are_invalid(damage) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInputError, match="damaged"):
        decode_trace(damage(encode_trace(make_trace(50))))


def test_another_format_is_named() -> None:
    with pytest.raises(InvalidInputError, match="must have format 1; got 9"):
        decode_trace(b"\x09" + encode_trace(make_trace(5))[1:])
