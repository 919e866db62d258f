"""Plain arguments, checked and counted without arrays or solvers: commands do so before they load any."""

from __future__ import annotations

from bat.errors import InvalidInputError


def require_integers(**values: tuple[object, int]) -> None:
    """Raise unless each value is an integer of at least the number beside it."""
    for name, (value, least) in values.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise InvalidInputError(f"{name} must be an integer of at least {least}; got {value!r}.")


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun: "1 job", "1,200 jobs"; `plural` is for nouns with an irregular plural."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
