"""Counter-based random numbers: the right generator, and an address for every number."""

import itertools
import pickle

import numpy as np
import pytest

from bat.errors import InvalidInputError
from bat.random import Key, key_words, philox, uniforms

ALL = 2**64 - 1


def words(*values):
    return np.array(values, dtype=np.uint64)


def test_published_answer_for_zero():
    """Random123's known-answer file, philox4x64-10, counter and key zero."""
    expected = words(0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)
    np.testing.assert_array_equal(philox(words(0, 0, 0, 0), words(0, 0)), expected)


def test_same_words_as_numpy():
    rng = np.random.default_rng(5)
    cases = [(words(0, 0, 0, 0), words(0, 0)), (words(ALL, ALL, ALL, ALL), words(ALL, ALL))]
    cases += [
        (rng.integers(0, ALL, 4, dtype=np.uint64), rng.integers(0, ALL, 2, dtype=np.uint64))
        for _ in range(200)
    ]
    for counter, key in cases:
        # numpy steps its counter before it generates, so it is set one short (with borrow).
        total = sum(int(word) << (64 * place) for place, word in enumerate(counter)) - 1
        before = words(*(((total % 2**256) >> (64 * place)) & ALL for place in range(4)))
        reference = np.random.Philox()
        state = reference.state
        state["state"] = {"counter": before, "key": key}
        state["buffer_pos"] = 4
        reference.state = state
        np.testing.assert_array_equal(philox(counter, key), reference.random_raw(4))


def test_the_address_of_a_number():
    """Draw d of a step is word d mod 4 of the block at counter (d // 4, step, 0, 0)."""
    keys = [Key(7, "run", 3, 0)]
    drawn = uniforms(keys, step=12, count=10)[0]
    for draw in range(10):
        word = philox(words(draw // 4, 12, 0, 0), key_words(keys)[0])[draw % 4]
        assert drawn[draw] == float(int(word) >> 11) / 2**53


def test_numbers_are_pinned():
    """A change here changes every generated text: raise the results' schema version with it."""
    drawn = uniforms([Key(0, "demo", "article 1", 0), Key(1, 2, 3, 4)], step=5, count=2)
    assert drawn.tolist() == [
        [0.4621724274170693, 0.6256823165168817],
        [0.18559890004628066, 0.14147238745586677],
    ]


def test_batch_order_and_count_do_not_matter():
    keys = [Key(seed, run, prefix, 0) for seed in range(3) for run in ("a", "b") for prefix in range(5)]
    together = uniforms(keys, step=9, count=11)
    order = np.random.default_rng(0).permutation(len(keys))
    np.testing.assert_array_equal(uniforms([keys[i] for i in order], 9, 11), together[order])
    np.testing.assert_array_equal(uniforms(key_words(keys), 9, 11), together)
    np.testing.assert_array_equal(uniforms(keys, np.full(len(keys), 9), 11), together)
    for count in (0, 1, 4, 5):
        np.testing.assert_array_equal(uniforms(keys, 9, count), together[:, :count])
    for row, key in enumerate(keys):
        np.testing.assert_array_equal(uniforms([key], 9, 11)[0], together[row])


def test_rows_may_be_at_different_steps():
    keys = [Key(0, "r", 1, 0), Key(0, "r", 2, 0)]
    ragged = uniforms(keys, np.array([3, 8]), 6)
    np.testing.assert_array_equal(ragged[0], uniforms(keys[:1], 3, 6)[0])
    np.testing.assert_array_equal(ragged[1], uniforms(keys[1:], 8, 6)[0])


def test_every_part_of_the_address_matters():
    keys = [Key(*parts) for parts in itertools.product((0, 1, -1), (0, "0", "a"), (0, "0", "a"), (0, 1))]
    # Spellings that would collide if the parts were merely glued together.
    keys += [Key(0, "a,b", "c", 0), Key(0, "a", "b,c", 0), Key(0, 'a", "b', "c", 0), Key(1, 23, 4, 5)]
    keys += [Key(12, 3, 4, 5), Key(0, "", "ab", 0), Key(0, "ab", "", 0), Key(2**80, 0, 0, 0)]
    numbers = np.concatenate([uniforms(keys, step, 9).ravel() for step in (0, 1, 2, 2**63)])
    # Distinct by luck: about 2,200 numbers of 53 bits repeat with a chance below 3e-10; the seed is fixed.
    assert len(set(numbers.tolist())) == len(numbers)


def test_numbers_look_uniform():
    """Fixed keys, so this cannot fail by luck once it has passed; fresh keys would fail 1 time in 500,000."""
    drawn = uniforms([Key(0, "uniformity", prefix, 0) for prefix in range(500)], 0, 400)
    assert drawn.shape == (500, 400)
    assert drawn.min() >= 0.0
    assert drawn.max() < 1.0
    counts = np.bincount((drawn.ravel() * 100).astype(int), minlength=100)
    # Chi-square with 99 degrees of freedom: 175.2 is its 1 - 3e-6 quantile, 46 its 1e-6 quantile.
    assert 46 < ((counts - 2000) ** 2 / 2000).sum() < 175.2
    # Neighbouring draws are uncorrelated: 5 standard deviations of 1/sqrt(200,000), chance 6e-7.
    assert abs(np.corrcoef(drawn[:, :-1].ravel(), drawn[:, 1:].ravel())[0, 1]) < 5 / np.sqrt(drawn.size)


def test_keys_are_records():
    key = Key(np.int64(3), "run", np.uint8(4), 0)
    assert key == Key(3, "run", 4, 0)
    assert type(key.seed) is int
    assert pickle.loads(pickle.dumps(key)) == key
    np.testing.assert_array_equal(key_words([key]), key_words([Key(3, "run", 4, 0)]))


def test_empty_batches():
    assert uniforms([], 0, 5).shape == (0, 5)
    assert uniforms([Key(0, 0, 0, 0)], 0, 0).shape == (1, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Key("0", 0, 0, 0), "seed must be an integer; got '0'"),
        (lambda: Key(0, 1.5, 0, 0), "run must be an integer or a string; got 1.5"),
        (lambda: Key(0, 0, None, 0), "prefix must be an integer or a string; got None"),
        (lambda: Key(0, 0, 0, True), "sample must be an integer; got True"),
        (lambda: uniforms([Key(0, 0, 0, 0)], -1, 1), r"step must lie in \[0, 2\*\*64\); got -1"),
        (lambda: uniforms([Key(0, 0, 0, 0)], 0.5, 1), "step must be an integer; got 0.5"),
        (lambda: uniforms([Key(0, 0, 0, 0)], np.array([1, 2]), 1), "one for each key"),
        (lambda: uniforms([Key(0, 0, 0, 0)], 0, -1), "count must be at least 0; got -1"),
        (lambda: uniforms(np.zeros((2, 2)), 0, 1), "uint64 words of shape"),
    ],
)
def test_bad_input_is_invalid(make, message):
    with pytest.raises(InvalidInputError, match=message):
        make()
