"""`match.create`: matches begin as an operator wants them.

They are created as players do it, through a client of this cluster, each at the node
that owns it. Their ids follow from the key: the same key is the same matches, so that a
command whose end is not known can be given again with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

import anyio
import msgspec

from ...runtime.games import GameRegistry, UnknownGame
from ...runtime.match_id import match_id
from ..client.match import RemoteMatch
from ..client.outcome import ClientError, Refusal
from ..client.shell import Client
from .verb import CommandFailed, OperatorCommand, Verb

__all__ = ["COUNT_MAX", "PRINCIPAL", "create_match"]

PRINCIPAL = "operator"
"""Whose matches they are: their ids are made of this and the key."""

COUNT_MAX = 1_000

AT_ONCE = 16

Connect = Callable[[], AbstractAsyncContextManager[Client]]
"""A client whose principal is `PRINCIPAL`."""


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The command's args. `seats`: who may sit there; by default as few as the game
    allows. With `tokens` the seats are taken, and their tokens told."""

    version: str = ""
    seats: tuple[str, ...] = ()
    config: Any = None
    data: Any = None
    key: str = ""
    count: int = 1
    tokens: bool = False


def create_match(games: GameRegistry, connect: Connect) -> Verb:
    """The target is the game's name."""
    run = partial(_create, games, connect)
    return Verb("match.create", run, frozenset({"tokens"}))


async def _create(
    games: GameRegistry, connect: Connect, command: OperatorCommand
) -> Mapping[str, Any]:
    try:
        wanted = msgspec.convert(dict(command.args), Wanted)
    except msgspec.ValidationError as error:
        raise CommandFailed("malformed_request", f"{error}.") from error
    if not 1 <= wanted.count <= COUNT_MAX:
        raise CommandFailed("malformed_request", f"`count` is from 1 to {COUNT_MAX}.")
    try:
        game = games.get(command.target, wanted.version).game
    except UnknownGame as error:
        raise CommandFailed(error.code, f"{error}.") from error
    creation = _Creation(command, wanted, game.name, game.version)
    creation.seats = wanted.seats or game.player_ids[: game.min_players]
    try:
        async with connect() as client:
            await creation.run(client)
    except ClientError as error:
        creation.lost = error
    if creation.refusal is not None:
        no = creation.refusal
        raise CommandFailed(no.code, no.message)
    if creation.lost is not None:
        raise CommandFailed(
            "outcome_unknown",
            f"Not all are known to be there ({creation.lost}): give the command again "
            f"with --key {creation.key}.",
        )
    return creation.outcome()


class _Creation:
    """The matches of one command."""

    def __init__(
        self, command: OperatorCommand, wanted: Wanted, game: str, version: str
    ) -> None:
        self.key = wanted.key or command.id
        self.seats: tuple[str, ...] = ()
        self.refusal: Refusal | None = None
        """Of the first that was refused: no more are begun then."""
        self.lost: ClientError | None = None
        """Why it is not known of all."""
        self._command = command
        self._wanted = wanted
        self._game = game
        self._version = version
        self._made: dict[int, RemoteMatch] = {}
        self._tokens: dict[str, dict[str, str]] = {}

    async def run(self, client: Client) -> None:
        limiter = anyio.CapacityLimiter(AT_ONCE)
        self._command.tell(0, self._wanted.count)

        async def one(number: int) -> None:
            async with limiter:
                if self.refusal is not None or self.lost is not None:
                    return
                try:
                    await self._one(client, number)
                except ClientError as error:
                    self.lost = error

        async with anyio.create_task_group() as tasks:
            for number in range(self._wanted.count):
                tasks.start_soon(one, number)

    def outcome(self) -> dict[str, Any]:
        matches = [match.id for _, match in sorted(self._made.items())]
        told: dict[str, Any] = {
            "game": self._game,
            "version": self._version,
            "key": self.key,
            "seats": list(self.seats),
            "matches": matches,
        }
        return told | ({"tokens": self._tokens} if self._wanted.tokens else {})

    async def _one(self, client: Client, number: int) -> None:
        wanted = self._wanted
        key = self.key if wanted.count == 1 else f"{self.key}-{number}"
        made = await client.create(
            self._game,
            version=self._version,
            players=self.seats,
            config=wanted.config,
            data=wanted.data,
            key=key,
        )
        if isinstance(made, Refusal):
            self.refusal = self.refusal or made
            return
        assert made.id == match_id(client.principal, key), made
        if wanted.tokens and not await self._take(made):
            return
        self._made[number] = made
        self._command.tell(len(self._made), wanted.count)

    async def _take(self, match: RemoteMatch) -> bool:
        held = self._tokens[match.id] = {}
        for name in match.seats:
            seat = await match.take(name)
            if isinstance(seat, Refusal):
                self.refusal = self.refusal or seat
                return False
            held[name] = seat.resume
        return True
