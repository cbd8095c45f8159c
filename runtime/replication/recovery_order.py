"""An operator's order to go on from a copy that may lack something (`recovery.py`)."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["RecoveryOrder"]


@dataclass(frozen=True, slots=True)
class RecoveryOrder:
    """What an operator wants, and takes upon themselves."""

    dead: frozenset[str] = frozenset()
    """Nodes whose copies will not come back."""
    unclean: bool = False
    """What this copy lacks is given up."""
    restored: bool = False
    """The coordinator's record is an old one: whom it names says nothing."""
    empty: bool = False
    """Begin with nothing, if there is no copy here: all matches are given up."""
    above: int = 0
    """The highest epoch that any other node is known to have seen or promised."""
