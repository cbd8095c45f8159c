"""The committed log of a match, for whoever inspects it; the match does not notice."""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.actor import MatchActor
from ...runtime.journal import MatchLine
from ...runtime.lifecycle import ActorState
from ...runtime.match_source import LogReader, MatchSource, SourceLog

__all__ = ["CommittedLog", "log_of_actor", "log_of_line"]


@dataclass(frozen=True, slots=True)
class CommittedLog:
    """What is committed of a match that is served here."""

    epoch: int
    status: ActorState
    ended: bool
    records: LogReader


def log_of_actor(actor: MatchActor) -> CommittedLog | None:
    """None: not even its creation is committed."""
    committed = actor.ledger.committed
    if committed is None:
        return None
    records = actor.ledger.records
    return CommittedLog(actor.epoch, actor.status, committed.ended, records)


def log_of_line(source: MatchSource, line: MatchLine) -> CommittedLog | None:
    """Of a match that has no actor; None: only its line is left."""
    if line.buried:
        return None
    status = ActorState.QUARANTINED if line.quarantined else ActorState.ASLEEP
    records = SourceLog(source, line.match, line.index + 1)
    return CommittedLog(line.epoch, status, line.ended, records)
