"""What a supervisor counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["SupervisorStatistics"]


@dataclass(frozen=True, slots=True)
class SupervisorStatistics:
    """`GAUGES` are now; the others count since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset(
        {
            "shards",
            "running",
            "resident",
            "quarantined",
            "tombstones",
            "deadlines",
            "watchers",
            "outages_owed",
        }
    )

    shards: int
    running: int
    resident: int
    quarantined: int
    tombstones: int
    deadlines: int
    watchers: int
    outages_owed: int
    created: int
    activated: int
    put_away: int
    ended: int
    failed: int
    dropped: int
    messages: int
    busy: int
    deadlines_fired: int
    outages_credited: int
