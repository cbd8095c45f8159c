"""The shard's record as this node knows it, and its own writes to it.

The record in the coordinator is the only truth on ownership, and every write is a
compare-and-swap from the revision that was read. Rules:

1. An outcome that is unknown counts as both: the write may have landed, or may land
   later. Reading the old revision again proves nothing, for the request may still be
   on its way. It is resolved only when the key's revision moves.
2. So another write, with a fresh nonce, from the same revision, is sent to move it.
   At most one of all these can land.
3. A conflict tells of a newer record: nothing is written until that one is read.
4. A record below the highest epoch that was seen in a record is not believed, nor one
   of that epoch with another owner: the coordinator went back. An entry in the log is
   as good as a record of its epoch: nothing is appended before the record is there. So
   is a promise, of the epoch before it: a claim is made of a record that was read.
5. A pinned shard has a record as long as its match is pinned: both are made, and
   deleted, in one transaction. One without a record is no more, if there was one
   since this process began; else the data here may be newer than the coordinator.
"""

from __future__ import annotations

from msgspec import structs

from ..control_plane import SHARDS_MAX, Move, ShardRecord
from ..coordinator import ABSENT, CasConflict, CasOk, CasOutcome, Write
from ..frame import ShardEntry
from .effects import Effects, RecordWrite
from .me import Me
from .options import ReplicationOptions
from .output import Alarm

__all__ = ["GONE", "Isr", "RecordRegister"]

GONE = "shard_record_gone"
"""Why a shard is stopped that had a record once."""

Isr = tuple[tuple[str, str], ...]


