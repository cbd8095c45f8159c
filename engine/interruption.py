"""What stops an author's code from outside.

The engine catches what a game raises, and makes it a refusal; an interruption is not
the game's, and passes through. On its way it learns what it stopped.
"""

from __future__ import annotations

__all__ = ["Interruption"]


class Interruption(BaseException):
    """Raised into an author's code by whoever runs the engine.

    Everything the engine returns is immutable and made anew, so that a call that is
    interrupted anywhere has changed nothing. Whoever catches it on the way only fills
    in the fields that are empty, by plain assignment, and raises it on: a call there
    would be a place to be interrupted again.
    """

    event: str | None = None
    label: str | None = None
    """What was stopped: a resolver's description, `label of state x`, `view player`."""
