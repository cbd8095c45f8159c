"""What people call themselves, made fit to be shown to others. Pure."""

from __future__ import annotations

import unicodedata

__all__ = ["NAME_SHOWN_MAX", "clean_name"]

NAME_SHOWN_MAX = 32
"""Characters of a name; more are cut off."""

_JOINER = "\u200d"
"""Holds the parts of one emoji together."""

_MARKS_MAX = 2
"""Marks on one letter: more would climb over the lines above."""


def clean_name(text: str) -> str:
    """One line of visible characters, or "".

    What is not seen is left out: control characters, and those that turn the writing
    around or pretend to be nothing. Cleaning what is clean changes nothing.
    """
    kept: list[str] = []
    marks = 0
    # Far longer text is nobody's name, and need not be looked at.
    for character in unicodedata.normalize("NFC", text[: 8 * NAME_SHOWN_MAX]):
        category = unicodedata.category(character)
        if category[0] == "Z" or character in "\t\n\r":
            character = " "
        elif category[0] == "C" and character != _JOINER:
            continue
        marks = marks + 1 if category[0] == "M" else 0
        if marks <= _MARKS_MAX:
            kept.append(character)
    shown = " ".join("".join(kept).split())[:NAME_SHOWN_MAX]
    return unicodedata.normalize("NFC", shown).strip(f" {_JOINER}")
