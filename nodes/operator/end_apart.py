"""Ends a match that is set apart: its own code is not asked, nor run on.

A match whose game ends processes is set apart, and must not go on only to be ended. So
its log is done again, and the record of its end committed behind it.
"""

from __future__ import annotations

from ...engine.record import Record
from ...runtime.command import Applied, Denied, Terminate
from ...runtime.games import machine_finder
from ...runtime.match import decide
from .bring_in import commit_apart, play_log
from .quarantine import let_go_on
from .verb import CommandFailed, OperatorCommand
from .verb_parts import VerbParts

__all__ = ["end_apart"]

PAGE_BYTES = 256 * 1024


async def end_apart(
    parts: VerbParts, command: OperatorCommand, match: str, asked: Terminate
) -> Applied:
    """End it, and let it be seen that it has ended.

    Raises:
        CommandElsewhere: Another node owns it now.
        CommandFailed: Why not.
    """
    log = parts.hosting.supervisor.committed_log(match)
    if log is None:
        raise CommandFailed("unknown_match", "The match's log is not here.")
    records: list[Record] = []
    while len(records) < len(log.records):
        records += log.records.read(len(records), PAGE_BYTES)
    last = len(records) - 1
    played = await play_log(machine_finder(parts.games), command, records, last)
    decision = decide(played.state, asked, parts.now_ms())
    if isinstance(decision.answer, Denied):
        no = decision.answer.refusal
        raise CommandFailed(no.code, no.message)
    assert isinstance(decision.answer, Applied), decision.answer
    if decision.change is not None:
        await commit_apart(parts, command, played.state, [decision.change])
    await let_go_on(parts, command, match)
    return decision.answer
