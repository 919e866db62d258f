"""Escaping text for LaTeX, so that pdflatex accepts any text."""

from __future__ import annotations

import re
import unicodedata


def _commands(characters: str, names: str, form: str) -> dict[str, str]:
    return {character: form.format(name) for character, name in zip(characters, names.split(), strict=True)}


# ASCII characters with a meaning in TeX, or at another position in its default fonts.
_ASCII = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "`": r"\`{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",  # babel gives the bare character meanings in some languages
    "[": "{[}",  # at the beginning of a row, this and a star would be arguments of the \\ before it
    "*": "{*}",
}
_SIGNS = {
    "\u00a0": "~",
    "\u00a7": r"\S{}",
    "\u00b0": r"$^\circ$",
    "\u00b1": r"$\pm$",
    "\u00b5": r"$\mu$",
    "\u00b7": r"$\cdot$",
    "\u00d7": r"$\times$",
    "\u2013": r"\textendash{}",
    "\u2014": r"\textemdash{}",
    "\u2018": r"\textquoteleft{}",
    "\u2019": r"\textquoteright{}",
    "\u201c": r"\textquotedblleft{}",
    "\u201d": r"\textquotedblright{}",
    "\u2020": r"\textdagger{}",
    "\u2022": r"\textbullet{}",
    "\u2026": r"\dots{}",
    "\u2192": r"$\rightarrow$",
    "\u21b5": r"$\hookleftarrow$",
    "\u2212": "$-$",
    "\u221e": r"$\infty$",
    "\u2248": r"$\approx$",
    "\u2264": r"$\le$",
    "\u2265": r"$\ge$",
    "\u2423": r"\textvisiblespace{}",
    "\u2713": r"$\surd$",
}
_LETTERS = _commands("ßæÆøØłŁıœŒ", "ss ae AE o O l L i oe OE", r"\{}{{}}")
_GREEK = _commands(
    "αβγδϵεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ",
    "alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega",
    r"$\{}$",
)
_CHARACTERS = {**_ASCII, **_SIGNS, **_LETTERS, **_GREEK}

# By the combining accent of a decomposed letter.
_ACCENTS = _commands(
    "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327",
    "` ' ^ ~ = u . \" r H v c",
    r"\{}",
)

# A hyphen before a digit is a minus sign, unless it is inside a word or a range.
_MINUS = re.compile(r"(?<![\w.)-])-(?=\.?\d)")
# Two of these in a row would become another character.
_LIGATURES = "-',"


def escape(text: str) -> str:
    """Return text that LaTeX prints as it is; characters that pdflatex lacks become their numbers."""
    text = _MINUS.sub("\u2212", unicodedata.normalize("NFC", " ".join(text.split())))
    return "".join(
        ("{}" if character in _LIGATURES and before == character else "") + _character(character)
        for before, character in zip(" " + text, text, strict=False)
    )


def _character(character: str) -> str:
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if character.isascii() and character.isprintable():
        return character
    apart = unicodedata.normalize("NFD", character)
    letter, accents = apart[0], apart[1:]
    if accents in _ACCENTS and letter.isascii():
        return f"{_ACCENTS[accents]}{{{letter}}}"
    return rf"\texttt{{U+{ord(character):04X}}}"
