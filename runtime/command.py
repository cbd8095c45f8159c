"""What a match is asked to do, and what it answers: values, free of the wire."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from ..engine.jsonvalue import Json
from ..engine.refusal import Refusal
from ..engine.takeback import UndoVerb

__all__ = [
    "Act",
    "Answer",
    "Applied",
    "Attach",
    "Attached",
    "Command",
    "CreditOutage",
    "Credited",
    "Denied",
    "Detach",
    "Detached",
    "Edit",
    "FireDeadline",
    "Intervention",
    "NoteDelivered",
    "Noted",
    "NotFired",
    "ResignSeat",
    "SeatHeld",
    "TakeBack",
    "TakeSeat",
    "Terminate",
    "Upgrade",
]


class TakeSeat(msgspec.Struct, frozen=True):
    """Sit down, or resume the seat with its token.

    `offered` is the token that the player sent ("" for none), `drawn` a fresh random
    one, used when the seat is free and none was offered. `fresh` begins a new session
    of a seat that is resumed; `session` resumes that one (0: the newest).
    """

    seat: str
    drawn: str
    offered: str = ""
    fresh: bool = False
    session: int = 0


class Act(msgspec.Struct, frozen=True):
    """An action of a seat. Its key is (match, seat, session, action)."""

    seat: str
    session: int
    action: int
    event: str
    payload: Json = None
    base_revision: int | None = None


class TakeBack(msgspec.Struct, frozen=True):
    """A request to take back, or an answer to one. Its key is one of actions.

    `revision` of "ask" is the one to return to (None: see `take_back`), of the answers
    the request's own.
    """

    seat: str
    session: int
    action: int
    verb: UndoVerb
    revision: int | None = None
    base_revision: int | None = None


class FireDeadline(msgspec.Struct, frozen=True):
    """The deadline of that revision has come: it was armed for `at_ms` or before."""

    revision: int
    at_ms: int = 2**63


class CreditOutage(msgspec.Struct, frozen=True):
    """Nobody could act for so long, until now."""

    ms: int


class NoteDelivered(msgspec.Struct, frozen=True):
    """The result that record `index` brought has reached its sinks."""

    index: int


class Detach(msgspec.Struct, frozen=True):
    """The match is to leave its home for a shard of its own, of a number >= `first`.

    `again`: it is there, and was to go home; it stays.
    """

    first: int
    again: bool = False


class Attach(msgspec.Struct, frozen=True):
    """The match did not leave its home, after all; or it is to go home."""


class Intervention(msgspec.Struct, frozen=True):
    """What an operator does to a match; each id is done once.

    `op` is the command's id; ids rise with time. `who` is the operator, `why` what they
    say about it: both stand in the log.
    """

    op: str
    who: str
    why: str


class Terminate(Intervention, frozen=True):
    """End the match. Its players read `why` in the result."""


class Edit(Intervention, frozen=True):
    """Change G by a JSON patch; or undo the last edit, with a further one.

    `base_revision` is the one that the operator looked at, if they say so.
    """

    patch: Json = None
    undo: bool = False
    base_revision: int | None = None


class Upgrade(Intervention, frozen=True):
    """Go on under another version of the game, newer or older."""

    to: str = ""


class ResignSeat(Intervention, frozen=True):
    """Dispatch the game's event of giving up, for a seat whose player is gone."""

    seat: str = ""


Command: TypeAlias = (
    TakeSeat
    | Act
    | TakeBack
    | FireDeadline
    | CreditOutage
    | NoteDelivered
    | Detach
    | Attach
    | Intervention
)


class SeatHeld(msgspec.Struct, frozen=True):
    """The seat is yours. `token` is a secret."""

    seat: str
    session: int
    token: str
    next_action: int


class Applied(msgspec.Struct, frozen=True):
    """The action is in the log at `index`; `revision` is the match's after it."""

    revision: int
    index: int


class Denied(msgspec.Struct, frozen=True):
    """Nothing changed. `revision` is the match's now."""

    refusal: Refusal
    revision: int


class NotFired(msgspec.Struct, frozen=True):
    """The deadline did nothing.

    `refusal` is None when it was void: the match has moved on, or is over.
    """

    refusal: Refusal | None = None


class Credited(msgspec.Struct, frozen=True):
    """By how much the match's deadlines come later; 0 if nothing changed."""

    ms: int = 0


class Noted(msgspec.Struct, frozen=True):
    """`new`: the log says so from now on. Else it did already, or there is no end."""

    new: bool


class Detached(msgspec.Struct, frozen=True):
    """The log says that it leaves for that shard; 0: it does not."""

    shard: int


class Attached(msgspec.Struct, frozen=True):
    """`new`: the log says so from now on. Else it was at home."""

    new: bool


Answer: TypeAlias = (
    SeatHeld | Applied | Denied | NotFired | Credited | Noted | Detached | Attached
)
