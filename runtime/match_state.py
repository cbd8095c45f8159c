"""A match as a value: the engine's snapshot, and all that the runtime keeps with it.

A `MatchState` follows from the match's records alone. It is immutable and shares what
a record did not change with the state before it. The log itself is not in it: it
grows, and belongs to whoever keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

import msgspec

from ..engine.digest import canonical_bytes, whole_state
from ..engine.limits import G_BYTES_MAX
from ..engine.machine import Machine
from ..engine.snapshot import Snapshot
from ..engine.step import Batch
from ..engine.takeback import NO_UNDO, UndoState
from .dedupe import KeyWindow
from .interventions import NO_INTERVENTIONS, Interventions

__all__ = [
    "MEASURED_EVERY_BYTES",
    "RECORDS_MAX",
    "MatchState",
    "Progress",
    "SeatState",
    "armed_deadline",
    "measure",
    "progress",
    "wall_deadline",
]

# Bytes of changes after which a large state is packed again to know its size. By so
# much a state may grow beyond the hard limit before it is noticed.
MEASURED_EVERY_BYTES = 64 * 1024


# Records of one match. No turn-based game comes near; a deadline that re-arms itself
# for ever, or a client that never stops, does.
RECORDS_MAX = 100_000


class SeatState(msgspec.Struct, frozen=True):
    """One seat: who may take it back, and which actions it has had."""

    token_hash: str = ""
    """Hash of the resume token; "" while the seat is free."""
    window: KeyWindow = KeyWindow()
    touched_revision: int = 0
    """The last revision that was this seat's own action, or that changed its
    membership of the active players."""


class MatchState(msgspec.Struct, frozen=True):
    """A match after the record at `index`."""

    machine: Machine
    match: str
    """The match's id."""
    epoch: int
    """The shard's epoch in which the match was created; it never changes."""
    creation: str
    """Digest of the content that the match was created with."""
    snapshot: Snapshot
    seats: Mapping[str, SeatState]
    """By seat, in the order of the match input. Replaced, never changed."""
    index: int
    digest: bytes
    """The chain's head: the digest of the record at `index`."""
    time_ms: int
    """Of the record at `index`. Never goes back."""
    position_revision: int
    """The last revision that changed the position."""
    armed_ms: int | None
    """When the deadline fires; None if there is none, or it would be stuck."""
    stuck: bool
    """The last step left a deadline that had passed already."""
    bytes_at_most: int
    """The packed state (G, result, match input) is no larger; see `measure`."""
    bytes_unmeasured: int
    """How much of that was added since the state was last looked at as a whole."""
    undo: UndoState = NO_UNDO
    """What can be taken back, and the request to that waits."""

    credit_ms: int = 0
    """By how much the match's own clock, which the game is told, is behind the wall
    clock: the outages that were credited to it. `armed_ms` is wall clock time."""

    reported: bool = False
    """Its result has reached its sinks; the last record says so."""

    pinned: int = 0
    """The number of its own shard, if it is away from home, or about to leave; 0: it is
    at home."""

    pins: int = 0
    """How often it was to leave home."""

    interventions: Interventions = NO_INTERVENTIONS
    """What is remembered of what operators did."""

    @property
    def bytes_known(self) -> int:
        """The bound, if the state was looked at as a whole just now; else 0."""
        return 0 if self.bytes_unmeasured else self.bytes_at_most

    @property
    def revision(self) -> int:
        """Steps so far."""
        return self.snapshot.revision

    @property
    def ended(self) -> bool:
        """Whether the match is over."""
        return self.snapshot.meta.result is not None

    def clock_ms(self, time_ms: int) -> int:
        """The match's own clock at a time of the wall clock."""
        return time_ms - self.credit_ms

    @property
    def deadline_ms(self) -> int | None:
        """When the position's deadline is, by the wall clock; armed or not."""
        return wall_deadline(self.snapshot, self.credit_ms)

    def judged_revision(self, seat: str) -> int:
        """The oldest revision that an action of `seat` may be based on.

        The last one that changed the position, the seat's membership of the active
        players, or that was its own action. In a state that declares
        `strict_revision`, the current one.
        """
        state = self.machine.game.states.get(self.snapshot.position.name)
        if state is not None and state.strict_revision:
            return self.revision
        return max(self.position_revision, self.seats[seat].touched_revision)


def measure(
    before: MatchState | None, snapshot: Snapshot, packed: int, *, whole: bool
) -> tuple[int, int]:
    """`bytes_at_most` and `bytes_unmeasured` after a record.

    `packed` is the size of what the record covers, `whole` whether that holds the whole
    state. A step makes the state larger by no more than its packed changes: so their
    sum is a bound, and a record that covers all is one by itself. The state itself is
    packed only when the bound is beyond the limit and has grown noticeably since, so
    that it costs little per byte that is played, and nothing per action.
    """
    if before is None or whole:
        at_most, unmeasured = packed, 0
    else:
        at_most = before.bytes_at_most + packed
        unmeasured = before.bytes_unmeasured + packed
    if at_most > G_BYTES_MAX and (whole or unmeasured >= MEASURED_EVERY_BYTES):
        return len(canonical_bytes(whole_state(snapshot))), 0
    return at_most, unmeasured


class Progress(msgspec.Struct, frozen=True):
    """What a batch means to those who act on older views."""

    position_revision: int
    touched: dict[str, int]
    """By seat, only those whose membership of the active players changed."""


def progress(state: MatchState, batch: Batch) -> Progress:
    """Find the revisions at which the position and the active players changed."""
    before = state.snapshot
    position_revision = state.position_revision
    touched: dict[str, int] = {}
    for step in batch.steps:
        after = step.snapshot
        if after.position != before.position:
            position_revision = after.revision
        was, now = before.derived.active_players, after.derived.active_players
        if was is not now and was != now:
            for seat in state.seats:
                if (seat in was) != (seat in now):
                    touched[seat] = after.revision
        before = after
    return Progress(position_revision, touched)


def wall_deadline(snapshot: Snapshot, credit_ms: int) -> int | None:
    """When the snapshot's deadline is, by the wall clock; None if there is none."""
    deadline = snapshot.derived.control_meta.deadline
    if deadline is None or snapshot.meta.result is not None:
        return None
    return ceil(deadline) + credit_ms


def armed_deadline(
    snapshot: Snapshot, time_ms: int, waiting_ms: int | None, credit_ms: int = 0
) -> tuple[int | None, bool]:
    """Say when the snapshot's deadline fires, and whether it is stuck.

    All times are of the wall clock, `credit_ms` ahead of the deadline's.

    A step that leaves a deadline already past is not armed: it would fire for ever.
    One that was armed before and still waits (`waiting_ms`) stays armed though it is
    overdue: an action that came first must not make the match wait for ever.
    """
    at_ms = wall_deadline(snapshot, credit_ms)
    if at_ms is None:
        return None, False
    if at_ms > time_ms or at_ms == waiting_ms:
        return at_ms, False
    return None, True
