from __future__ import annotations

import pytest

from bat.suggestions import did_you_mean


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("etaa", " Did you mean 'eta'?"), ("xyz", ""), (None, ""), (True, "")],
)
def test_the_nearest_name_is_suggested(name: object, suggestion: str) -> None:
    assert did_you_mean(name, {"eta": 1, "nucleus": 2}) == suggestion


def test_names_may_be_compared_less_strictly() -> None:
    assert did_you_mean("fail", ["fail_early"]) == ""
    assert did_you_mean("fail", ["fail_early"], cutoff=0.5) == " Did you mean 'fail_early'?"
