"""What one step of the replication core asks of its shell: one frozen `Output`.

The shell carries out the fields in their order, all of each before the next, and does
nothing else. It may begin a group of journal operations before it is told that an
earlier one is durable; it keeps their order, and answers each ticket once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..coordinator import Write
from ..frame import ShardEntry
from .message import Entry, ManifestLine, Message, Piece

__all__ = [
    "Alarm",
    "Appended",
    "Attach",
    "Carry",
    "CasRequest",
    "Come",
    "Commit",
    "Committed",
    "Confirmed",
    "Demoted",
    "Detach",
    "Feed",
    "IdentityKept",
    "Install",
    "JournalOp",
    "Output",
    "Promised",
    "Send",
    "Serving",
    "Split",
    "StateWanted",
    "Trail",
    "Truncated",
    "Wiped",
]


@dataclass(frozen=True, slots=True)
class Appended:
    """Persist these entries of a shard's log, behind what is there."""

    shard: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Truncated:
    """Forget the entries from `seq` on."""

    shard: int
    seq: int


@dataclass(frozen=True, slots=True)
class Promised:
    """No owner below `epoch` is acknowledged any more."""

    shard: int
    epoch: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A hint for recovery: all up to `seq` is committed. Need not be durable."""

    shard: int
    seq: int


@dataclass(frozen=True, slots=True)
class Wiped:
    """Forget the shard's log and states. With `last` of an install it begins at
    (`base_seq`, `base_epoch`); before, it is worth nothing if it is found at a start.
    """

    shard: int
    base_seq: int
    base_epoch: int
    complete: bool
    """False at the first page of an install; True behind its last page's states."""


@dataclass(frozen=True, slots=True)
class IdentityKept:
    """The replica identity of this node's data (see `identity.py`)."""

    ident: str
    boot: int
    nonce: str


JournalOp = Appended | Truncated | Promised | Commit | Wiped | IdentityKept


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that an operator must look at. `shard` is -1 for the whole node."""

    shard: int
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Demoted:
    """Serve the shard in this epoch no longer; drop what is not committed.

    Answers to records with a sequence number below `unsent_from` are `retry`; from it
    on nobody else has seen the record, and they are `not_committed`.
    """

    shard: int
    epoch: int
    unsent_from: int


@dataclass(frozen=True, slots=True)
class Send:
    """Put a message on the link to a node. It may be lost."""

    node: str
    message: Message


@dataclass(frozen=True, slots=True)
class CasRequest:
    """Send it once, and answer with `answered(id, …)`, whatever comes."""

    id: int
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class Install:
    """States for a learner's host. `page` 0 wipes first; `last` completes them.

    Their persistence belongs to the journal group of the same `Output`: the shell puts
    the states that became whole behind the group's other operations, before a `Wiped`
    with `complete`. Answer with `judged`: which of the matches in `lines` are not here
    as they say, and what those come to that are, in this install so far.
    """

    shard: int
    pieces: tuple[Piece, ...]
    page: int
    last: bool
    lines: tuple[ManifestLine, ...] = ()


class Trail(NamedTuple):
    """When the last of some entries was proposed, on this node's disk, at each other
    replica that was needed, and committed; by the core's clock. None: not known."""

    proposed_ms: int | None
    durable_ms: int
    acked_ms: tuple[tuple[str, int], ...]
    committed_ms: int


@dataclass(frozen=True, slots=True)
class Committed:
    """Entries that are committed now, in order: apply them, or release what waits.

    The host skips an entry whose index its state of that match has already. `trail`:
    at their owner, how they came to be.
    """

    shard: int
    entries: tuple[Entry, ...]
    trail: Trail | None = None


@dataclass(frozen=True, slots=True)
class Serving:
    """The node owns the shard in this epoch, and all that was committed before is
    applied: take actions. `last_heard_ms` is the newest wall clock time at which the
    former owner is known to have served (0: unknown)."""

    shard: int
    epoch: int
    last_heard_ms: int


@dataclass(frozen=True, slots=True)
class Confirmed:
    """Every `confirm` of the shard up to this token: the epoch stood after it."""

    shard: int
    token: int


@dataclass(frozen=True, slots=True)
class Feed:
    """A learner wants the page of states after `cursor` ("" for the first): answer
    with `feed(...)`, at once or later. Of all matches, or of those in `only`."""

    shard: int
    node: str
    install: int
    cursor: str
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StateWanted:
    """A follower asked for its copy of one match's committed state."""

    shard: int
    node: str
    match: str


@dataclass(frozen=True, slots=True)
class Split:
    """Bring the match from the shard where it is, at its last record there, to `shard`.

    What is to be persisted of it goes before the `Wiped` of `shard` that completes it,
    in the same group. `back`: that group was lost, and with it the whole step: undo it.
    """

    shard: int
    match: str
    back: bool = False


@dataclass(frozen=True, slots=True)
class Detach:
    """Let the match take no more commands, and log that it leaves its home `shard`.

    Of a pinned shard: log that it does not go home, after all.
    """

    shard: int
    match: str


@dataclass(frozen=True, slots=True)
class Attach:
    """Log that the match stays in its home `shard`, after all: it goes on there.

    Of a pinned shard: let it take no more commands, and log that it goes home.
    """

    shard: int
    match: str


@dataclass(frozen=True, slots=True)
class Carry:
    """Pack all of the match, as it is in the pinned `shard`: `carried` takes it.
    `revision`: of the coordinator, at which it was pinned."""

    shard: int
    match: str
    revision: int


@dataclass(frozen=True, slots=True)
class Come:
    """What came of the match by the log of its home `shard` is the match, from now on:
    it is pinned no longer."""

    shard: int
    match: str


@dataclass(frozen=True, slots=True)
class Output:
    """What the shell must do, in the order of the fields."""

    alarms: tuple[Alarm, ...] = ()
    demoted: tuple[Demoted, ...] = ()
    installs: tuple[Install, ...] = ()
    splits: tuple[Split, ...] = ()
    gone: tuple[int, ...] = ()
    """Pinned shards that are no more: forget what is here of them."""
    ticket: int = 0
    """Of `journal`; 0 when nobody waits for it."""
    journal: tuple[JournalOp, ...] = ()
    """Begin to persist these, in order. When they are durable: `persisted(ticket)`."""
    sends: tuple[Send, ...] = ()
    """May leave at once, though `journal` is not durable yet."""
    cas: tuple[CasRequest, ...] = ()
    committed: tuple[Committed, ...] = ()
    serving: tuple[Serving, ...] = ()
    confirmed: tuple[Confirmed, ...] = ()
    feeds: tuple[Feed, ...] = ()
    states_wanted: tuple[StateWanted, ...] = ()
    state_copies: tuple[tuple[int, Piece], ...] = ()
    """(shard, piece): what an owner answered to `StateAsked`."""
    pin_asks: tuple[Detach | Attach | Carry | Come, ...] = ()
    table: tuple[ShardEntry, ...] = ()
    """Rows of the shard table that changed."""
    list_again: bool = False
    """A record has moved past what is known: list now."""
    timer_ms: int | None = None
    """Call `tick` at this time at the latest; None: when you like."""
