"""Commits a match's records: when it has, and only then, anyone is told.

The actor hands over what one wake-up caused and goes on from its speculative state.
The committer answers once per submission, at once or later: `on_commit` when the
records are committed, `on_abandon` when this node may never commit them (it was
deposed). Submissions of a match are answered in order; after one is abandoned, all
later ones of that epoch are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ..engine.record import Record

__all__ = ["Committer", "LocalCommitter"]


class Committer(Protocol):
    """Where records go."""

    def submit(
        self,
        match: str,
        epoch: int,
        records: Sequence[Record],
        *,
        on_commit: Callable[[int], None],
        on_abandon: Callable[[], None],
    ) -> None:
        """Take records, in order of their index; never waits.

        `on_commit` gets the index of the last record that is committed. Both are
        called in the event loop's thread, possibly before `submit` returns.
        """


class LocalCommitter:
    """Commits at once: the owner's memory is the only copy."""

    def submit(
        self,
        match: str,
        epoch: int,
        records: Sequence[Record],
        *,
        on_commit: Callable[[int], None],
        on_abandon: Callable[[], None],
    ) -> None:
        on_commit(records[-1].index)
