"""What people are told beside a result: a warning in Python, a plain line from commands."""

from __future__ import annotations


class Note(UserWarning):
    """Something to know that is no error."""
