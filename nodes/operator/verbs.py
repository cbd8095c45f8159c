"""What operators can have done at a node: all verbs.

To add one, write a file that makes it, and name it in `node_verbs`.
"""

from __future__ import annotations

from .change_match import edit, upgrade
from .intervene import resign_seat, terminate
from .quarantine import quarantine, release
from .verb import Verb
from .verb_parts import VerbParts, here

__all__ = ["VerbParts", "here", "node_verbs"]


def node_verbs(parts: VerbParts) -> tuple[Verb, ...]:
    """All of them."""
    return (
        edit(parts),
        quarantine(parts),
        release(parts),
        resign_seat(parts),
        terminate(parts),
        upgrade(parts),
    )
