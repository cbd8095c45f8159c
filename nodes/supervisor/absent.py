"""What is said of a match that has no actor here, from what is known of it.

Pure. The line of a match (`MatchLine`) outlives its actor and its state; without a
store of states, a tombstone does as much for those that ended here.
"""

from __future__ import annotations

from ...runtime.frame import Created, Refused
from ...runtime.journal import MatchLine
from ...runtime.translate import refused
from .ended_matches import Tombstone

__all__ = [
    "LOG_GONE",
    "absence_code",
    "created_again",
    "creation_answer",
    "is_behind",
]

LOG_GONE = "The match is over, and its log is no longer kept."


def absence_code(known: MatchLine | Tombstone | None, epoch: int, served: int) -> str:
    """Why a match that was created in `epoch` cannot be asked.

    `served` is the epoch in which its shard is served; `known` may be of another life
    of the same id.
    """
    if known is not None and known.epoch == epoch:
        if isinstance(known, MatchLine):
            if known.quarantined:
                return known.quarantined
            if not known.ended and not known.buried:
                return "retry"  # it is there, and cannot be had now
        return "game_over"
    return "match_lost" if epoch < served else "unknown_match"


def is_behind(known: MatchLine | Tombstone | None, epoch: int, served: int) -> bool:
    """Whether who asks for a match of `epoch` knows of a later epoch of its shard.

    A match that was brought here, or is in a shard of its own, may be of a later one.
    """
    return epoch > served and (known is None or known.epoch != epoch)


def creation_answer(
    request: int, match: str, content: str, known: MatchLine | Tombstone
) -> Created | Refused:
    """What whoever creates a match again is told, though it has no actor."""
    if known.creation != content:
        return refused(request, "key_reused")
    if isinstance(known, MatchLine) and known.quarantined:
        return refused(request, known.quarantined)
    return created_again(request, match, known)


def created_again(request: int, match: str, known: MatchLine | Tombstone) -> Created:
    """The first answer again."""
    return Created(request, match, known.epoch, known.game, known.version, known.seats)
