"""What replicas of a shard say to each other; see `docs/replication.md`.

Frames like those of `runtime/frame.py`, which lists them in its union. Every frame that
a follower must believe carries the owner's epoch, and `ident`: the replica (not the
node) that it is meant for. Every answer carries the answering replica's own `ident` and
`boot`, so that what an earlier process earned counts for nothing.

Sequence numbers start at 1 in a shard; 0 is the place before the first entry.
"""

from __future__ import annotations

import msgspec

__all__ = [
    "Acked",
    "Alive",
    "Append",
    "Echo",
    "Entry",
    "Fenced",
    "HandedOver",
    "InstallAcked",
    "InstallPage",
    "Join",
    "ManifestLine",
    "Message",
    "Nacked",
    "Piece",
    "Probe",
    "Resigned",
    "ShardMessage",
    "StateAsked",
    "StateCopy",
]

Raw = msgspec.Raw


class _Struct(msgspec.Struct, frozen=True, array_like=True):
    """A frozen struct, written as an array."""


class Entry(_Struct, frozen=True, gc=False):
    """One record in the shard's log. `epoch` is the one it was appended in.

    `record` is the packed record of match `match` with number `index`; opaque here.
    """

    epoch: int
    seq: int
    match: str
    index: int
    record: Raw


class Append(_Struct, frozen=True, tag=70):
    """Owner -> replica: entries that follow (`prev_seq`, `prev_epoch`); may be none.

    `serial` numbers what this owner sent to this replica; its answer repeats it.
    `clock_ms` is the owner's wall clock.
    """

    shard: int
    epoch: int
    ident: str
    serial: int
    prev_seq: int
    prev_epoch: int
    entries: tuple[Entry, ...]
    commit: int
    clock_ms: int


class Acked(_Struct, frozen=True, tag=71):
    """Replica -> owner: all up to `seq` is persisted here, and is as the owner has it.

    `seq` is prev_seq + len(entries) of the frame that is answered, never the length of
    the log.
    """

    shard: int
    epoch: int
    ident: str
    boot: int
    serial: int
    seq: int


class Nacked(_Struct, frozen=True, tag=72):
    """Replica -> owner: your frame does not join on; send from `commit` on."""

    shard: int
    epoch: int
    ident: str
    boot: int
    serial: int
    commit: int


class Fenced(_Struct, frozen=True, tag=73):
    """To an owner of an older epoch: `epoch` is promised here."""

    shard: int
    epoch: int


class Join(_Struct, frozen=True, tag=74):
    """Replica -> owner: I am `ident` now (under `boot`); start with me anew."""

    shard: int
    epoch: int
    ident: str
    boot: int
    commit: int


class Probe(_Struct, frozen=True, tag=75):
    """Owner -> in-sync follower: is my epoch still the promised one? (fresh read)"""

    shard: int
    epoch: int
    ident: str
    read: int


class Echo(_Struct, frozen=True, tag=76):
    """Follower -> owner: it is, and I am no candidate."""

    shard: int
    epoch: int
    ident: str
    boot: int
    read: int


class Resigned(_Struct, frozen=True, tag=77):
    """Owner -> in-sync follower: I cannot go on in this epoch; claim the shard."""

    shard: int
    epoch: int
    ident: str


class HandedOver(_Struct, frozen=True, tag=78):
    """Former owner -> new owner: the record names you, in `epoch`.

    `record` is what it read back at `revision`, packed as it stands there: who is told
    need not ask the coordinator first.
    """

    shard: int
    epoch: int
    ident: str
    revision: int = 0
    record: bytes = b""


class Piece(_Struct, frozen=True, gc=False):
    """A part of a match's packed state: bytes [offset, offset + len(data)) of `size`.

    `index` is that of the state's last record.
    """

    match: str
    index: int
    offset: int
    size: int
    data: bytes


class ManifestLine(_Struct, frozen=True, gc=False):
    """How far a match is: the number of its last record, and that record's digest."""

    match: str
    index: int
    digest: bytes


class InstallPage(_Struct, frozen=True, tag=79):
    """Owner -> learner: a page of states, cut at (`base_seq`, `base_epoch`).

    Page 0 wipes what the learner has. A state may be newer than the cut: entries with
    an index that it has already are skipped. `last` ends the install. It is meant for
    one start of the learner's process (`boot`): one that was late must wipe nothing.
    `lines` has the matches that the page completes; `manifest`, of the last page, what
    all lines of the install come to (see `manifest.py`).
    """

    shard: int
    epoch: int
    ident: str
    install: int
    page: int
    base_seq: int
    base_epoch: int
    pieces: tuple[Piece, ...]
    last: bool
    boot: int = 0
    lines: tuple[ManifestLine, ...] = ()
    manifest: bytes = b""


class InstallAcked(_Struct, frozen=True, tag=80):
    """Learner -> owner: that page is here; if it was the last, all is persisted.

    `differing`: these matches did not arrive as the page's lines say; send them again.
    """

    shard: int
    epoch: int
    ident: str
    boot: int
    install: int
    page: int
    differing: tuple[str, ...] = ()


class StateAsked(_Struct, frozen=True, tag=81):
    """Follower -> owner: my state of this match differs; send me yours."""

    shard: int
    epoch: int
    match: str


class StateCopy(_Struct, frozen=True, tag=82):
    """Owner -> follower: a part of one match's committed state."""

    shard: int
    epoch: int
    piece: Piece


class Alive(_Struct, frozen=True, tag=83):
    """Node -> node, all the time: I live, and own these shards in these epochs.

    `owned` has only shards of which the receiver is, or is to be, a replica. `leaving`:
    I am about to go, let me out of the in-sync sets.
    """

    clock_ms: int
    owned: tuple[tuple[int, int], ...]
    leaving: bool = False


ShardMessage = (
    Append
    | Acked
    | Nacked
    | Fenced
    | Join
    | Probe
    | Echo
    | Resigned
    | HandedOver
    | InstallPage
    | InstallAcked
    | StateAsked
    | StateCopy
)
Message = ShardMessage | Alive
