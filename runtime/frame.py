"""What travels between processes: one table of typed frames.

A frame is a frozen msgspec struct, written as a msgpack array whose first item
is its tag. The codec (`codec.py`) validates every frame at the edge; past it the
types are trusted. A game's own values (payloads, views, match input) stay
encoded as `msgspec.Raw` until somebody needs them.

Rules: a tag is never reused; a new field goes to the end and has a default.

Version history of `PROTOCOL_VERSION`:
1: the first.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from .replication import message as replication

__all__ = [
    "PROTOCOL_VERSION",
    "Accepted",
    "ClientGone",
    "CreateMatch",
    "Created",
    "Dispatch",
    "FetchLog",
    "FetchTable",
    "Forwarded",
    "Frame",
    "Heartbeat",
    "Hello",
    "LogPage",
    "Moved",
    "NodeEntry",
    "Refused",
    "Request",
    "Response",
    "Returned",
    "Seated",
    "ShardEntry",
    "Sync",
    "TableSnapshot",
    "TakeBack",
    "TakeSeat",
    "Unwatch",
    "ViewUpdate",
]

PROTOCOL_VERSION = 1

Raw = msgspec.Raw


class Struct(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=False):
    """A frozen struct, written as an array."""


# --- the link's own ---------------------------------------------------------


class Hello(Struct, frozen=True, tag=1):
    """First message on every pipe: who speaks, and the proof that it may.

    `proof` is HMAC-SHA256 with the cluster's secret over all the other fields.
    `receiver` is the incarnation of the process it is meant for, so that a hello
    caught elsewhere proves nothing here.
    """

    protocol: int
    cluster: str
    process: str
    kind: Literal["node", "gateway", "client"]
    incarnation: str
    principal: str
    inbox: str
    games: tuple[tuple[str, str], ...]
    receiver: str
    link: int
    proof: bytes = b""


class Heartbeat(Struct, frozen=True, tag=2):
    """Says that the sender lives; `sent_ms` is its own monotonic clock."""

    sent_ms: int


# --- client -> node ----------------------------------------------------------
# `request` numbers the sender's questions; every answer repeats it.
# `epoch` is the shard's epoch in which the match was created (see `Created`).


class CreateMatch(Struct, frozen=True, tag=10):
    """Create a match. The same key from the same principal is the same match.

    `match` is the match input: a msgpack map with `players`, `config`, `data`.
    `version` "" means the newest that the node has.
    """

    request: int
    key: str
    game: str
    version: str
    match: Raw


class TakeSeat(Struct, frozen=True, tag=11):
    """Sit down at a seat, or resume it with the token that `Seated` gave.

    A client may draw the token itself (16 to 128 characters, random): then asking
    again after a lost answer takes the seat once, and resumes it the second time.
    `fresh` begins a new session of a seat that is resumed, beside the others;
    `session` resumes that one (0: the newest). `alone`: the seat's other sessions are
    nobody's from then on.
    """

    request: int
    match: str
    epoch: int
    seat: str
    resume: str = ""
    fresh: bool = False
    session: int = 0
    alone: bool = False


class Dispatch(Struct, frozen=True, tag=12):
    """An action: key = (match, seat, session, action). Actions rise per session."""

    request: int
    match: str
    epoch: int
    seat: str
    session: int
    action: int
    event: str
    payload: Raw
    base_revision: int | None = None


class Sync(Struct, frozen=True, tag=13):
    """Send the current view now, and every newer one as it commits.

    `seat` "" watches as a spectator. A seat needs its `session`.
    `legal` asks for the seat's legal actions with each view. `seen` is the newest
    revision that the asker has seen (-1: none): it is never sent an older one. Steps
    are sent that come after `since` (-1: none before the first view); `whole` asks for
    what a page draws beside the view, and for the view after each step. `history` is
    the one in which `seen` was seen (see `ViewUpdate`).
    """

    request: int
    match: str
    epoch: int
    seat: str = ""
    session: int = 0
    legal: bool = False
    seen: int = -1
    since: int = -1
    whole: bool = False
    history: int = 0


class Unwatch(Struct, frozen=True, tag=14):
    """Stop sending views of this match to me."""

    request: int
    match: str
    epoch: int
    seat: str = ""


class FetchLog(Struct, frozen=True, tag=15):
    """Records of a finished match, from `first` on, a page at a time."""

    request: int
    match: str
    epoch: int
    first: int = 0


class FetchTable(Struct, frozen=True, tag=16):
    """The shard table as this node knows it."""

    request: int


class TakeBack(Struct, frozen=True, tag=17):
    """Ask to take moves back, or answer who asked. Its key is one of actions.

    `revision`: with "ask" the one to return to, null for that before the seat's newest
    action; with "agree" and "decline" the request's (see `ViewUpdate.undo`).
    `base_revision` makes a request stale once the match has moved on.
    """

    request: int
    match: str
    epoch: int
    seat: str
    session: int
    action: int
    verb: Literal["ask", "agree", "decline"]
    revision: int | None = None
    base_revision: int | None = None


# --- node -> client ----------------------------------------------------------


class Created(Struct, frozen=True, tag=40):
    """The match exists and is committed. Send `epoch` with all that follows."""

    request: int
    match: str
    epoch: int
    game: str
    version: str
    seats: tuple[str, ...]


class Seated(Struct, frozen=True, tag=41):
    """The seat is yours. `resume` is a secret: it takes the seat back."""

    request: int
    match: str
    seat: str
    session: int
    resume: str
    next_action: int = 1


class Accepted(Struct, frozen=True, tag=42):
    """The action is committed; `revision` is the match's after its batch."""

    request: int
    match: str
    revision: int
    index: int


