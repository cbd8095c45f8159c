"""What becomes of a command: the state after it, the answer, and the change."""

from __future__ import annotations

import msgspec

from ..engine.limits import G_BYTES_HARD_MAX
from ..engine.refusal import REFUSALS, Refusal
from .command import Answer, Denied
from .match_change import Change
from .match_state import MatchState
from .refusal import RUNTIME_REFUSALS

__all__ = ["Decision", "deny", "refusal", "size_problem"]


class Decision(msgspec.Struct, frozen=True):
    """What becomes of a command.

    `change` is None when nothing changed: a refusal, or the first answer again.
    """

    state: MatchState
    """After it; the very same as before when nothing changed."""
    answer: Answer
    change: Change | None = None


def refusal(code: str, message: str = "") -> Refusal:
    """A refusal of the runtime's table or of the engine's."""
    return Refusal(code, message or RUNTIME_REFUSALS.get(code) or REFUSALS[code])


def deny(state: MatchState, code: str, message: str = "") -> Decision:
    """Nothing changes."""
    return Decision(state, Denied(refusal(code, message), state.revision))


def size_problem(change: Change) -> str:
    """How the state is beyond its hard limit; "" if it is not."""
    size = change.state.bytes_known
    if size <= G_BYTES_HARD_MAX:
        return ""
    return f"the state would be {size:,} bytes; the limit is {G_BYTES_HARD_MAX:,}"
