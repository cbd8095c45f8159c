"""Which shards this node owns: the claims, as a core without I/O.

The shell feeds it what the coordinator says (`listing`, `changed`, `answered`) and the
time (`tick`), and does what each returned `Output` says. It knows no clock, no
coordinator and no matches.

Rules:
1. A record that was never owned is claimed by the node that stands first in `want`.
   A record that names this node, but was not claimed by this boot, is claimed again.
   Nobody claims from another node here.
2. A claim is a compare-and-swap from the record as read, with epoch + 1 and a fresh
   nonce. Epochs grow by one with every claim, and only then.
3. A shard is adopted by reading one of this boot's nonces in its record, in whatever
   way the record came (an `ok` answer is such a reading), and by nothing else. So an
   epoch is served by one process at most, and never resumed.
4. An unknown outcome counts as both. Reading the old revision proves nothing: after a
   pause another claim, with a new nonce, is sent from that revision. At most one of
   them lands, and any of their nonces is ours.
5. A conflict names a record that has moved: wait until it is read, then decide anew.
6. A record of another owner or a higher epoch releases the shard in that same step.
7. A record that is unreadable, gone, or of a lower epoch than one seen before stops
   the shard, with an alarm, until a sound one is read: that is a matter for operators.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .control_plane import Keys, ShardRecord, decode_record, encode_record
from .coordinator import (
    ABSENT,
    WRITES_MAX,
    CasConflict,
    CasOk,
    CasOutcome,
    Change,
    Listing,
    Write,
)
from .errors import ControlRecordInvalid
from .frame import ShardEntry
from .ownership_output import Alarm, CasRequest, Output, OwnershipStatistics

__all__ = ["Ownership"]

RETRY_MS = 200
"""Before a claim of unknown outcome is repeated; doubled each time."""

RETRY_MS_MAX = 3200


@dataclass(slots=True)
class _Shard:
    """What is known of one shard."""

    revision: int = ABSENT  # of `record`, or of the delete that was seen last
    record: ShardRecord | None = None
    epoch_seen: int = 0  # Invariant: no record of a lower epoch is believed
    serving: int | None = None  # Invariant: then `record` names this node and epoch
    adopted: int = 0  # Invariant: serving is None or equals it; it only grows
    request: int | None = None  # the one request in flight about it
    outdated: bool = False  # a conflict told of a newer record than `record`
    unknowns: int = 0  # in a row, for the back-off
    retry_at_ms: int = 0
    stopped: str | None = None


@dataclass(slots=True)
class _Step:
    """Collects one step's output."""

    released: list[tuple[int, int]] = field(default_factory=list)
    adopted: list[tuple[int, int]] = field(default_factory=list)
    table: dict[int, ShardEntry] = field(default_factory=dict)
    alarms: list[Alarm] = field(default_factory=list)
    list_again: bool = False


