"""The games that a node has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from ..engine.definition import Game
from ..engine.machine import Machine, compile_game
from ..engine.versions import FindMachine
from .errors import RuntimeFault

__all__ = ["GameRegistry", "StaticGames", "UnknownGame", "machine_finder"]


class UnknownGame(RuntimeFault):
    """The node does not have that game, or not in that version."""

    code = "unknown_game"


class GameRegistry(Protocol):
    """Where a node finds the games it hosts."""

    def get(self, name: str, version: str = "") -> Machine:
        """The game's machine; version "" means the newest.

        Raises:
            UnknownGame: There is none of that name and version.
        """

    def names(self) -> tuple[tuple[str, str], ...]:
        """(name, version) of every game."""


def machine_finder(games: GameRegistry) -> FindMachine:
    """Finds a game's machine by name and version; None: it is not there."""

    def find(name: str, version: str) -> Machine | None:
        if not version:
            return None  # that would be the newest
        try:
            return games.get(name, version)
        except UnknownGame:
            return None

    return find


class StaticGames:
    """A fixed set of games. Of one name, the last given is the newest."""

    def __init__(self, games: Iterable[Game]) -> None:
        self._machines: dict[tuple[str, str], Machine] = {}
        self._newest: dict[str, str] = {}
        for game in games:
            self._machines[game.name, game.version] = compile_game(game)
            self._newest[game.name] = game.version

    def get(self, name: str, version: str = "") -> Machine:
        machine = self._machines.get((name, version or self._newest.get(name, "")))
        if machine is None:
            asked = f"{name!r} version {version!r}" if version else f"{name!r}"
            raise UnknownGame(f"no game {asked}. Known: {', '.join(self._newest)}")
        return machine

    def names(self) -> tuple[tuple[str, str], ...]:
        return tuple(self._machines)
