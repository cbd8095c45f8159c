"""Lines as they enter the terminal: nothing in them that a terminal would obey."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from textual.content import Content

from ..play.show import safe
from .lines import Line, Tone

__all__ = ["drawn"]

TONES: Final[Mapping[Tone, str]] = {
    "": "",
    "dim": "$foreground 70%",
    "strong": "bold",
    "good": "$text-success",
    "bad": "$text-error",
    "here": "bold reverse",
}


def drawn(lines: Iterable[Line]) -> Content:
    """The lines for a widget; no markup is read in them."""
    each_drawn = (
        Content.assemble(*((safe(text), TONES[tone]) for text, tone in each))
        for each in lines
    )
    return Content("\n").join(each_drawn)
