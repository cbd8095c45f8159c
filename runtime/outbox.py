"""What waits for one peer: a queue of encoded frames, bounded in frames and bytes."""

from __future__ import annotations

from collections import deque

from .codec import FRAME_LIMIT_BYTES, FRAMES_PER_MESSAGE_MAX
from .errors import LinkFull

__all__ = ["Outbox"]


class Outbox:
    """Frames go in one by one and come out as many as fit one message."""

    def __init__(self, *, frames_max: int, bytes_max: int) -> None:
        self._frames_max = frames_max
        self._bytes_max = bytes_max
        self._frames: deque[bytes] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._frames)

    def put(self, frame: bytes) -> None:
        """Queue one frame.

        Raises:
            LinkFull: There is no room for it.
        """
        size = self._bytes + len(frame)
        if len(self._frames) >= self._frames_max or size > self._bytes_max:
            raise LinkFull(
                f"{len(self._frames):,} frames of {self._bytes:,} bytes wait for "
                "this peer, which does not keep up"
            )
        self._frames.append(frame)
        self._bytes = size

    def take(self) -> list[bytes]:
        """Remove and return the oldest frames that fit one message; [] if none."""
        taken: list[bytes] = []
        size = 0
        while self._frames and len(taken) < FRAMES_PER_MESSAGE_MAX:
            size += len(self._frames[0])
            if size > FRAME_LIMIT_BYTES:
                break  # never the first: a frame is within the limit
            taken.append(self._frames.popleft())
        self._bytes -= sum(map(len, taken))
        return taken

    def put_back(self, frames: list[bytes]) -> None:
        """Undo a `take`: the message could not leave yet."""
        self._frames.extendleft(reversed(frames))
        self._bytes += sum(map(len, frames))

    def clear(self) -> None:
        """Forget everything."""
        self._frames.clear()
        self._bytes = 0
