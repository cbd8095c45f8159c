"""What a move answers: stay, end the turn, go to a phase, finish, or no.

An outcome is a value, and changes nothing by being made. It holds its parts under the
names that they have on the wire, because the outcome of a timeout travels as the
payload of an event; a part that was not given is absent there.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from ..alternative import Decided
from ..drafting import Drafted
from ..frozen import FDict, freeze, without
from ..game import Rejected
from ..jsonvalue import Json

__all__ = [
    "FINISHED",
    "FINISHED_KEY",
    "INTERNAL",
    "NOTHING_YET",
    "Outcome",
    "Patch",
    "author_state",
    "decided",
    "end_turn",
    "finish",
    "goto",
    "invalid",
    "key_of",
    "stay",
]

Patch: TypeAlias = "Mapping[str, Json] | None"
Enqueue: TypeAlias = "Sequence[Mapping[str, Json]] | None"
Deltas: TypeAlias = "Mapping[str, Json] | None"

INTERNAL: Final = "__gamekit"
"""The key of G that is not the author's."""

NOTHING_YET: Final[FDict] = freeze({"result": None})
"""What stands there until the match is finished."""

FINISHED: Final = "__gamekit_finished"
"""The state of a match that is over."""

STAY: Final = "stay"
END_TURN: Final = "endTurn"
GOTO: Final = "goto"
FINISH: Final = "finish"
INVALID: Final = "invalid"

FINISHED_KEY: Final = (FINISH, None, True)
_KEYS: Final[dict[object, Hashable]] = {
    STAY: (STAY, None, False),
    END_TURN: (END_TURN, None, True),
    FINISH: FINISHED_KEY,
}


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """A move's answer. Made by the functions below."""

    kind: str
    parts: Mapping[str, Json]


def stay(
    patch: Patch = None, *, enqueue: Enqueue = None, profile: Deltas = None
) -> Outcome:
    """Stay in the phase, and in the turn.

    `patch` replaces keys of G, one by one; what it does not name is kept. `enqueue`
    names moves that run after this one: `[enqueue("draw", 2)]`. `profile` is deltas by
    player: `ctx.profile.inc(ctx.player, "wins", 1)`. A patch that is `ctx.draft()` is
    the whole of the new G.
    """
    return _outcome(STAY, patch, enqueue, profile, {})


def end_turn(
    patch: Patch = None, *, enqueue: Enqueue = None, profile: Deltas = None
) -> Outcome:
    """Stay in the phase; the next turn begins. The rest is as for `stay`."""
    return _outcome(END_TURN, patch, enqueue, profile, {})


def goto(
    phase: str,
    patch: Patch = None,
    *,
    end_turn: bool = False,
    enqueue: Enqueue = None,
    profile: Deltas = None,
) -> Outcome:
    """Go to a phase, in the same turn or the next. The rest is as for `stay`."""
    parts: dict[str, Json] = {"phase": phase}
    if end_turn:
        parts["endTurn"] = True
    return _outcome(GOTO, patch, enqueue, profile, parts)


def finish(
    result: Mapping[str, Json], patch: Patch = None, *, profile: Deltas = None
) -> Outcome:
    """End the match: `finish({"winner": ctx.player})`, `finish({"draw": True})`.

    Nothing can be enqueued: nobody moves in a match that is over.
    """
    return _outcome(FINISH, patch, None, profile, {"result": result})


def invalid(reason: str | None = None, details: Json = None) -> Outcome:
    """Refuse the move. Nothing changes; the player is told the reason."""
    return Outcome(INVALID, {"reason": reason, "details": details})


def key_of(kind: object, phase: object = None, end_turn: object = False) -> Hashable:
    """The key of an outcome, by which its transition knows it; None: of none."""
    if kind == GOTO:
        return (GOTO, phase, end_turn is True) if isinstance(phase, str) else None
    return _KEYS.get(kind)


def decided(
    kind: object, parts: Mapping[str, Json], G: Mapping[str, Json]
) -> Decided | Rejected | None:
    """What an outcome decides about a match with this G.

    Raises:
        TypeError: the patch is no mapping.
    """
    if kind == INVALID:
        return Rejected(parts.get("reason"), parts.get("details"))
    key = key_of(kind, parts.get("phase"), parts.get("endTurn"))
    if key is None:
        return None
    answer: dict[str, Json] = {}
    internal: Mapping[str, Json] = NOTHING_YET
    if key is FINISHED_KEY:
        internal = {"result": parts.get("result")}
        answer["result"] = parts.get("result")
    patch = parts.get("patch")
    if patch is None:
        patch = {}
    elif type(patch) is not dict and not isinstance(patch, Mapping):
        raise TypeError(
            "the patch of an outcome is a mapping of keys of G to their new values, "
            f"not {type(patch).__name__}"
        )
    if isinstance(patch, Drafted):
        answer["G"] = {**patch, INTERNAL: internal}
    elif patch or internal is not NOTHING_YET or G.get(INTERNAL) != NOTHING_YET:
        answer["G"] = {**G, **patch, INTERNAL: internal}
    if "enqueue" in parts:
        answer["enqueue"] = parts["enqueue"]
    if "profile" in parts:
        answer["profile"] = parts["profile"]
    return Decided(key, answer)


def author_state(G: Json) -> FDict:
    """G as its author knows it.

    Raises:
        TypeError: a core transition has made it something else than an object.
    """
    if not isinstance(G, FDict):
        raise TypeError(f"the G of a gamekit game is an object, not {G!r}")
    return without(G, INTERNAL)


def _outcome(
    kind: str,
    patch: Patch,
    enqueue: Enqueue,
    profile: Deltas,
    parts: dict[str, Json],
) -> Outcome:
    if patch is not None:
        parts["patch"] = patch
    if enqueue is not None:
        parts["enqueue"] = enqueue
    if profile is not None:
        parts["profile"] = profile
    return Outcome(kind, parts)
