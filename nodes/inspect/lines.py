"""Lines of the inspector, without a terminal: texts, each with a tone.

A tone says what a text is, not how it looks; the terminal's theme gives it a colour.
Nothing is told by colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

__all__ = ["Line", "Span", "Tone", "bounded", "line", "plain"]

Tone: TypeAlias = Literal["", "dim", "strong", "good", "bad", "here"]
Span: TypeAlias = tuple[str, Tone]
Line: TypeAlias = tuple[Span, ...]

LINES_MAX = 2_000
"""Of a panel: a terminal is no place to read more of a state."""


def line(text: str, tone: Tone = "") -> Line:
    """A line of one tone."""
    return ((text, tone),)


def plain(lines: Iterable[Line]) -> list[str]:
    """The texts alone."""
    return ["".join(text for text, _ in each) for each in lines]


def bounded(lines: list[Line]) -> list[Line]:
    """The lines, or the first of them and how many there are more."""
    if len(lines) <= LINES_MAX:
        return lines
    more = len(lines) - LINES_MAX
    return [*lines[:LINES_MAX], line(f"... and {more:,} more lines", "dim")]
