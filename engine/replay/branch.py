"""Branches of a replay: names for how far somebody wants to look.

A branch is a marker. All branches share the frames of the one match there is; a branch
ends with the batch of its head action, the first one, `main`, where the match does.
A line of play that was taken back has one by itself, `taken-back-N`, which ends with
the last of what was undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ..record import RecordKind
from .replay_error import CursorError
from .timeline import Timeline

__all__ = ["MAIN", "Branch", "Branches"]

MAIN: Final = "main"

# What a line of play is made of.
_MOVES: Final = (RecordKind.ACTION, RecordKind.TIMEOUT)

BRANCHES_MAX: Final = 1_000
"""Of one replay; more are refused."""


class Branch(msgspec.Struct, frozen=True):
    """A marker: `branch_id` looks no further than its head action."""

    branch_id: str
    created_at_action_id: str | None
    created_at_revision: int
    head_action_id: str | None
    """None: the branch ends with frame 0."""
    parent_branch_id: str | None


class Branches:
    """The branches of one timeline, `main` first."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        last = timeline.recording.last_action_id
        self._all = {MAIN: Branch(MAIN, None, 0, last, None)}
        if timeline.game.undo is not None or timeline.upgraded:
            self._add_taken_back()

    def __iter__(self) -> Iterator[Branch]:
        return iter(tuple(self._all.values()))

    def __len__(self) -> int:
        return len(self._all)

    def get(self, branch_id: str) -> Branch:
        """The branch of that name.

        Raises:
            CursorError: unknown_branch.
        """
        try:
            return self._all[branch_id]
        except KeyError:
            raise CursorError(
                "unknown_branch", f"there is no branch {branch_id!r}"
            ) from None

    def add(
        self, branch_id: str, action_id: str | None = None, *, parent: str = MAIN
    ) -> Branch:
        """Mark a branch that ends with an action, or with frame 0. `parent` is free.

        Raises:
            CursorError: duplicate_branch, unknown_action or too_many_branches.
            ReplayError: The match cannot be played so far.
        """
        if branch_id in self._all:
            raise CursorError(
                "duplicate_branch", f"there is a branch {branch_id!r} already"
            )
        if len(self._all) >= BRANCHES_MAX:
            raise CursorError(
                "too_many_branches", f"a replay has at most {BRANCHES_MAX:,} branches"
            )
        revision = 0
        if action_id is not None:
            place = self.timeline.recording.places.get(action_id)
            if place is None:
                raise CursorError("unknown_action", f"there is no action {action_id!r}")
            revision = self.timeline.first_of_record(place)
        made = Branch(branch_id, action_id, revision, action_id, parent)
        self._all[branch_id] = made
        return made

    def _add_taken_back(self) -> None:
        recording = self.timeline.recording
        revisions = recording.revisions or ()  # an envelope has no takebacks
        line: list[tuple[int, str | None]] = []  # the revision before each move
        for place in range(1, len(revisions)):
            record = recording.records[place]
            if record.kind in _MOVES:
                line.append((revisions[place - 1], recording.action_id(place)))
            elif record.kind is RecordKind.TAKEBACK and record.input["phase"] == "done":
                to, head = record.input["to"], line[-1][1] if line else None
                while line and line[-1][0] >= to:
                    line.pop()
                if len(self._all) < BRANCHES_MAX:
                    name = f"taken-back-{len(self._all)}"
                    action = recording.action_id(place)
                    self._all[name] = Branch(name, action, to, head, MAIN)

    def end(self, branch: Branch, revision: int) -> int:
        """The revision, or the last one before it that the branch shows.

        Raises:
            ReplayError: The match cannot be played so far.
        """
        if branch.branch_id == MAIN:
            return self.timeline.reach(revision)
        if branch.head_action_id is None:
            return 0
        place = self.timeline.recording.places[branch.head_action_id]
        return min(revision, self.timeline.last_of_record(place))
