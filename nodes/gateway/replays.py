"""Replays of matches that have ended: made from their logs, the last few kept."""

from __future__ import annotations

from collections import OrderedDict

import anyio

from ...engine.errors import EngineError
from ...engine.record import Record
from ...engine.replay.envelope import write_envelope
from ...engine.replay.save import save_log
from ...runtime.games import GameRegistry, UnknownGame
from ...runtime.refusal import RUNTIME_REFUSALS
from ..client import Refusal, RemoteMatch

__all__ = ["Replays"]

KEPT_MAX = 16
KEPT_BYTES_MAX = 16 * 1024 * 1024

NOT_SAVABLE = "An operator has changed that match: it has a log, but no replay."


class Replays:
    """Makes replays for players. Needs the match's game, in the match's version."""

    def __init__(self, games: GameRegistry) -> None:
        self._games = games
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0

    async def of(self, match: RemoteMatch) -> bytes | Refusal:
        """The envelope of a match that has ended, in JSON.

        Refusals: match_running; missing_game: the gateway has no such game;
        replay_impossible: an operator changed the match; or what its node says.

        Raises:
            ClientError: The cluster gave no answer.
        """
        kept = self._kept.get(match.id)
        if kept is not None:
            self._kept.move_to_end(match.id)
            return kept
        records = await match.log()
        if isinstance(records, Refusal):
            return records
        made = await anyio.to_thread.run_sync(self._make, records)
        if isinstance(made, bytes):
            self._keep(match.id, made)
        return made

    def _make(self, records: list[Record]) -> bytes | Refusal:
        said = records[0].input
        try:
            machine = self._games.get(str(said["game"]), str(said["version"]))
            return write_envelope(save_log(machine, records)).encode()
        except UnknownGame:
            return Refusal("missing_game", RUNTIME_REFUSALS["missing_game"])
        except EngineError:
            return Refusal("replay_impossible", NOT_SAVABLE)

    def _keep(self, match: str, made: bytes) -> None:
        self._kept[match] = made
        self._bytes += len(made)
        while len(self._kept) > KEPT_MAX or self._bytes > KEPT_BYTES_MAX:
            _, dropped = self._kept.popitem(last=False)
            self._bytes -= len(dropped)
