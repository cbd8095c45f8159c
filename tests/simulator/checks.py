"""What is held against the committed history, as it happens and at the end.

The checkers see what leaves a node, what a core tells its host, and the coordinator's
records: nothing of how a core came to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hotseat.runtime.control_plane import (
    PinRecord,
    ReplicaRecord,
    ShardRecord,
    decode_record,
)
from hotseat.runtime.coordinator import Change
from hotseat.runtime.frame import Accepted, Created, Response, ViewUpdate
from hotseat.runtime.replication.output import Committed, Serving
from hotseat.runtime.route import Route

from .client import view_bytes, view_key
from .history import History
from .restoration import RAISER
from .violation import Violation

if TYPE_CHECKING:
    from .process import Process
    from .world import World

__all__ = ["Checks"]


class Checks:
    """Of a whole world."""

    def __init__(self, world: World, history: History) -> None:
        self._world = world
        self._history = history
        self._told: dict[tuple[str, int], int] = {}
        """By process and shard: the sequence number it was told of last."""
        self._servers: dict[tuple[int, int], str] = {}
        self._ackers: dict[tuple[int, int], str] = {}
        self._views: dict[tuple[str, int, str], bytes] = {}
        self._records: dict[int, ShardRecord] = {}
        self._changed_us: dict[int, int] = {}
        self._widest: dict[tuple[int, int], int] = {}
        """By shard and epoch: the most copies that were ever in sync."""
        self._idents = {world.keys.replica(node): "" for node in world.nodes}
        self._replicas: dict[str, ReplicaRecord] = {}
        self._pins: dict[str, PinRecord] = {}
        self._served: dict[str, None] = {}
        """The replicas that have ever served."""
        self._read_up_to = 0
        self.takeovers = 0
        self.on_ack: Callable[[Process], None] | None = None
        """A script that wants to know who acknowledges."""

    # What a core tells its host.

    def committed(self, process: Process, committed: Committed) -> None:
        """Entries are committed, as this process knows."""
        history, shard = self._history, committed.shard
        place = (process.boot, shard)
        for entry in committed.entries:
            told = self._told.get(place)
            if told is not None and entry.seq > told + 1:
                raise Violation(
                    "I3",
                    f"{process.boot} was told of {entry.seq} of shard {shard} after"
                    f" {told}",
                )
            self._told[place] = entry.seq
            if history.learn(shard, entry, process.boot):
                self._check_copies(process, shard)
                self._world.places.committed(shard, entry, process.boot)
        self._world.trace.fold(b"%d %d" % (shard, len(history.logs[shard])))

    def _check_copies(self, process: Process, shard: int) -> None:
        """An owner commits nothing in an epoch that never had enough copies."""
        epoch = process.serves.get(shard)
        if epoch is None:
            return
        copies = self._widest.get((shard, epoch), 0)
        if copies < self._world.settings.min_isr:
            raise Violation(
                "min_isr",
                f"{process.boot} commits in epoch {epoch} of shard {shard} with"
                f" {copies} copies",
            )

    def booted(self, process: Process) -> None:
        """What it found on its disk to be committed is what was committed."""
        for shard, found in process.found.shards.items():
            log = self._history.logs[shard]
            for entry in found.entries:
                if entry.seq > found.commit:
                    break
                if entry.seq > len(log) or log[entry.seq - 1] != entry:
                    raise Violation(
                        "I3",
                        f"{process.boot} found {entry.match}#{entry.index} at"
                        f" {entry.seq} of shard {shard} as committed",
                    )

    def installed(self, process: Process, shard: int) -> None:
        """It has new states: what it is told next may begin anywhere."""
        self._told.pop((process.boot, shard), None)

    def serving(self, process: Process, serving: Serving) -> None:
        """A process serves a shard in an epoch: nobody else ever does."""
        shard, epoch = serving.shard, serving.epoch
        world = self._world
        world.trace.note(f"{process.boot} serves shard {shard} in epoch {epoch}")
        self.takeovers += 1
        server = self._servers.setdefault((shard, epoch), process.boot)
        if server != process.boot:
            raise Violation(
                "I5", f"epoch {epoch} of shard {shard}: {server} and {process.boot}"
            )
        if world.ident(process.node) in world.dead_idents:
            raise Violation("I12", f"{process.boot} serves shard {shard} without data")
        log = self._history.logs[shard]
        told = max(self._told.get((process.boot, shard), 0), process.commit(shard))
        behind = [entry for entry in log[told:] if entry.epoch < epoch]
        if behind:
            raise Violation(
                "I7",
                f"{process.boot} serves shard {shard} in epoch {epoch}, told up to"
                f" {told}; {behind[-1].seq} of epoch {behind[-1].epoch} is committed",
            )

    # What leaves a node.

    def left(self, process: Process, route: Route, frame: Response) -> None:
        """An answer or a view is on its way: it may speak of what is committed."""
        if isinstance(frame, ViewUpdate):
            self._left_view(process, frame)
        elif isinstance(frame, Accepted):
            self._left_ack(process, frame)
        elif isinstance(frame, Created):
            self._must_be_committed(process, frame.match, 0, frame)
        self._world.trace.fold(type(frame).__name__.encode())

    def _left_ack(self, process: Process, frame: Accepted) -> None:
        self._must_be_committed(process, frame.match, frame.index, frame)
        match = self._history.matches[frame.match]
        record = match.records[frame.index]
        if record.revision != frame.revision:
            raise Violation("I1", f"{process.boot} says {frame}; committed is {record}")
        if self.on_ack is not None:
            self.on_ack(process)
        shard = self._world.places.of(frame.match)
        if shard not in process.serves:
            # A former owner of its home repeats what it had earned there.
            shard = match.shard
        epoch = process.serves.get(shard)
        if epoch is None:
            raise Violation("I4", f"{process.boot} says {frame} without an epoch")
        acker = self._ackers.setdefault((shard, epoch), process.boot)
        if acker != process.boot:
            raise Violation(
                "I4",
                f"{acker} and {process.boot} acknowledge in epoch {epoch} of shard"
                f" {shard}",
            )

    def _must_be_committed(
        self, process: Process, match: str, index: int, frame: Response
    ) -> None:
        known = self._history.matches.get(match)
        if known is None or index >= len(known.records):
            raise Violation("I11", f"{process.boot} says {frame}: it is not committed")

    def _left_view(self, process: Process, view: ViewUpdate) -> None:
        known = self._history.matches.get(view.match)
        if known is None or view.revision > known.revision:
            raise Violation(
                "I11",
                f"{process.boot} shows {view.match} at {view.revision}; committed is"
                f" {None if known is None else known.revision}",
            )
        shown = view_bytes(view)
        first = self._views.setdefault(view_key(view), shown)
        if first != shown and not self._world.settings.impure:
            raise Violation(
                "I10", f"{process.boot} shows something else at {view_key(view)}"
            )

    # The coordinator's records.

    def transaction(self) -> None:
        """Epochs grow by one with each change of owner, and only with it."""
        world = self._world
        store = world.coordinator.store
        found = store.changes_after(world.keys.prefix, self._read_up_to)
        self._read_up_to = store.revision
        for _, changes in found:
            for change in changes:
                world.places.changed(change)
                self._on_pin(change)
                shard = world.keys.shard_of(change.key)
                if shard is not None and change.value is None:
                    self._records.pop(shard, None)
                if shard is not None and change.value is not None:
                    record = decode_record(ShardRecord, change.key, change.value)
                    self._on_record(shard, record)
                elif change.key in self._idents and change.value is not None:
                    replica = decode_record(ReplicaRecord, change.key, change.value)
                    self._on_replica(change.key, replica)

    def _on_pin(self, change: Change) -> None:
        if self._world.keys.pin_of(change.key) is not None:
            self._pins.pop(change.key, None)
            if change.value is not None:
                pin = decode_record(PinRecord, change.key, change.value)
                self._pins[change.key] = pin

    def _on_replica(self, key: str, record: ReplicaRecord) -> None:
        """A node whose data are intact goes on as the replica that it was.

        One that has never served has promised nothing, and is none yet.
        """
        before, self._idents[key] = self._idents[key], record.ident
        self._replicas[key] = record
        if record.serving:
            self._served[record.ident] = None
        world = self._world
        durable = world.settings.durability == "disk"
        known = before in self._served and before not in world.dead_idents
        if durable and known and before != record.ident:
            raise Violation(
                "I12", f"{key} was {before}, and nothing is lost; now {record}"
            )

    def _on_record(self, shard: int, record: ShardRecord) -> None:
        place = (shard, record.epoch)
        self._widest[place] = max(self._widest.get(place, 0), len(record.isr))
        before = self._records.get(shard)
        self._records[shard] = record
        self._changed_us[shard] = self._world.scheduler.now_us
        members = ",".join(node for node, _ in record.isr)
        self._world.trace.note(
            f"record {shard}: {record.owner} epoch {record.epoch} isr {members}"
            f" claim {record.claim}"
        )
        self._world.nemesis.record_changed(shard, record)
        if before is None or (record.owner, record.epoch) == (
            before.owner,
            before.epoch,
        ):
            return
        raised = record.claim.startswith(f"{RAISER}.")
        if record.epoch != before.epoch + 1 and not raised:
            raise Violation("I5", f"shard {shard}: {before} became {record}")

    def restored(self) -> None:
        """The coordinator is what it was: no transaction says so."""
        self._read_up_to = self._world.coordinator.store.revision

    def records(self) -> list[tuple[int, ShardRecord]]:
        """The newest record that each shard ever had."""
        return sorted(self._records.items())

    def pins(self) -> list[tuple[str, PinRecord]]:
        """By key: the pins that are, if nothing went back."""
        return sorted(self._pins.items())

    def replicas(self) -> list[tuple[str, ReplicaRecord]]:
        """By key: the newest record that each node's replica ever had."""
        return sorted(self._replicas.items())

    def record(self, shard: int) -> ShardRecord | None:
        """The newest record of a shard."""
        return self._records.get(shard)

    def changed_us(self, shard: int) -> int:
        """When its record was written last."""
        return self._changed_us[shard]