class Refused(Struct, frozen=True, tag=43):
    """A typed no. Codes: `runtime/refusal.py`; `details` is JSON in msgpack."""

    request: int
    code: str
    message: str
    reason: str | None = None
    details: Raw = Raw(b"\xc0")
    revision: int | None = None


class Moved(Struct, frozen=True, tag=44):
    """Not here: the shard is owned by `owner` ("" if nobody) in `epoch`."""

    request: int
    shard: int
    epoch: int
    owner: str


class ViewUpdate(Struct, frozen=True, tag=45):
    """What one seat (or a spectator: seat "") may see, as committed.

    `steps` are the redacted steps since the last update; `legal` is a list of
    [event, payload] pairs; `result` is null while the match runs. `request` is
    not 0 when the update answers a `Sync`. `undo` is null, or who waits for leave to
    take moves back: [revision, seat, to, seats that agreed]; `revision` is the
    request's, `to` the one to return to. `shown`, and the fields of the same name in
    each step, come only where `Sync.whole` asked: see `hotseat.engine.shown`.
    `history` rises when an operator had the match go on from an old copy: only then is
    a lower revision news.
    """

    request: int
    match: str
    epoch: int
    seat: str
    revision: int
    turn: int
    state: str
    active_players: tuple[str, ...]
    deadline_ms: int | None
    ended: bool
    view: Raw
    result: Raw = Raw(b"\xc0")
    legal: Raw = Raw(b"\xc0")
    steps: Raw = Raw(b"\x90")
    undo: tuple[int, str, int, tuple[str, ...]] | None = None
    shown: Raw = Raw(b"\xc0")
    history: int = 0


class LogPage(Struct, frozen=True, tag=46):
    """Records [first, first + len(records)); `next` is None at the end."""

    request: int
    match: str
    first: int
    records: Raw
    next: int | None


class ShardEntry(Struct, frozen=True):
    """One row of the shard table."""

    shard: int
    owner: str
    epoch: int


class PinEntry(Struct, frozen=True):
    """A pinned match, its own shard, and who owns that."""

    match: str
    shard: int
    owner: str
    epoch: int


class NodeEntry(Struct, frozen=True):
    """Where a node's inbox is; the incarnation goes into a hello to it."""

    node: str
    inbox: str
    incarnation: str


class TableSnapshot(Struct, frozen=True, tag=47):
    """The whole shard table, at the coordinator's `revision`."""

    request: int
    revision: int
    shards: tuple[ShardEntry, ...]
    nodes: tuple[NodeEntry, ...]
    pins: tuple[PinEntry, ...] = ()


# --- node -> node ------------------------------------------------------------


class Forwarded(Struct, frozen=True, tag=60):
    """A client's frame that came to the wrong node; it is forwarded once."""

    client: str
    principal: str
    frame: Raw


class Returned(Struct, frozen=True, tag=61):
    """An answer or a view on its way back to a client of the receiver."""

    client: str
    frame: Raw


class ClientGone(Struct, frozen=True, tag=62):
    """A client that the sender forwarded for has left: stop pushing to it."""

    client: str


Request = (
    CreateMatch
    | TakeSeat
    | Dispatch
    | TakeBack
    | Sync
    | Unwatch
    | FetchLog
    | FetchTable
)
Response = (
    Created | Seated | Accepted | Refused | Moved | ViewUpdate | LogPage | TableSnapshot
)
Frame = (
    Heartbeat
    | Request
    | Response
    | Forwarded
    | Returned
    | ClientGone
    | replication.Message
)
