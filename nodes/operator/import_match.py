"""`match.import`: a match goes on here from its exported log.

Every record is done again and has the digest that the log says, before anything is
written; then they are committed as they are, in this cluster, under the match's own id.
Meanwhile the match is set apart at all nodes. If that is interrupted, it stays so, with
the part that came, and the same command goes on behind that part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel

from ...engine.errors import EngineError
from ...engine.machine import Machine
from ...engine.record import Record, RecordKind
from ...engine.replay.log_file import read_log_file
from ...engine.versions import FindMachine
from ...runtime.games import machine_finder
from ...runtime.match import redo
from ...runtime.match_change import Change
from ...runtime.match_state import MatchState
from ..supervisor.incoming import Incoming
from .quarantine import APART_CODE, let_go_on, write_apart
from .verb import CommandElsewhere, CommandFailed, OperatorCommand, Verb
from .verb_parts import VerbParts, here

__all__ = ["GROUP_RECORDS", "import_match"]

GROUP_RECORDS = 64
"""Done again, or committed, at once: a few milliseconds of the node's loop."""

GROUP_S = 20.0
"""In which a group must be committed. A copy that is slow is evicted before."""

LOOK_S = 0.005


def import_match(parts: VerbParts) -> Verb:
    """The log is attached, as a file of `match.export`; the target is the match."""
    return Verb("match.import", partial(_import, parts))


async def _import(parts: VerbParts, command: OperatorCommand) -> Mapping[str, Any]:
    match = here(parts, command)
    records = _read(match, command.attached)
    known = _known(parts, match, records)
    played = await _play(machine_finder(parts.games), command, records, known)
    await write_apart(parts, command, match)
    missing = played.changes
    if missing:
        await _commit(parts, command, played)
    away_ms = max(0, parts.now_ms() - records[-1].time_ms)
    code = await let_go_on(parts, command, match, apart_ms=int(away_ms))
    if code:
        raise CommandFailed(code, f"It came, and cannot be carried on at {parts.node}.")
    last = records[-1]
    return {
        "records": len(records),
        "committed": len(missing),
        "digest": last.digest.hex(),
        "ended": played.state.ended,
    }


class _Played:
    """The log, done again. `before`: what the match is that is here; None: nothing."""

    def __init__(
        self, before: MatchState | None, changes: list[Change], state: MatchState
    ) -> None:
        self.before = before
        self.changes = changes
        self.state = state


def _read(match: str, data: bytes) -> Sequence[Record]:
    """
    Raises:
        CommandFailed: not_a_log, unsupported_format, damaged_file, wrong_match,
            match_pinned.
    """
    try:
        records = read_log_file(data).records
        for record in records:
            if record.kind is RecordKind.DETACH:
                raise CommandFailed(
                    "match_pinned",
                    "The match was in a shard of its own: such a log cannot come in.",
                )
    except EngineError as error:
        raise CommandFailed(error.code, f"{error}.") from error
    if records[0].input.get("id") != match:
        raise CommandFailed("wrong_match", "The file holds the log of another match.")
    return records


def _known(parts: VerbParts, match: str, records: Sequence[Record]) -> int:
    """The index of the last record that is here; -1: none.

    Raises:
        CommandFailed: match_exists.
    """
    line = parts.hosting.states.line(match)
    if line is None:
        return -1
    if line.buried or (line.ended and not line.quarantined):
        raise CommandFailed("match_exists", "The match is here, and is over.")
    if not line.quarantined:
        raise CommandFailed("match_exists", "The match is here, and goes on.")
    if line.index >= len(records) or records[line.index].digest != line.digest:
        raise CommandFailed(
            "match_exists",
            f"The match is here, set apart after {line.index + 1} records, and that is "
            "not how the file begins.",
        )
    return line.index


async def _play(
    find: FindMachine, command: OperatorCommand, records: Sequence[Record], known: int
) -> _Played:
    """Do all of the log again; the changes behind record `known` are kept.

    Raises:
        CommandFailed: version_missing; digest_mismatch, replay_failed: it is not what
            its game makes of it.
    """
    state: MatchState | None = None
    before: MatchState | None = None
    changes: list[Change] = []
    for record in records:
        machine = _machine(find, state, record)
        try:
            change = redo(machine, state, record)
        except EngineError as error:
            raise CommandFailed(error.code, f"{error}.") from error
        state = change.state
        if record.index > known:
            changes.append(change)
        else:
            before = state
        if record.index % GROUP_RECORDS == 0:
            command.tell(record.index, len(records), "checking")
            await anyio.lowlevel.checkpoint()
    assert state is not None, "a log is not empty"
    return _Played(before, changes, state)


def _machine(find: FindMachine, state: MatchState | None, record: Record) -> Machine:
    """
    Raises:
        CommandFailed: version_missing.
    """
    if state is None:
        name, version = str(record.input.get("game")), str(record.input.get("version"))
    elif record.kind is RecordKind.UPGRADE:
        name, version = state.machine.game.name, str(record.input.get("to"))
    else:
        return state.machine
    machine = find(name, version)
    if machine is None:
        raise CommandFailed(
            "version_missing",
            f"Version {version} of {name} is not at this node: install it, or move the "
            "match's shard to one that has it.",
        )
    return machine


async def _commit(parts: VerbParts, command: OperatorCommand, played: _Played) -> None:
    """
    Raises:
        CommandElsewhere: Another node owns the match now; it has what was committed.
        CommandFailed: busy, outcome_unknown.
    """
    changes = played.changes
    begin: Change | MatchState
    if played.before is None:
        begin, rest = changes[0], changes[1:]
    else:
        begin, rest = played.before, changes
    incoming = parts.hosting.supervisor.take_in(begin, APART_CODE)
    if isinstance(incoming, str):
        if incoming == "moved":
            raise CommandElsewhere("")
        raise CommandFailed(incoming, f"{parts.node} cannot take it now: try again.")
    for at in range(0, max(1, len(rest)), GROUP_RECORDS):
        incoming.put(rest[at : at + GROUP_RECORDS])
        await _settle(incoming)
        command.tell(min(at + GROUP_RECORDS, len(rest)), len(rest), "committing")


async def _settle(incoming: Incoming) -> None:
    with anyio.move_on_after(GROUP_S):
        while not (incoming.lost or incoming.settled):  # noqa: ASYNC110
            await anyio.sleep(LOOK_S)  # either comes without a word
    if incoming.lost:
        raise CommandElsewhere("")
    if not incoming.settled:
        raise CommandFailed(
            "outcome_unknown",
            "Its records were not committed in time. The match is set apart, with "
            "those that were: give the command again.",
        )
