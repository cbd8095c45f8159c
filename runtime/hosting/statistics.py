"""Figures of the matches of a node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["HostingStatistics"]


@dataclass(frozen=True, slots=True)
class HostingStatistics:
    """What is here, and what has been."""

    GAUGES: ClassVar[frozenset[str]] = frozenset(
        {"matches", "hot", "stuck", "quarantined", "dirty", "tail_bytes"}
    )

    matches: int
    """In memory, at least with their line."""
    hot: int
    stuck: int
    """Set apart, since they cannot be carried on here."""
    quarantined: int
    """All that are set apart."""
    dirty: int
    """Changed since they were given out to be written."""
    tail_bytes: int
    """Of records that are not known to be in the stored history."""
    applied: int
    repaired: int
    """Differed, and did not when they were derived again."""
    set_apart: int
    woken: int
    wake_failures: int
    passivated: int
    put_away: int
    """Ended ones that left the memory."""
    buried: int
    copies_taken: int
    manifests_differed: int
    """Matches that came otherwise than the owner has them, and were sent again."""
    checkpoints: int
    alarms: int
