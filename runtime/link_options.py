"""Options of the links of one process."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LinkOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOptions:
    """Times in seconds, bounds in what their names say. See `validate`."""

    heartbeat_s: float = 0.5
    """How often a link that has nothing to say says that it lives."""
    silence_s: float = 3.0
    """A peer that has not been heard for so long is down, hung or cut off."""
    hello_s: float = 2.0
    """A pipe must open with a valid hello within this."""
    unproven_max: int = 1024
    """Pipes that have not proved membership; the oldest goes when another comes."""
    peers_max: int = 4096
    """Peers at one time: nodes, gateways and clients together."""
    queue_frames_max: int = 8192
    """Frames that may wait for one peer; one more does not go."""
    queue_bytes_max: int = 4 * 1024 * 1024
    """Bytes that may wait for one peer. A megabyte is a whole message."""
    backoff_s_min: float = 0.05
    """Pause before a lost link is dialled again; it doubles up to the longest."""
    backoff_s_max: float = 1.0
    """The longest pause before a lost link is dialled again."""
    drain_messages_max: int = 256
    """Messages taken in one drain: bounds what one `receive` returns."""
    drain_bytes_max: int = 4 * 1024 * 1024
    """Bytes after which a drain takes no more messages."""

    def faults(self) -> tuple[str, ...]:
        """What cannot work, one sentence each; every one begins with its option."""
        found = [
            f"{name} must be positive, not {getattr(self, name)}"
            for name in self.__slots__
            if getattr(self, name) <= 0
        ]
        if self.silence_s < 3 * self.heartbeat_s:
            # Fewer, and a single late heartbeat would look like a death.
            found.append("silence_s must be at least three times heartbeat_s")
        if self.backoff_s_max < self.backoff_s_min:
            found.append("backoff_s_max must not be less than backoff_s_min")
        if self.queue_bytes_max < 2 * 1024 * 1024:
            found.append("queue_bytes_max must hold two of the largest frames")
        return tuple(found)

    def validate(self) -> None:
        """
        Raises:
            ValueError: Options that cannot work together; all are named.
        """
        found = self.faults()
        if found:
            raise ValueError("link options: " + "; ".join(found))
