"""Where an inspector gets its frames: a replay, or a match that is being played."""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

from ..machine import Machine
from ..replay.frame import Frame
from ..snapshot import Snapshot
from ..step import Batch

__all__ = ["FrameSource", "LiveFrames"]

FRAMES_KEPT_MAX: Final = 4_096
"""Of a live match, the newest; older ones are in its log."""


class FrameSource(Protocol):
    """Frames of one match. A replay's `Timeline` is one."""

    @property
    def machine(self) -> Machine:
        """The rules."""

    @property
    def head(self) -> int:
        """The newest revision."""

    def frame(self, revision: int) -> Frame:
        """The match at a revision.

        Raises:
            LookupError: There is none, or it is no longer kept.
        """


class LiveFrames:
    """The frames of a match that goes on: give it each batch as it is committed."""

    def __init__(
        self, machine: Machine, snapshot: Snapshot, *, frames_max: int = FRAMES_KEPT_MAX
    ) -> None:
        self.machine = machine
        self._frames = deque([Frame(snapshot)], maxlen=frames_max)

    @property
    def first(self) -> int:
        """The oldest revision that is kept."""
        return self._frames[0].revision

    @property
    def head(self) -> int:
        """The newest revision."""
        return self._frames[-1].revision

    def append(self, batch: Batch) -> None:
        """Take in the next batch.

        Raises:
            ValueError: It does not follow the newest revision: one was missed.
        """
        first = batch.steps[0].snapshot.revision
        if first != self.head + 1:
            raise ValueError(f"revision {first} does not follow {self.head}")
        self._frames.extend(Frame(step.snapshot, step) for step in batch.steps)

    def frame(self, revision: int) -> Frame:
        """The match at a revision.

        Raises:
            LookupError: There is none, or it is no longer kept.
        """
        if not self.first <= revision <= self.head:
            raise LookupError(
                f"revision {revision} is not among {self.first} to {self.head}"
            )
        return self._frames[revision - self.first]
