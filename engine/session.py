"""One match played in this process: a machine, a snapshot and a log.

For tests, local play, replays and tools. A host keeps the machine and writes records
itself; both go through the same functions, so their logs are alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import overload

from .definition import Game
from .digest import NO_DIGEST
from .frozen import FDict, enclose, freeze, freeze_parts
from .jsonvalue import Json
from .machine import Machine, compile_game
from .match_input import freeze_match
from .record import Record, RecordKind, seal_sized
from .refusal import Refusal
from .snapshot import Snapshot
from .step import Batch
from .takeback import (
    NO_UNDO,
    UndoRequest,
    UndoState,
    UndoVerb,
    remember,
    take_back,
)

__all__ = [
    "Log",
    "Session",
    "create_record",
    "create_session",
    "session_from_snapshot",
]

# The kinds of records that carry an action id.
_NUMBERED = (RecordKind.ACTION, RecordKind.TIMEOUT, RecordKind.TAKEBACK)


class Session:
    """A match that is played here. Made by `create_session`."""

    __slots__ = ("_credit_ms", "_events", "_records", "_snapshot", "_undo", "machine")

    def __init__(
        self,
        machine: Machine,
        snapshot: Snapshot,
        records: Sequence[Record] = (),
        undo: UndoState = NO_UNDO,
        credit_ms: int | float = 0,
    ) -> None:
        """`credit_ms`: how far the match's own clock is behind, as its log says."""
        self.machine = machine
        self._credit_ms = credit_ms
        self._snapshot = snapshot
        self._undo = undo
        self._records = list(records)
        # Numbers action ids. Without a log the revision serves: it grows faster.
        self._events = snapshot.revision
        if records:
            kinds = [record.kind for record in records]
            self._events = sum(map(kinds.count, _NUMBERED))

    def apply(
        self, player_id: str, event: str, payload: object = None, *, now: int | float
    ) -> Batch | Refusal:
        """Answer a player's event. A refusal changes nothing.

        Raises:
            InvalidJsonValueError: `now` is not a finite number.
        """
        action_id = self._next_action_id()
        answer = self.machine.apply(
            self._snapshot,
            player_id,
            event,
            payload,
            now=self._clock(now),
            action_id=action_id,
        )
        if isinstance(answer, Batch):
            made = answer.steps[0].event
            given = {
                "action_id": action_id,
                "seat": player_id,
                "event": event,
                "payload": made.payload,
            }
            plain = type(player_id) is str and type(event) is str
            sealed = freeze_parts(given) if plain else enclose(given)
            self._write(RecordKind.ACTION, made.at + self._credit_ms, sealed, answer)
        return answer

    def fire_timeout(self, now: int | float) -> Batch | Refusal | None:
        """Take the transition of a deadline at or before `now`.

        None when there is nothing to fire or no transition answers; a refusal when
        the game fails.

        Raises:
            InvalidJsonValueError: `now` is not a finite number.
        """
        action_id = self._next_action_id()
        answer = self.machine.fire_timeout(
            self._snapshot, now=self._clock(now), action_id=action_id
        )
        if isinstance(answer, Batch):
            given = enclose({"action_id": action_id})
            at = answer.steps[0].event.at + self._credit_ms
            self._write(RecordKind.TIMEOUT, at, given, answer)
        return answer

    def undo(
        self, player_id: str, to: int | None = None, *, now: int | float
    ) -> Batch | Refusal:
        """Ask to go back to the revision `to`; done at once if nobody must agree.

        None is the revision before the player's newest action, or before the newest of
        all if the game lets anyone ask.

        Raises:
            InvalidJsonValueError: `now` is not a finite number.
        """
        return self._take_back(player_id, "ask", to, now)

    def answer_undo(
        self, player_id: str, agree: bool, *, now: int | float
    ) -> Batch | Refusal:
        """Answer the request that waits; who asked may withdraw it with False.

        Raises:
            InvalidJsonValueError: `now` is not a finite number.
        """
        request = self._undo.request
        revision = None if request is None else request.revision
        verb: UndoVerb = "agree" if agree else "decline"
        return self._take_back(player_id, verb, revision, now)

    @property
    def undo_request(self) -> UndoRequest | None:
        """Who waits for leave to take something back; None if nobody does."""
        return self._undo.request

    @property
    def game(self) -> Game:
        """The rules."""
        return self.machine.game

    @property
    def snapshot(self) -> Snapshot:
        """The match now."""
        return self._snapshot

    @property
    def log(self) -> Sequence[Record]:
        """The records so far: a read-only window that grows with the match."""
        return Log(self._records)

    @property
    def revision(self) -> int:
        """Steps so far."""
        return self._snapshot.revision

    @property
    def result(self) -> Json:
        """The result; None while the match goes on."""
        return self._snapshot.meta.result

    @property
    def next_deadline(self) -> int | float | None:
        """When the current state times out, or None.

        A finished match keeps its last state's, which does not fire any more.
        """
        deadline = self._snapshot.derived.control_meta.deadline
        return None if deadline is None else deadline + self._credit_ms

    @property
    def digest(self) -> bytes:
        """The digest of the last record; it stands for the whole log."""
        return self._records[-1].digest if self._records else NO_DIGEST

    def public_view(self) -> Json:
        """What a spectator may see, frozen.

        Raises:
            ViewError: the view raised or is not JSON.
        """
        return self.machine.public_view(self._snapshot)

    def player_view(self, player_id: str) -> Json:
        """What a player may see, frozen.

        Raises:
            ViewError: the view raised or is not JSON.
        """
        return self.machine.player_view(self._snapshot, player_id)

    def legal_actions(self, player_id: str) -> list[tuple[str, Json]]:
        """What the game says a player may do now: events and their payloads.

        Raises:
            ViewError: the game's `legal_actions` raised or gave something else.
        """
        return self.machine.legal_actions(self._snapshot, player_id)

    def _take_back(
        self, player_id: str, verb: UndoVerb, revision: int | None, now: int | float
    ) -> Batch | Refusal:
        action_id, at = self._next_action_id(), freeze(now, label="now")
        taken = take_back(
            self.machine,
            self._snapshot,
            self._undo,
            seat=player_id,
            verb=verb,
            revision=revision,
            now=self._clock(at),
            action_id=action_id,
        )
        if isinstance(taken, Refusal):
            return taken
        given = {
            "action_id": action_id,
            "seat": player_id,
            "verb": verb,
            "revision": revision,
            "phase": taken.phase,
            "to": taken.to,
        }
        self._write(RecordKind.TAKEBACK, at, enclose(given), taken.batch)
        self._undo = taken.undo
        return taken.batch

    def _clock(self, now: int | float) -> int | float:
        """What the match's own clock shows."""
        return now - self._credit_ms if self._credit_ms else now

    def _next_action_id(self) -> str:
        return f"m_{self._events + 1}"

    def _write(
        self, kind: RecordKind, time_ms: int | float, given: FDict, batch: Batch
    ) -> None:
        records, after = self._records, batch.snapshot
        rule = self.machine.game.undo
        if rule is not None:
            self._undo = remember(rule, self._undo, self._snapshot, batch)
        record, _ = seal_sized(
            self.digest,
            index=len(records),
            kind=kind,
            time_ms=time_ms,
            revision_after=after.revision,
            input=given,
            before=self._snapshot,
            batch=batch,
            snapshot=after,
        )
        records.append(record)
        self._events += 1
        self._snapshot = after


