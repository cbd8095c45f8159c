"""What a resolver's result asks for, checked.

A result is a mapping with some of the keys G, enqueue, result, turn and profile; other
keys mean nothing, and any other value is a match that changes nothing. Only what is new
in it is checked: frozen parts are known to be JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .definition import Event
from .errors import InvalidJsonValueError, ProfileDeltaError, TooDeepError
from .frozen import FDict, freeze
from .jsonvalue import Json
from .profiles import apply_profile_deltas
from .refusal import Refusal, refuse
from .step import Enqueued
from .suggestion import did_you_mean

__all__ = ["Outcome", "read_answer"]


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What a transition changes. None keeps what was there, but for `result`."""

    G: Json = None
    enqueued: tuple[Enqueued, ...] = ()
    sets_result: bool = False
    result: Json = None
    turn: str | None = None
    match: FDict | None = None
    profile: FDict | None = None


NOTHING = Outcome()


def read_answer(
    answer: Any, events: Mapping[str, Event], match: FDict
) -> Outcome | Refusal:
    """Check a resolver's answer against what the game declares.

    Refuses with invalid_transition_result, or too_deep.

    Raises:
        Exception: only a mapping of the author's own making can raise anything else.
    """
    if type(answer) is not dict and not isinstance(answer, Mapping):
        return NOTHING
    try:
        G = answer.get("G")
        if G is not None:
            G = freeze(G, label="G")
            if len(answer) == 1:
                return Outcome(G)
        asked = answer.get("enqueue")
        enqueued = () if asked is None else _enqueued(asked, events)
        sets_result = "result" in answer
        result = freeze(answer["result"], label="result") if sets_result else None
        turn = answer.get("turn")
        if turn is not None and type(turn) is not str:
            turn = freeze(turn, label="turn")
        changed = profile = None
        if "profile" in answer:
            changed, profile = apply_profile_deltas(match, answer["profile"])
    except TooDeepError as error:
        return refuse("too_deep", str(error))
    except (InvalidJsonValueError, ProfileDeltaError, _Malformed) as error:
        return refuse("invalid_transition_result", str(error))
    return Outcome(G, enqueued, sets_result, result, turn, changed, profile)


class _Malformed(Exception):
    pass


def _enqueued(asked: Any, events: Mapping[str, Event]) -> tuple[Enqueued, ...]:
    if not isinstance(asked, (list, tuple)):
        raise _Malformed(f"enqueue is a list of events, not {type(asked).__name__}")
    return tuple(_entry(entry, events) for entry in asked)


def _entry(entry: Any, events: Mapping[str, Event]) -> Enqueued:
    if not isinstance(entry, Mapping):
        raise _Malformed('an entry of enqueue is {"kind": event, "payload": ...}')
    kind = entry.get("kind")
    if not isinstance(kind, str) or kind not in events:
        hint = did_you_mean(kind, events) or "Declare it among the events."
        raise _Malformed(
            f"enqueue names {kind!r}, which is not a declared event. {hint}"
        )
    payload = freeze(entry.get("payload"), label=f"the payload of {kind}")
    return Enqueued(str.__str__(kind), payload)
