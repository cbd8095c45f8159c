"""Where a match's actor stands, and why it stopped.

The words that logs, metrics and commands use.
"""

from __future__ import annotations

from enum import Enum

__all__ = ["ActorState", "StopReason"]


class ActorState(Enum):
    """Where an actor stands."""

    RUNNING = "running"
    """It has a task and takes actions."""
    RESIDENT = "resident"
    """No task; its state is in memory and answers what may still be asked."""
    ASLEEP = "asleep"
    """No actor at all; its committed state is kept, and a message or its deadline
    makes one."""
    QUARANTINED = "quarantined"
    """It failed. Its records are kept; all that it answers is why."""
    STOPPED = "stopped"
    """It is gone from this node and answers nothing."""


class StopReason(Enum):
    """Why an actor's task ended."""

    ENDED = "ended"
    """The match is over and its end is committed."""
    RELEASED = "released"
    """The node no longer owns the match's shard."""
    DEPOSED = "deposed"
    """What it had not committed was abandoned: another node owns the match."""
    FAILED = "failed"
    """An exception came out of the actor's own code."""
    RUNAWAY = "runaway"
    """Its game held the loop again and again."""
    IDLE = "idle"
    """Nothing happened in the match for long, and nobody watched it."""
    STOPPING = "stopping"
    """The node is stopping."""
