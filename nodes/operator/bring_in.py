"""The log of a match done again, and records committed to a match that is set apart.

What is done again has the digests that the log says, or nothing comes of it. A few
records at a time: other matches do not notice.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import anyio.lowlevel

from ...engine.errors import EngineError
from ...engine.machine import Machine
from ...engine.record import Record, RecordKind
from ...engine.versions import FindMachine
from ...runtime.match import redo
from ...runtime.match_change import Change
from ...runtime.match_state import MatchState
from ..supervisor.incoming import Incoming
from .quarantine import APART_CODE
from .verb import CommandElsewhere, CommandFailed, OperatorCommand
from .verb_parts import VerbParts

__all__ = ["GROUP_RECORDS", "Played", "commit_apart", "play_log"]

GROUP_RECORDS = 64
"""Done again, or committed, at once: a few milliseconds of the node's loop."""

GROUP_S = 20.0
"""In which a group must be committed. A copy that is slow is evicted before."""

LOOK_S = 0.005


class Played:
    """The log, done again. `before`: what the match is that is here; None: nothing."""

    def __init__(
        self, before: MatchState | None, changes: list[Change], state: MatchState
    ) -> None:
        self.before = before
        self.changes = changes
        self.state = state


async def play_log(
    find: FindMachine, command: OperatorCommand, records: Sequence[Record], known: int
) -> Played:
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
    return Played(before, changes, state)


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


async def commit_apart(
    parts: VerbParts,
    command: OperatorCommand,
    before: MatchState | None,
    changes: Sequence[Change],
) -> None:
    """Commit what follows on `before` (None: the match begins with it), while the match
    is set apart.

    Raises:
        CommandElsewhere: Another node owns the match now; it has what was committed, as
            the command's `did` says.
        CommandFailed: busy, stopping, outcome_unknown.
    """
    begin: Change | MatchState = changes[0] if before is None else before
    rest = changes[1:] if before is None else changes
    incoming = parts.hosting.supervisor.take_in(begin, APART_CODE)
    if isinstance(incoming, str):
        if incoming == "moved":
            raise CommandElsewhere("")
        raise CommandFailed(incoming, f"{parts.node} cannot take it now: try again.")
    for at in range(0, max(1, len(rest)), GROUP_RECORDS):
        incoming.put(rest[at : at + GROUP_RECORDS])
        most = min(at + GROUP_RECORDS, len(rest)) + len(changes) - len(rest)
        command.did = (
            f"The match is set apart, and has up to {most} of the {len(changes)}"
            " records that were to come."
        )
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