class Ownership:
    """One process's claims on the shards of a cluster.

    `boot` is drawn anew by each process and has no dot: nonces are "<boot>.<number>".
    `layout` has the wanted nodes per shard, for records that nobody has made yet.
    """

    def __init__(
        self,
        keys: Keys,
        node: str,
        boot: str,
        layout: Sequence[tuple[str, ...]],
    ) -> None:
        if not boot or "." in boot:
            raise ValueError(f"a boot is not empty and has no dot: {boot!r}")
        self._keys = keys
        self._node = node
        self._boot = boot
        self._layout = layout
        self._shards = [_Shard() for _ in layout]
        self._requests: dict[int, tuple[Write, ...]] = {}
        self._requests_sent = 0
        self._nonces_drawn = 0
        self._revision = 0
        self._listed = False
        self._standing_down = False
        self._now_ms = 0
        self._step = _Step()
        self._claims_sent = self._claims_unknown = self._claims_conflicting = 0
        self._times_adopted = self._times_released = 0

    @property
    def revision(self) -> int:
        """The coordinator's newest revision that was seen."""
        return self._revision

    def serving(self) -> dict[int, int]:
        """Epoch by shard, for the shards that are served now."""
        return {
            number: shard.serving
            for number, shard in enumerate(self._shards)
            if shard.serving is not None
        }

    def listing(self, listing: Listing, asked_at: int, now_ms: int) -> Output:
        """Everything under the cluster's prefix, as read.

        `asked_at` is what `revision` was when the listing was asked for.
        """
        self._now_ms = max(self._now_ms, now_ms)
        if listing.revision < asked_at:
            message = (
                f"the coordinator went back from revision {asked_at} to"
                f" {listing.revision}: was it restored from a backup?"
            )
            for number in range(len(self._shards)):
                self._stop(number, "coordinator_went_back", message)
            return self._finish()
        found: set[int] = set()
        for entry in listing.entries:
            at = self._keys.shard_of(entry.key)
            if at is not None and at < len(self._shards):
                found.add(at)
                self._observe(at, entry.revision, entry.value)
        for number, shard in enumerate(self._shards):
            if number not in found and shard.revision != ABSENT:
                self._observe(number, listing.revision, None)
        self._revision = max(self._revision, listing.revision)
        self._listed = True
        return self._finish()

    def changed(self, changes: Sequence[Change], now_ms: int) -> Output:
        """One transaction, as a watch told of it."""
        self._now_ms = max(self._now_ms, now_ms)
        for change in changes:
            self._revision = max(self._revision, change.revision)
            number = self._keys.shard_of(change.key)
            if number is not None and number < len(self._shards):
                self._observe(number, change.revision, change.value)
        return self._finish()

    def answered(self, request: int, outcome: CasOutcome, now_ms: int) -> Output:
        """What became of a `CasRequest`."""
        self._now_ms = max(self._now_ms, now_ms)
        if isinstance(outcome, CasOk):
            self._revision = max(self._revision, outcome.revision)
        for write in self._requests.pop(request):
            number = self._keys.shard_of(write.key)
            assert number is not None, f"a request wrote to {write.key!r}"
            shard = self._shards[number]
            assert shard.request == request, (number, shard, request)
            shard.request = None
            if isinstance(outcome, CasOk):
                self._observe(number, outcome.revision, write.value)
            elif isinstance(outcome, CasConflict):
                self._on_conflict(number, write, write.key in outcome.keys)
            else:
                self._on_unknown(number, write)
        return self._finish()

    def tick(self, now_ms: int) -> Output:
        """Time has passed."""
        self._now_ms = max(self._now_ms, now_ms)
        return self._finish()

    def stand_down(self) -> Output:
        """Release everything and claim nothing more, for good."""
        self._standing_down = True
        for number in range(len(self._shards)):
            self._release(number)
        return self._finish()

    def outstanding(self) -> int:
        """Shards that are, or may be, meant for this node and not served yet.

        All of them until the first listing; stopped ones are not counted.
        """
        if not self._listed:
            return len(self._shards)
        return sum(
            1
            for shard in self._shards
            if shard.stopped is None and self._is_meant_for_me(shard)
        )

    def statistics(self) -> OwnershipStatistics:
        return OwnershipStatistics(
            serving=len(self.serving()),
            outstanding=self.outstanding(),
            claiming=sum(1 for shard in self._shards if shard.request is not None),
            stopped=sum(1 for shard in self._shards if shard.stopped is not None),
            claims_sent=self._claims_sent,
            claims_unknown=self._claims_unknown,
            claims_conflicting=self._claims_conflicting,
            adopted=self._times_adopted,
            released=self._times_released,
        )

    def check(self) -> None:
        """The invariants. Runs after every step.

        Raises:
            AssertionError: This core is wrong.
        """
        for number, shard in enumerate(self._shards):
            if shard.serving is not None:
                record = shard.record
                held = record is not None and (record.owner, record.epoch)
                assert held == (self._node, shard.serving), (number, shard)
                assert shard.serving == shard.adopted, (number, shard)
                assert shard.stopped is None, (number, shard)
                assert not self._standing_down, (number, shard)
            assert shard.adopted <= shard.epoch_seen, (number, shard)
            known = shard.request is None or shard.request in self._requests
            assert known, (number, shard)

    # What a reading means.

    def _observe(self, number: int, revision: int, value: bytes | None) -> None:
        """The record as of `revision`; an older one than the known changes nothing."""
        shard = self._shards[number]
        if revision <= shard.revision:
            return
        shard.revision = revision
        shard.outdated = False
        if value is None:
            self._stop(number, "shard_record_gone", "the shard's record was deleted")
            return
        try:
            record = decode_record(ShardRecord, self._keys.shard(number), value)
        except ControlRecordInvalid as error:
            self._stop(number, error.code, str(error))
            return
        if record.epoch < shard.epoch_seen:
            self._stop(
                number,
                "epoch_went_back",
                f"epoch {record.epoch} is recorded, {shard.epoch_seen} was seen before",
            )
            return
        self._believe(number, record)

    def _believe(self, number: int, record: ShardRecord) -> None:
        shard = self._shards[number]
        if shard.record is None or shard.epoch_seen != record.epoch:
            entry = ShardEntry(number, record.owner or "", record.epoch)
            self._step.table[number] = entry
        shard.record = record
        shard.epoch_seen = record.epoch
        shard.stopped = None
        if (record.owner, record.epoch) != (self._node, shard.serving):
            self._release(number)
        if self._is_own_claim(record) and record.epoch > shard.adopted:
            self._adopt(number, record.epoch)

    def _is_own_claim(self, record: ShardRecord) -> bool:
        return record.owner == self._node and record.claim.startswith(f"{self._boot}.")

    def _adopt(self, number: int, epoch: int) -> None:
        if self._standing_down:
            return
        shard = self._shards[number]
        assert shard.adopted < epoch, (number, shard, epoch)
        shard.serving = shard.adopted = epoch
        shard.unknowns = 0
        self._step.adopted.append((number, epoch))
        self._times_adopted += 1

    def _release(self, number: int) -> None:
        shard = self._shards[number]
        if shard.serving is None:
            return
        self._step.released.append((number, shard.serving))
        self._times_released += 1
        shard.serving = None

    def _stop(self, number: int, code: str, message: str) -> None:
        shard = self._shards[number]
        self._release(number)
        if shard.stopped != code:
            self._step.alarms.append(Alarm(number, code, message))
        shard.stopped = code

    # What an answer means, when it is not a reading.

    def _on_conflict(self, number: int, write: Write, moved: bool) -> None:
        self._claims_conflicting += moved
        shard = self._shards[number]
        if moved and shard.revision == write.expected:
            shard.outdated = True
            self._step.list_again = True

    def _on_unknown(self, number: int, write: Write) -> None:
        self._claims_unknown += 1
        shard = self._shards[number]
        pause_ms = min(RETRY_MS << min(shard.unknowns, 10), RETRY_MS_MAX)
        shard.unknowns += 1
        shard.retry_at_ms = self._now_ms + pause_ms

    # What to do next.

    def _finish(self) -> Output:
        requests = tuple(self._claim())
        step, self._step = self._step, _Step()
        self.check()
        return Output(
            released=tuple(step.released),
            adopted=tuple(step.adopted),
            table=tuple(step.table.values()),
            requests=requests,
            alarms=tuple(step.alarms),
            list_again=step.list_again,
            timer_ms=self._next_retry_ms(),
        )

    def _claim(self) -> Iterator[CasRequest]:
        wanted = [n for n in range(len(self._shards)) if self._may_claim_now(n)]
        for start in range(0, len(wanted), WRITES_MAX):
            numbers = wanted[start : start + WRITES_MAX]
            self._requests_sent += 1
            request = CasRequest(
                self._requests_sent, tuple(self._claim_of(number) for number in numbers)
            )
            self._requests[request.id] = request.writes
            for number in numbers:
                self._shards[number].request = request.id
            self._claims_sent += len(numbers)
            yield request

    def _may_claim_now(self, number: int) -> bool:
        return self._wants(number) and self._shards[number].retry_at_ms <= self._now_ms

    def _wants(self, number: int) -> bool:
        """Whether a record is to be written, retry pauses aside."""
        shard = self._shards[number]
        if not self._listed or self._standing_down:
            return False
        if shard.request is not None or shard.outdated or shard.stopped is not None:
            return False
        return self._is_meant_for_me(shard)

    def _is_meant_for_me(self, shard: _Shard) -> bool:
        record = shard.record
        if record is None:
            return True  # nobody has made it yet: anybody may
        if record.owner is None:
            return bool(record.want) and record.want[0] == self._node
        return record.owner == self._node and shard.serving is None

    def _claim_of(self, number: int) -> Write:
        self._nonces_drawn += 1
        nonce = f"{self._boot}.{self._nonces_drawn}"
        shard = self._shards[number]
        if shard.record is None:
            record = ShardRecord(
                owner=None, epoch=0, isr=(), want=self._layout[number], claim=nonce
            )
        else:
            record = ShardRecord(
                owner=self._node,
                epoch=shard.record.epoch + 1,
                isr=((self._node, self._boot),),
                want=shard.record.want,
                claim=nonce,
            )
        key = self._keys.shard(number)
        return Write(key, shard.revision, encode_record(record))

    def _next_retry_ms(self) -> int | None:
        return min(
            (
                shard.retry_at_ms
                for number, shard in enumerate(self._shards)
                if self._wants(number)
            ),
            default=None,
        )
