"""A reader's place in a replay: forward, back, and straight to what is wanted.

A cursor never leaves its branch. What cannot be found leaves it where it is, but an
action that is not there leads to the beginning, as in the reference implementation.
"""

from __future__ import annotations

import math

import msgspec

from .branch import MAIN, Branch, Branches
from .frame import Frame
from .replay_error import CursorError
from .timeline import Timeline

__all__ = ["Cursor", "CursorState"]


class CursorState(msgspec.Struct, frozen=True):
    """Where a cursor is. `playing` and `speed` are for whoever moves it by a clock."""

    branch: Branch
    revision: int
    playing: bool
    speed: float


class Cursor:
    """Walks over the frames of a timeline.

    Every move gives the state after it.

    Raises, from every move:
        ReplayError: The match cannot be played so far; the cursor stays.
    """

    def __init__(self, branches: Branches | Timeline) -> None:
        if isinstance(branches, Timeline):
            branches = Branches(branches)
        self.branches = branches
        self.timeline = branches.timeline
        self._state = CursorState(branches.get(MAIN), 0, False, 1)

    @property
    def state(self) -> CursorState:
        """Where the cursor is."""
        return self._state

    @property
    def frame(self) -> Frame:
        """The match there."""
        return self.timeline.frame(self._state.revision)

    def undo(self) -> CursorState:
        """One revision back, unless this is the first."""
        return self._move(max(0, self._state.revision - 1))

    def redo(self) -> CursorState:
        """One revision forward, unless this is the branch's last."""
        return self._move(self._state.revision + 1)

    def seek_revision(self, revision: float) -> CursorState:
        """To a revision, or the branch's end before it; stays if there is none such."""
        if not math.isfinite(revision) or revision < 0 or revision != int(revision):
            return self._state
        wanted = int(revision)
        if self.timeline.reach(wanted) != wanted:
            return self._state
        return self._move(wanted)

    def seek_action(self, action_id: str | None) -> CursorState:
        """To the step of an action or a timeout; to the beginning if there is none."""
        place = None
        if action_id is not None:
            place = self.timeline.recording.places.get(action_id)
        if place is None:
            return self._move(0)
        return self._move(self.timeline.first_of_record(place))

    def seek_turn(self, turn: int) -> CursorState:
        """To the first revision of a turn; stays if there is no such turn."""
        found = self.timeline.first_of_turn(turn)
        return self._state if found is None else self._move(found)

    def set_branch(self, branch_id: str) -> CursorState:
        """Look at another branch, from the same revision or its end.

        Raises:
            CursorError: unknown_branch.
        """
        branch = self.branches.get(branch_id)
        revision = self.branches.end(branch, self._state.revision)
        return self._set(branch=branch, revision=revision)

    def play(self) -> CursorState:
        """Say that the cursor is to be moved by a clock."""
        return self._set(playing=True)

    def pause(self) -> CursorState:
        """Say that it is not."""
        return self._set(playing=False)

    def set_speed(self, speed: float) -> CursorState:
        """Say how fast: 1 is normal.

        Raises:
            CursorError: invalid_speed: it is not a positive, finite number.
        """
        if not math.isfinite(speed) or speed <= 0:
            raise CursorError(
                "invalid_speed", f"a speed is positive and finite, not {speed}"
            )
        return self._set(speed=speed)

    def _move(self, revision: int) -> CursorState:
        return self._set(revision=self.branches.end(self._state.branch, revision))

    def _set(self, **changed: object) -> CursorState:
        self._state = msgspec.structs.replace(self._state, **changed)
        return self._state
