"""What a match needs to offer to be played in a terminal, wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ..client.outcome import Refusal
from ..client.view import View

__all__ = ["SPECTATOR", "Table"]

SPECTATOR = ""
"""Stands for a seat where nobody sits: whoever looks from there only watches."""


class Table(Protocol):
    """A match in which this terminal holds every seat."""

    seats: Sequence[str]

    async def look(self, seat: str) -> View:
        """What the seat sees now; never older than what was acted here."""

    async def act(self, seat: str, event: str, payload: Any) -> Refusal | None:
        """Act for a seat; None when it was accepted."""

    async def moved(self, revision: int) -> None:
        """Return once the match is beyond this revision. May be cancelled."""

    def history(self, seat: str) -> Sequence[tuple[int, Any]]:
        """Each step so far: its revision, and what of it the seat may see."""

    def farewell(self) -> str:
        """What is worth knowing of a match that has ended, in one or more lines."""
