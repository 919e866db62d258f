from __future__ import annotations

import numpy as np
import pytest

from bat.errors import InvalidInputError
from harness.scoring.resampling import BLOCKS, STEP, Resampling


def drawn(resampling: Resampling) -> np.ndarray:
    return np.concatenate(list(resampling.draws()))


@pytest.mark.parametrize("resamples", [1, 99, 100, 101, 250])
def test_every_resampling_draws_as_many_prefixes_as_there_are(resamples: int) -> None:
    found = drawn(Resampling(30, resamples))
    assert found.shape == (resamples, 30)
    assert (found.sum(axis=1) == 30).all()
    assert (found >= 0).all()
    assert (found == found.round()).all()


def test_prefixes_are_drawn_evenly_with_replacement() -> None:
    """A prefix counts 1 in the mean, with variance 1 - 1/n. Five standard errors: by luck 1 in a million."""
    found = drawn(Resampling(10, 4000))
    assert np.abs(found.mean(axis=0) - 1).max() < 5 * np.sqrt(0.9 / 4000)
    assert abs(found.var() - 0.9) < 0.05
    correlation = np.corrcoef(found[:, 0], found[:, 1])[0, 1]
    assert abs(correlation + 1 / 9) < 5 / np.sqrt(4000)


def test_equal_resamplings_are_the_same_and_others_are_not() -> None:
    first = drawn(Resampling(30, 120, seed=4))
    np.testing.assert_array_equal(first, drawn(Resampling(30, 120, seed=4)))
    assert (first != drawn(Resampling(30, 120, seed=5))).any()


def test_more_resamples_begin_with_the_same_ones() -> None:
    np.testing.assert_array_equal(drawn(Resampling(30, 300))[:100], drawn(Resampling(30, 100)))


def test_no_resamples_are_none() -> None:
    assert list(Resampling(30, 0).draws()) == []


@pytest.mark.parametrize(("symmetric", "third_moment"), [(False, 1), (True, 0)])
def test_reweightings_are_opposite_pairs_with_the_moments_of_draws(
    symmetric: bool, third_moment: int
) -> None:
    """Of 250 x 400 weights, the standard errors of the three moments are 0.003, 0.003 and 0.006."""
    pairs = list(Resampling(400, 501, seed=3).reweightings(symmetric=symmetric))
    assert [len(up) for up, _ in pairs] == [100, 100, 50]
    up, down = (np.concatenate(side) for side in zip(*pairs, strict=True))
    np.testing.assert_allclose(up + down, 2, rtol=0, atol=1e-15)
    assert min(up.min(), down.min()) > 0.5
    changes = (up - 1) / STEP
    assert len(np.unique(changes)) == 2
    moments = [np.mean(changes**power) for power in (1, 2, 3)]
    assert moments == pytest.approx([0, 1, third_moment], abs=0.04)
    correlation = np.corrcoef(changes[:, 0], changes[:, 1])[0, 1]
    assert abs(correlation) < 5 / np.sqrt(250)


@pytest.mark.parametrize("prefixes", [1, 2, 19, 20, 21, 45, 500])
def test_blocks_divide_the_prefixes_evenly(prefixes: int) -> None:
    resampling = Resampling(prefixes)
    assert resampling.block_count == min(BLOCKS, prefixes)
    sizes = np.bincount(resampling.blocks(), minlength=resampling.block_count)
    assert len(sizes) == resampling.block_count
    assert sizes.sum() == prefixes
    assert sizes.max() - sizes.min() <= 1


def test_members_of_a_block_are_scattered() -> None:
    blocks = Resampling(500, seed=1).blocks()
    # Neighbours share a block as often as any two prefixes do: 1 in 20, with a standard error of 1 in 100.
    assert np.mean(blocks[1:] == blocks[:-1]) < 0.1
    assert (blocks != np.arange(500) % BLOCKS).any()
    assert (blocks != Resampling(500, seed=2).blocks()).any()


def test_each_row_leaves_out_one_block() -> None:
    resampling = Resampling(45, seed=3)
    weights = resampling.left_out()
    assert weights.shape == (20, 45)
    assert weights.dtype == np.float64
    blocks = resampling.blocks()
    for block, row in enumerate(weights):
        for prefix, weight in enumerate(row):
            assert weight == (0 if blocks[prefix] == block else 1)


def test_blocks_do_not_depend_on_how_many_resamples_are_drawn() -> None:
    np.testing.assert_array_equal(Resampling(45, 0).blocks(), Resampling(45, 1000).blocks())


@pytest.mark.parametrize(("prefixes", "resamples"), [(0, 10), (-1, 10), (5, -1)])
def test_what_cannot_be_resampled_is_invalid(prefixes: int, resamples: int) -> None:
    with pytest.raises(InvalidInputError, match=f"got {prefixes} and {resamples}"):
        Resampling(prefixes, resamples)
