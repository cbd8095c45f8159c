"""A store of profiles in memory: the contract in its plainest form."""

from __future__ import annotations

import anyio.lowlevel

from ...engine.game import Game
from ...engine.jsonvalue import Json
from ..profile_store import (
    ABSENT,
    ProfileConflict,
    ProfileDocument,
    check_name,
    check_schema,
    checked_data,
)

__all__ = ["MemoryProfiles"]


class MemoryProfiles:
    """One handle; those with the same `documents` are handles of one store."""

    def __init__(
        self, game: Game, documents: dict[tuple[str, str], ProfileDocument]
    ) -> None:
        check_name(game.name, "game")
        self._game = game
        self._documents = documents

    async def load(self, player: str) -> ProfileDocument | None:
        await anyio.lowlevel.checkpoint()
        return self._find(player)

    async def save(self, player: str, data: Json, *, expected: int) -> ProfileDocument:
        await anyio.lowlevel.checkpoint()
        frozen = checked_data(data)
        before = self._find(player)
        found = ABSENT if before is None else before.revision
        if found != expected:
            raise ProfileConflict(player, expected, found)
        rules = self._game.profile
        version = None if rules is None else rules.schema_version
        made = ProfileDocument(player, found + 1, version, frozen)
        self._documents[self._game.name, player] = made
        return made

    def _find(self, player: str) -> ProfileDocument | None:
        check_name(player, "player")
        document = self._documents.get((self._game.name, player))
        if document is not None:
            check_schema(self._game, player, document.schema_version)
        return document
