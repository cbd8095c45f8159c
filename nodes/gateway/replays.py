"""Replays of matches that have ended: made from their logs, the last few kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import anyio
import msgspec

from ...engine.errors import EngineError
from ...engine.machine import Machine
from ...engine.record import Record
from ...engine.replay.envelope import write_envelope
from ...engine.replay.save import save_log
from ...runtime.games import GameRegistry, UnknownGame
from ...runtime.refusal import RUNTIME_REFUSALS
from ..client import Refusal, RemoteMatch
from .film import film
from .profiles import KeptProfiles, kept_profiles

__all__ = ["Replays"]

KEPT_MAX = 16
KEPT_BYTES_MAX = 16 * 1024 * 1024

NOT_SAVABLE = "An operator has changed that match: it has a log, but no replay."


Key = tuple[str, str, str]
"""The match, what was made of it, and for whom."""

Make = Callable[[Machine, list[Record]], bytes | Refusal]


class Replays:
    """Makes replays for players. Needs the match's game, in the match's version."""

    def __init__(self, games: GameRegistry) -> None:
        self._games = games
        self._kept: OrderedDict[Key, bytes] = OrderedDict()
        self._bytes = 0

    async def of(self, match: RemoteMatch) -> bytes | Refusal:
        """The envelope of a match that has ended, in JSON.

        Refusals: match_running; missing_game: the gateway has no such game;
        replay_impossible: an operator changed the match; or what its node says.

        Raises:
            ClientError: The cluster gave no answer.
        """
        return await self._made(match, "envelope", "", _envelope)

    async def film(self, match: RemoteMatch, seat: str) -> bytes | Refusal:
        """A match that has ended, moment by moment, as a seat could see it ("": as
        everybody). Refusals: those of `of`, and too_large.

        Raises:
            ClientError: The cluster gave no answer.
        """

        def make(machine: Machine, records: list[Record]) -> bytes | Refusal:
            return film(machine, records, match.id, seat)

        return await self._made(match, "film", seat, make)

    async def profiles(self, match: RemoteMatch) -> KeptProfiles | Refusal:
        """What a match that has ended leaves to its players' profiles. Refusals: those
        of `of`, and no_profiles.

        Raises:
            ClientError: The cluster gave no answer.
        """

        def make(machine: Machine, records: list[Record]) -> bytes | Refusal:
            kept = kept_profiles(machine, records, match.id)
            return kept if isinstance(kept, Refusal) else msgspec.json.encode(kept)

        made = await self._made(match, "profiles", "", make)
        if isinstance(made, Refusal):
            return made
        return msgspec.json.decode(made, type=KeptProfiles)

    async def _made(
        self, match: RemoteMatch, what: str, seat: str, make: Make
    ) -> bytes | Refusal:
        key = (match.id, what, seat)
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        records = await match.log()
        if isinstance(records, Refusal):
            return records
        said = records[0].input
        try:
            machine = self._games.get(str(said["game"]), str(said["version"]))
        except UnknownGame:
            return Refusal("missing_game", RUNTIME_REFUSALS["missing_game"])
        made = await anyio.to_thread.run_sync(make, machine, records)
        if isinstance(made, bytes) and key not in self._kept:
            self._keep(key, made)
        return made

    def _keep(self, key: Key, made: bytes) -> None:
        self._kept[key] = made
        self._bytes += len(made)
        while len(self._kept) > KEPT_MAX or self._bytes > KEPT_BYTES_MAX:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped)


def _envelope(machine: Machine, records: list[Record]) -> bytes | Refusal:
    try:
        return write_envelope(save_log(machine, records)).encode()
    except EngineError:
        return Refusal("replay_impossible", NOT_SAVABLE)
