"""Plays a log back, and names the first record that differs.

A replay knows what changes a match by its rules alone: creation, actions, timeouts, and
the kinds that leave the state as it is. A log with other kinds needs the host that
wrote them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .definition import Game
from .errors import DigestMismatchError, EngineError, ReplayError
from .machine import Machine, compile_game
from .record import Record, RecordKind, seal_record
from .refusal import Refusal
from .session import Session, create_record
from .snapshot import Snapshot
from .step import Batch

__all__ = ["replay"]

# Kinds that leave G, position, result and rng as they were.
_STILL: Final = frozenset(
    {
        RecordKind.SEAT,
        RecordKind.SESSION,
        RecordKind.DETACH,
        RecordKind.ATTACH,
        RecordKind.RESULT_DELIVERED,
    }
)

# In this order a difference is named.
_FIELDS: Final = (
    "index",
    "kind",
    "time_ms",
    "revision_after",
    "input",
    "prev_digest",
    "digest",
)


def replay(game: Game, records: Iterable[Record]) -> Session:
    """Rebuild a match from its log. Every digest is computed again and compared.

    Raises:
        DigestMismatchError: a record differs; `index` and `field` say which and where.
        ReplayError: the log is empty, is of another game, does not begin with the
            creation, or holds what the game now refuses or a replay cannot do.
        DefinitionError: the states do not form a tree.
    """
    log = list(records)
    if not log:
        raise ReplayError(0, "the log is empty")
    machine = compile_game(game)
    snapshot = _created(machine, log[0])
    chain = log[0].digest
    for index, record in enumerate(log[1:], start=1):
        batch = _played(machine, snapshot, index, record)
        before, snapshot = snapshot, snapshot if batch is None else batch.snapshot
        made = seal_record(
            chain,
            index=index,
            kind=record.kind,
            time_ms=record.time_ms,
            revision_after=snapshot.revision,
            input=record.input,
            before=before,
            batch=batch,
            snapshot=snapshot,
        )
        _compare(index, record, made)
        chain = made.digest
    return Session(machine, snapshot, log)


def _created(machine: Machine, record: Record) -> Snapshot:
    game, given = machine.game, record.input
    if record.kind is not RecordKind.CREATE:
        raise ReplayError(0, f"a log begins with the creation, not {record.kind}")
    named = (given.get("game"), given.get("version"))
    if named != (game.name, game.version):
        raise ReplayError(
            0,
            f"the log is of {named[0]} version {named[1]}, "
            f"not of {game.name} version {game.version}",
        )
    try:
        first = machine.start(given.get("match"), given.get("seed", ""), record.time_ms)
    except EngineError as error:
        raise ReplayError(0, f"the match does not start: {error}") from error
    _compare(0, record, create_record(game, given.get("match"), first))
    return first


def _played(
    machine: Machine, before: Snapshot, index: int, record: Record
) -> Batch | None:
    given, now = record.input, record.time_ms
    answer: Batch | Refusal | None = None
    if record.kind in _STILL:
        return None
    if record.kind is RecordKind.ACTION:
        answer = machine.apply(
            before,
            given.get("seat", ""),
            given.get("event", ""),
            given.get("payload"),
            now=now,
            action_id=given.get("action_id", ""),
        )
    elif record.kind is RecordKind.TIMEOUT:
        action_id = given.get("action_id", "")
        answer = machine.fire_timeout(before, now=now, action_id=action_id)
    else:
        raise ReplayError(index, f"a replay cannot do what {record.kind} did")
    if isinstance(answer, Batch):
        return answer
    why = "nothing was due" if answer is None else f"{answer.code}, {answer.message}"
    raise ReplayError(index, f"the {record.kind} is not accepted now: {why}")


def _compare(index: int, found: Record, made: Record) -> None:
    for field in _FIELDS:
        if getattr(found, field) != getattr(made, field):
            raise DigestMismatchError(index, field)
