"""What one step of the claims core asks of its shell; see `ownership.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .coordinator import Write
from .frame import ShardEntry

__all__ = ["Alarm", "CasRequest", "Output", "OwnershipStatistics"]


@dataclass(frozen=True, slots=True)
class CasRequest:
    """Send it once, and answer with `Ownership.answered(id, …)`, whatever comes."""

    id: int
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that an operator must look at."""

    shard: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Output:
    """What the shell must do, in the order of the fields."""

    released: tuple[tuple[int, int], ...] = ()
    """(shard, epoch): answer nothing more for it."""
    adopted: tuple[tuple[int, int], ...] = ()
    """(shard, epoch): serve it."""
    table: tuple[ShardEntry, ...] = ()
    """Rows of the shard table that changed."""
    requests: tuple[CasRequest, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    list_again: bool = False
    """A record has moved past what is known: list now, not at the next turn."""
    timer_ms: int | None = None
    """Call `tick` at this time."""


@dataclass(frozen=True, slots=True)
class OwnershipStatistics:
    """Gauges, and counters since the start of the process."""

    GAUGES: ClassVar[frozenset[str]] = frozenset(
        {"serving", "outstanding", "claiming", "stopped"}
    )

    serving: int
    outstanding: int
    claiming: int
    stopped: int
    claims_sent: int
    claims_unknown: int
    claims_conflicting: int
    adopted: int
    released: int
