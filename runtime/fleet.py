"""What is known of a cluster's nodes, all together: hints, never safety."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .fitness import Games

__all__ = ["Fleet"]


@dataclass(frozen=True, slots=True)
class Fleet:
    """By node id; `games` has those that are registered."""

    registered: frozenset[str] = frozenset()
    draining: frozenset[str] = frozenset()
    """All that they own and hold goes elsewhere, where there is a place for it."""
    restarting: frozenset[str] = frozenset()
    """They will be gone for a moment: what they own goes elsewhere, their copies stay.
    """
    full: frozenset[str] = frozenset()
    """Short of memory: others come first."""
    games: Mapping[str, Games] = field(default_factory=dict)
    rebalance: bool = True
    """Nobody has turned it off."""

    @property
    def up(self) -> frozenset[str]:
        """Who may be given something."""
        return self.registered - self.draining - self.restarting

    def leaves(self, node: str) -> bool:
        """It shall own nothing any more."""
        return node in self.draining or node in self.restarting
