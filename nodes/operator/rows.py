"""What a node's door tells operators of shards and matches: rows with a stable schema.

They travel as msgpack maps and are what `--json` prints. A field is never renamed, nor
its meaning changed; new ones have a default, so that nodes of two builds understand
each other. No seed, no token, no payload is in any of them.
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeVar

import msgspec

from .ask_door import DoorRefused

__all__ = [
    "MATCH_STATES",
    "ActorRow",
    "MatchRow",
    "OperationRow",
    "PlayRow",
    "ProgressRow",
    "ReplicaRow",
    "SeatRow",
    "read_row",
    "read_row_or_none",
    "row_json",
]

MATCH_STATES: Final = ("running", "waiting", "ended", "quarantined")
"""What `MatchRow.state` can be."""

T = TypeVar("T")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A map; unknown fields of a newer build are passed by."""


class ReplicaRow(Row, frozen=True, kw_only=True):
    """One shard at one node, as that node sees it."""

    shard: int
    role: str
    """owner, follower, learner, candidate or idle."""
    serving: bool = False
    """It answers players."""
    stopped: str = ""
    """The code of the alarm that stopped this replica."""
    owner: str = ""
    """By the coordinator's record, as are epoch, isr, want and moving_to."""
    epoch: int = 0
    isr: tuple[str, ...] = ()
    """The in-sync set."""
    want: tuple[str, ...] = ()
    """Who shall hold it."""
    moving_to: str = ""
    """Who is to own it by a planned move."""
    commit: int = 0
    """The last sequence number that is committed."""
    last_seq: int = 0
    """The last one in this node's log."""
    lag: dict[str, int] = msgspec.field(default_factory=dict)
    """At the owner, by node: entries that its replica lacks."""
    learning: tuple[str, ...] = ()
    """At the owner: the nodes that catch up."""
    degraded: bool = False
    """At the owner: it takes no actions, for lack of copies in sync."""
    last_epoch: int = 0
    """Of the last entry in this node's log."""
    promised: int = 0
    """The highest epoch that this node has promised, or seen in the record."""
    history: int = 0
    """The epoch in which the shard went on from an old copy (`shard recover`)."""
    recovering: bool = False
    """It is about to, at this node."""
    matches: int = 0
    """That go on."""
    ended: int = 0
    """Ended ones that are still in memory."""


class MatchRow(Row, frozen=True, kw_only=True):
    """One match, as the node that serves it knows it without loading it."""

    match: str
    shard: int
    game: str
    version: str
    state: str
    """running; waiting: a seat has nobody yet; ended; quarantined: set apart."""
    tier: str
    """hot: its state is in memory; stored; buried: only this line is left."""
    seats: tuple[str, ...] = ()
    to_act: tuple[str, ...] | None = None
    """Seats that may act now; null where the state is not in memory."""
    free: tuple[str, ...] | None = None
    """Seats that nobody has taken; null where the state is not in memory."""
    records: int = 0
    """Of its log, all committed."""
    digest: str = ""
    """Of the last record, in hex: equal digests mean equal histories."""
    changed_ms: int = 0
    """When that record was made, in milliseconds since 1970."""
    idle_s: float = 0.0
    """Seconds since then, by the node's clock."""
    deadline_ms: int | None = None
    """When its deadline fires."""
    code: str = ""
    """Why it is set apart: what it answers."""
    reported: bool = False
    """Its result has reached its sinks."""
    node: str = ""
    """Who serves it; filled in by who asks."""


class SeatRow(Row, frozen=True, kw_only=True):
    """One seat of a match."""

    seat: str
    taken: bool
    may_act: bool


class PlayRow(Row, frozen=True, kw_only=True):
    """Where a match stands; known while its state is in memory."""

    revision: int
    position: str
    path: tuple[str, ...]
    """Of the position, root first."""
    turn: int
    seats: tuple[SeatRow, ...]
    deadline_ms: int | None
    """Of the position, armed or not."""
    undo_asked: bool
    """A request to take something back waits for an answer."""
    credit_ms: int
    """Outages credited to its clock."""
    bytes_at_most: int
    """The packed state is no larger."""


class ActorRow(Row, frozen=True, kw_only=True):
    """The actor that plays a match, if it has one."""

    status: str
    """running, resident, quarantined or stopped."""
    mailbox: int
    """Messages that wait."""
    mailbox_bytes: int
    mailbox_accepted: int
    mailbox_refused: int
    watchers: int
    """Seats and spectators that are sent views."""
    faults: int
    """Failures of the game's own code, since the actor was made."""
    answers_waiting: int
    """For a commit or a confirmation."""
    uncommitted: int
    """Records that are decided, and not committed."""
    code: str
    """What it answers if it is set apart."""


class ProgressRow(Row, frozen=True, kw_only=True):
    """How far a command is that takes long."""

    done: int
    total: int
    text: str = ""
    """What it is at."""


MOVED_ON = "moved_on"
"""The code of a command of which a node did a part, and another one is to do the rest:
it has failed if nobody asks there."""


class OperationRow(Row, frozen=True, kw_only=True):
    """A command of an operator that changed something, or was to."""

    id: str
    who: str
    why: str
    verb: str
    target: str
    args: dict[str, Any]
    node: str
    """Who ran it."""
    asked_ms: int
    ended_ms: int
    """0 while it runs."""
    state: Literal["running", "done", "failed", "node_gone"]
    """node_gone: the process that ran it is gone; whether it was done is not known."""
    code: str
    """Why it failed."""
    message: str
    outcome: dict[str, Any]
    """Of the command; without what is secret, unless told to who asked for it."""
    progress: ProgressRow | None = None
    """While it runs, from the node that runs it."""


def read_row(kind: type[T], value: Any) -> T:
    """A row out of a door's answer.

    Raises:
        DoorRefused: It is none: the node is of a build that we do not understand.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise DoorRefused(
            "malformed_answer",
            f"a node's answer is not understood: {error}",
            hint="is the node of another build? hotseat version says which this is",
        ) from error


def read_row_or_none(kind: type[T], value: Any) -> T | None:
    """The same, where there may be none.

    Raises:
        DoorRefused: As of `read_row`.
    """
    return None if value is None else read_row(kind, value)


def row_json(row: Any) -> Any:
    """A row as maps and lists."""
    return msgspec.to_builtins(row)
