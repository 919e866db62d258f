"""The colours of the page: text can be read on its background, in light and in dark schemes."""

from __future__ import annotations

import re

import pytest

from harness.report.formats import html

STYLE = html.render("style.css.j2")

# Text and what it stands on.
PAIRS = [
    *((text, back) for text in ("ink", "soft", "link") for back in ("paper", "panel")),
    ("certified", "certified-back"),
    ("fallback", "fallback-back"),
]


def colours(scheme: str) -> dict[str, str]:
    """The variables of a scheme; what a later one does not set is that of the light one."""
    light, dark, printed = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    own = {"light": "", "dark": dark, "print": printed}[scheme]
    return dict(re.findall(r"--([\w-]+): ([^;]+);", light + own))


def luminance(colour: str) -> float:
    digits = colour.removeprefix("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    """The contrast of WCAG 2: 1 for the same colour, 21 for black on white; text needs 4.5."""
    light, dark = sorted([luminance(first), luminance(second)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_text_can_be_read(scheme: str) -> None:
    found = colours(scheme)
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    for text, back in PAIRS:
        assert contrast(found[text], found[back]) >= 4.5, f"{text} on {back}"


def test_pictures_are_dark_where_the_page_is() -> None:
    assert (colours("light")["picture"], colours("print")["picture"]) == ("none", "none")
    assert "invert" in colours("dark")["picture"]
    assert luminance(colours("dark")["card"]) < 0.05
