"""Commits a match's records: when it has, and only then, anyone is told.

The actor hands over what one wake-up caused and goes on from its speculative state.
The committer answers each submission once, at once or later: `on_commit` when the
records are committed, `on_abandon` when this node may never commit them (it was
deposed). Submissions of a match are answered in order; after one is abandoned, all
later ones of that match are.

A refusal tells of the present: it waits for `confirm`, which says that no other node
can have committed anything for the match in the meantime.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .match_change import Change

__all__ = ["Committer", "LocalCommitter"]


class Committer(Protocol):
    """Where records go. All callbacks come in the event loop's thread."""

    def at_shard(self, shard: int) -> Committer:
        """The same, for the actors of one shard."""

    def problem(self, match: str) -> str:
        """Why nothing more should be caused in the match now, as a code; or ""."""

    def submit(
        self,
        match: str,
        changes: Sequence[Change],
        *,
        on_commit: Callable[[int], None],
        on_abandon: Callable[[int], None],
    ) -> None:
        """Take changes, in order of their index; never waits.

        `on_commit` gets the index of the last record that is committed. `on_abandon`
        gets the index from which on nobody else has seen the records: what comes
        before may yet be committed by another node. Both may be called before `submit`
        returns.
        """

    def confirm(
        self,
        match: str,
        on_confirmed: Callable[[], None],
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        """Ask whether this node still is the one that commits for the match.

        `on_confirmed` is called, at once or later, when it was so after this call;
        `on_lost`, if it cannot be known any more.
        """

    @property
    def waiting(self) -> bool:
        """Whether `flush` has something to pass on."""

    def flush(self) -> None:
        """Pass on what was submitted and asked; called once per wake-up."""


class LocalCommitter:
    """Commits at once: the owner's memory is the only copy."""

    waiting = False

    def at_shard(self, shard: int) -> Committer:
        return self

    def problem(self, match: str) -> str:
        return ""

    def submit(
        self,
        match: str,
        changes: Sequence[Change],
        *,
        on_commit: Callable[[int], None],
        on_abandon: Callable[[int], None],
    ) -> None:
        on_commit(changes[-1].record.index)

    def confirm(
        self,
        match: str,
        on_confirmed: Callable[[], None],
        on_lost: Callable[[], None] | None = None,
    ) -> None:
        on_confirmed()

    def flush(self) -> None:
        """Nothing waits."""
