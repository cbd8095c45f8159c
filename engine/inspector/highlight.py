"""What to light up in the graph of a game at a frame."""

from __future__ import annotations

import msgspec

from ..replay.frame import Frame

__all__ = ["Highlight", "highlight"]


class Highlight(msgspec.Struct, frozen=True):
    """The state the match is in, the edge it came by, and where it may go."""

    current: str
    edge: tuple[str, str] | None
    """Source and target of the transition that was taken; None at frame 0."""
    pending_targets: tuple[str, ...]
    branch: str | None
    """The name of the resolver that answered, if it has one."""


def highlight(frame: Frame) -> Highlight:
    """What to light up at a frame."""
    snapshot, step = frame.snapshot, frame.step
    taken = None if step is None else step.transition
    return Highlight(
        snapshot.position.name,
        None if taken is None else (taken.source, taken.target),
        snapshot.derived.control_meta.pending_targets,
        None if taken is None else taken.resolver,
    )