def create_session(
    game: Game, match: object, *, seed: str = "default", now: int | float = 0
) -> Session:
    """Start a match.

    `match` is a mapping such as `{"players": ["0", "1"]}`. `now` is in milliseconds.

    Raises:
        InvalidMatchError: the players, the configuration or the seed are wrong.
        InvalidGameError: the game does not pass validation; carries the report.
        DefinitionError: the states do not form a tree.
        InvalidJsonValueError: `now` is not a finite number.
    """
    machine = compile_game(game)
    given = freeze_match(match) if isinstance(match, Mapping) else match
    snapshot = machine.start(given, seed, now)
    return Session(machine, snapshot, [create_record(game, given, snapshot)])


def create_record(game: Game, match: object, first: Snapshot) -> Record:
    """The record that a log begins with. `match` is what `first` was started from."""
    if isinstance(match, Mapping) and not isinstance(match, FDict):
        match = dict(match)
    given = {
        "game": game.name,
        "version": game.version,
        "match": match,
        "seed": first.meta.seed,
    }
    record, _ = seal_sized(
        NO_DIGEST,
        index=0,
        kind=RecordKind.CREATE,
        time_ms=first.meta.now,
        revision_after=0,
        input=enclose(given, label="match"),
        before=None,
        batch=None,
        snapshot=first,
    )
    return record


def session_from_snapshot(
    game: Game, snapshot: Snapshot, log: Sequence[Record] = ()
) -> Session:
    """Go on from a snapshot; what derives from it is derived anew.

    With the match's log so far, the chain of records goes on too. Without it a new one
    begins, which cannot be replayed from its start. Only what is played from here on
    can be taken back.

    Raises:
        SnapshotError: the snapshot does not stand in a leaf of this game.
        InvalidGameError: the game does not pass validation; carries the report.
        DefinitionError: the states do not form a tree, or a derivation fails.
    """
    machine = compile_game(game)
    return Session(machine, machine.restore(snapshot), log)


class Log(Sequence[Record]):
    """The records of a session, read-only. Slices are tuples."""

    __slots__ = ("_records",)

    def __init__(self, records: list[Record]) -> None:
        self._records = records

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Record, ...]: ...
    def __getitem__(self, place: int | slice) -> Record | tuple[Record, ...]:
        if isinstance(place, slice):
            return tuple(self._records[place])
        return self._records[place]

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"<Log of {len(self._records)} records>"