class RecordRegister:
    """One shard's record: what was read, and what was written and is not known yet."""

    __slots__ = (
        "_drawn",
        "_effects",
        "_me",
        "_options",
        "_outstanding",
        "_outstanding_isr",
        "_question_sent",
        "_shard",
        "_unknowns",
        "changed",
        "epoch_seen",
        "gone",
        "in_flight",
        "known",
        "landed",
        "outdated",
        "question",
        "record",
        "refused",
        "_refused_revision",
        "retry_at",
        "revision",
        "stopped",
    )

    def __init__(
        self, shard: int, me: Me, effects: Effects, options: ReplicationOptions
    ) -> None:
        self._shard = shard
        self._me = me
        self._effects = effects
        self._options = options
        self.known = False
        """It was read, if only to find that there is none."""
        self.revision = ABSENT
        self.record: ShardRecord | None = None
        self.refused: ShardRecord | None = None
        """A newer one, which was not believed."""
        self._refused_revision = ABSENT
        self.gone = False
        """Rule 5; for good, since its number is never used again."""
        self.epoch_seen = 0
        """Invariant: no record of a lower epoch is believed."""
        self.changed = False
        """A newer record was read; whoever acts on it sets this to False."""
        self.landed = False
        """The record that was read last is one that this process wrote."""
        self.question = 0
        """The newest fresh read that was asked before an own write that landed was
        sent (see `fresh_reads.py`)."""
        self.stopped: str | None = None
        self.in_flight: RecordWrite | None = None
        self.outdated = False
        self.retry_at = 0
        self._unknowns = 0
        self._drawn = 0
        self._question_sent = 0  # what the last write was sent after
        self._outstanding = 0  # writes from this revision that may yet land
        self._outstanding_isr: Isr = ()

    # Reading.

    def observe(self, revision: int, record: ShardRecord | None) -> None:
        """The record as of `revision`."""
        if self.known and revision <= self.revision:
            self._read_again()
            return
        if record is None:
            self.known = True
            if self._shard >= SHARDS_MAX:
                if revision != ABSENT:
                    self._vanish(revision)
                else:  # `pinned_base.py` says what that means
                    self.stopped, self.changed = GONE, True
                return
            if revision != ABSENT or self.epoch_seen:
                self.revision = revision
                self.stop(GONE, "the shard's record was deleted")
            return
        self.known = True
        self.revision = revision
        self._resolved()
        self.refuse(revision, record)  # unless it is believed
        if record.epoch < self.epoch_seen:
            self.stop(
                "epoch_went_back",
                f"epoch {record.epoch} is recorded, {self.epoch_seen} was seen before",
            )
            return
        seen = self.record
        if (
            seen is not None
            and seen.epoch == record.epoch
            and seen.owner != record.owner
        ):
            self.stop(
                "epoch_went_back",
                f"epoch {record.epoch} is recorded as {record.owner}'s, and was"
                f" {seen.owner}'s",
            )
            return
        self._believe(record)

    def refuse(self, revision: int, record: ShardRecord | None) -> None:
        """It stands there, and is not believed."""
        if record is not None:
            self.refused, self._refused_revision = record, revision

    def _vanish(self, revision: int) -> None:
        """Rule 5."""
        self.revision = revision
        self._resolved()
        self.record = None
        self.gone = self.changed = True

    def _believe(self, record: ShardRecord) -> None:
        known = self.record
        if known is None or (known.owner, known.epoch) != (record.owner, record.epoch):
            entry = ShardEntry(self._shard, record.owner or "", record.epoch)
            self._effects.table.append(entry)
        prefix, _, number = record.claim.rpartition(".")
        self.landed = prefix == f"{self._me.nonce_prefix}.{self._shard}"
        if self.landed and int(number) == self._drawn:
            self.question = self._question_sent
        self.record = record
        self.refused = None
        self.epoch_seen = record.epoch
        self.stopped = None
        self.changed = True

    def _read_again(self) -> None:
        """The same revision once more: what is outstanding may still land."""

    def _resolved(self) -> None:
        """The revision has moved: one of the outstanding writes moved it, or none of
        them ever will."""
        self.in_flight = None
        self.outdated = False
        self.retry_at = 0
        self._unknowns = 0
        self._outstanding = 0
        self._outstanding_isr = ()

    def stop(self, code: str, message: str) -> None:
        """Believe no record, until a sound one is read."""
        if self.stopped != code:
            self._effects.alarms.append(Alarm(self._shard, code, message))
        self.stopped = code
        self.changed = True

    # Writing.

    def may_write(self, now_ms: int) -> bool:
        """One change at a time, from a record that was read."""
        return self.known and self.stopped is None and self.may_overrule(now_ms)

    def may_overrule(self, now_ms: int) -> bool:
        """As `may_write`, for an operator: the record that was read need not be
        believed."""
        return (
            self.known
            and self.in_flight is None
            and not self.outdated
            and self.retry_at <= now_ms
        )

    def quiet(self) -> bool:
        """No write of this node's may land any more, and the newest record is known."""
        return not (self.in_flight or self.unresolved() or self.outdated)

    def unresolved(self) -> bool:
        """A write may or may not have landed: move the revision."""
        return self._outstanding > 0

    def outstanding_isr(self) -> Isr:
        """All that stand in the in-sync set of a write that may have landed."""
        return self._outstanding_isr

    def write(
        self,
        owner: str | None,
        epoch: int,
        isr: Isr,
        want: tuple[str, ...],
        move: Move | None,
        question: int = 0,
        companions: tuple[Write, ...] = (),
        history: int | None = None,
    ) -> None:
        """Send one write from the revision that was read; `companions` of other keys
        land with it or not at all. `history` stays, unless it is given."""
        assert self.in_flight is None, self.in_flight
        if history is None:
            history = 0 if self.record is None else self.record.history
        record = ShardRecord(
            owner=owner,
            epoch=epoch,
            isr=isr,
            want=want,
            claim=self._draw_nonce(),
            move=move,
            history=history,
        )
        self._question_sent = question
        revision = self.revision if self.refused is None else self._refused_revision
        self._send(RecordWrite(self._shard, revision, record, companions))

    def delete(self, companions: tuple[Write, ...]) -> None:
        """Delete the record that was read, in one transaction with `companions`."""
        assert self.in_flight is None, self.in_flight
        assert self.record is not None
        record = structs.replace(self.record, claim=self._draw_nonce())
        self._question_sent = 0
        self._send(
            RecordWrite(self._shard, self.revision, record, companions, deletes=True)
        )

    def _draw_nonce(self) -> str:
        self._drawn += 1
        return f"{self._me.nonce_prefix}.{self._shard}.{self._drawn}"

    def _send(self, write: RecordWrite) -> None:
        self.in_flight = write
        self._outstanding += 1
        self._outstanding_isr = _union(self._outstanding_isr, write.record.isr)
        self._effects.writes.append(write)

    def answered(self, nonce: str, outcome: CasOutcome, moved: bool, now: int) -> None:
        """What became of the write in flight. `moved`: a conflict, of this key."""
        write = self.in_flight
        if write is None or write.nonce != nonce:
            return  # a reading resolved it before its answer came
        self.in_flight = None
        if isinstance(outcome, CasOk):
            landed = None if write.deletes else write.record
            self.observe(outcome.revision, landed)
        elif isinstance(outcome, CasConflict):
            self._on_conflict(moved)
        else:
            self._on_unknown(write, now)

    def _on_conflict(self, moved: bool) -> None:
        if self._outstanding == 1:
            self._outstanding = 0  # it did not land, and never will
            self._outstanding_isr = ()
        if moved:
            self.outdated = True
            self._effects.list_again = True

    def _on_unknown(self, write: RecordWrite, now_ms: int) -> None:
        """Both outcomes count, until the revision moves; soon, move it."""
        pause = self._options.cas_pause_ms << min(self._unknowns, 10)
        self._unknowns += 1
        self.retry_at = now_ms + min(pause, self._options.cas_pause_ms_max)


def _union(first: Isr, second: Isr) -> Isr:
    return first + tuple(pair for pair in second if pair not in first)
