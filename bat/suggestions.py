"""Suggest the name that a misspelt one was probably meant to be."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(name: object, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return " Did you mean 'x'?" for the nearest of the known names, or "" when none is near.

    The sentence is complete: put it behind another one, and no full stop behind it. ``cutoff`` is how alike
    the names must be, from 0 to 1.
    """
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=cutoff)
    return f" Did you mean {near[0]!r}?" if near else ""
