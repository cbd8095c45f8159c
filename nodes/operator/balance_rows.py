"""What operators are shown of an even spread: rows with a stable schema."""

from __future__ import annotations

from .rows import Row

__all__ = ["BalanceRow", "ChangeRow", "ReasonRow", "ShareRow"]


class ChangeRow(Row, frozen=True, kw_only=True):
    """What a round would change of one shard."""

    shard: int
    owner: str
    """Who owns it now."""
    to: str = ""
    """Who is to own it; "": as now."""
    adds: tuple[str, ...] = ()
    """Nodes that are to hold a copy."""
    drops: tuple[str, ...] = ()
    """Nodes that are to hold none any more."""


class ReasonRow(Row, frozen=True, kw_only=True):
    """Why something is not moved."""

    code: str
    about: str
    """A node, `shard N`, or `cluster`."""
    text: str


class ShareRow(Row, frozen=True, kw_only=True):
    """What a node that is up has of the shards, pinned matches aside."""

    node: str
    owns: int
    holds: int
    """Copies, its own shards among them."""


class BalanceRow(Row, frozen=True, kw_only=True):
    """What a round of spreading would do now, and why not more."""

    on: bool
    """Rounds are done without being asked for."""
    changes: tuple[ChangeRow, ...] = ()
    reasons: tuple[ReasonRow, ...] = ()
    shares: tuple[ShareRow, ...] = ()
