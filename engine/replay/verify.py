"""Checks an exported log against its game: every digest, and every snapshot in it."""

from __future__ import annotations

from ..digest import state_digest
from ..errors import DigestMismatchError
from ..machine import Machine
from ..playback import verify_records
from ..versions import FindMachine, no_machines
from .log_file import LogFile

__all__ = ["verify_log"]


def verify_log(machine: Machine, log: LogFile, find: FindMachine = no_machines) -> int:
    """Play a log back and compare every digest; the number of records.

    `find` gives other versions of the machine's game, if the log needs them.

    Raises:
        DigestMismatchError: A record differs, or a snapshot in the file is not the
            match's; `index` and `field` say which and where.
        ReplayError: A record cannot be played back, or the log is of another game.
    """
    for index, played in enumerate(verify_records(machine, log.records, find)):
        if index not in log.snapshots:
            continue
        kept = played.machine.restore(log.snapshots[index]())
        same = state_digest(kept) == state_digest(played.snapshot)
        if not same or kept.revision != played.snapshot.revision:
            raise DigestMismatchError(index, "snapshot")
    return len(log.records)
