"""The versions of a game that one log needs, each a machine.

A match may go on under another version (`upgrade` records). Whoever plays its log has
one machine, and perhaps a way to find the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from .machine import Machine

__all__ = ["FindMachine", "Versions", "no_machines"]

FindMachine: TypeAlias = Callable[[str, str], Machine | None]
"""(name, version) -> the game's machine, if it is at hand."""


def no_machines(name: str, version: str) -> Machine | None:
    """Nothing is at hand."""
    return None


class Versions:
    """Finds the machine for each part of a log."""

    __slots__ = ("_find", "_machine", "_plays")

    def __init__(
        self,
        machine: Machine,
        find: FindMachine = no_machines,
        *,
        plays: str | None = None,
    ) -> None:
        """`machine` plays what is of the version `plays`; None: of its own."""
        self._machine = machine
        self._find = find
        self._plays = machine.game.version if plays is None else plays

    def get(self, version: object) -> Machine | None:
        """The machine of a version; None if it is not at hand."""
        if version == self._plays:
            return self._machine
        if not isinstance(version, str):
            return None
        return self._find(self._machine.game.name, version)
