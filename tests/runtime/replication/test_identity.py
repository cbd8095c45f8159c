"""The boot protocol: the same data keep their identity, whatever a boot ran into."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from hotseat.runtime.control_plane import (
    Keys,
    ReplicaRecord,
    decode_record,
    encode_record,
)
from hotseat.runtime.coordinator import ABSENT, CasUnknown, Write
from hotseat.runtime.replication.identity import Identity, Stage
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.output import IdentityKept
from hotseat.runtime.replication.recovered import Recovered
from hotseat.runtime.testing.memory_store import MemoryStore

KEY = Keys("test").replica("n1")
OPTIONS = ReplicationOptions()
NOTHING = IdentityKept("", 0, "")


@dataclass
class Machine:
    """A node's disk, the coordinator, and one process after another."""

    durable: bool = True
    store: MemoryStore = field(default_factory=MemoryStore)
    disk: IdentityKept = NOTHING
    late: list[Write] = field(default_factory=list)
    now_ms: int = 0
    processes: count[int] = field(default_factory=count)

    def start(self) -> Identity:
        """A new process reads the disk and the record."""
        found = Recovered(self.disk.ident, self.disk.boot, self.disk.nonce)
        self.process = Identity(
            KEY,
            f"p{next(self.processes)}",
            durable=self.durable,
            recovered=found,
            options=OPTIONS,
        )
        self.read()
        return self.process

    def read(self) -> None:
        """A linearizable reading of the record."""
        listing = self.store.list(KEY)
        if listing.entries:
            (entry,) = listing.entries
            self.process.observe(entry.revision, entry.value)
        else:
            self.process.observe(listing.revision, None)

    def step(self, fate: str = "ok") -> bool:
        """The process's next operation, with this fate; False if it has none."""
        op = self.process.take_op()
        if op is not None:
            if fate == "crash before":
                return self.crash()
            self.disk = op
            if fate == "crash after":
                return self.crash()
            self.process.persisted()
            return True
        self.now_ms += OPTIONS.cas_pause_ms_max
        write = self.process.next_write(self.now_ms)
        if write is None:
            return False
        if fate in ("late", "crash before"):
            self.late.append(write)
        if fate in ("ok", "unknown", "crash after"):
            outcome = self.store.apply([write])
            if fate == "ok":
                self.process.answered(write, outcome, self.now_ms)
                self.read()
                return True
        if fate.startswith("crash"):
            return self.crash()
        self.process.answered(write, CasUnknown("test"), self.now_ms)
        self.read()
        return True

    def crash(self) -> bool:
        self.start()
        return True

    def land_late(self) -> None:
        """A request that was thought lost reaches the store."""
        if self.late:
            self.store.apply([self.late.pop(0)])

    def run(self) -> Identity:
        """To the end, without faults."""
        while self.step():
            pass
        return self.process

    def record(self) -> ReplicaRecord:
        (entry,) = self.store.list(KEY).entries
        return decode_record(ReplicaRecord, KEY, entry.value)


def opened(machine: Machine) -> str:
    """Start, run to the end; the identity."""
    machine.start()
    process = machine.run()
    assert process.open, process.stage
    assert machine.record().serving
    if machine.durable:
        assert (machine.disk.ident, machine.disk.boot) == (process.ident, process.boot)
    return process.ident


def test_a_first_start_and_a_restart() -> None:
    """New data get an identity; after a restart it is the same, one boot later."""
    machine = Machine()
    first = opened(machine)
    assert machine.process.boot == 1
    assert opened(machine) == first
    assert machine.process.boot == 2


def test_it_serves_only_after_every_step() -> None:
    """Intent durable, claim, boot count durable, opening: in this order."""
    machine = Machine()
    process = machine.start()
    seen = [process.stage]
    while machine.step():
        seen.append(process.stage)
    assert seen == [
        Stage.INTENDING,
        Stage.CLAIMING,
        Stage.KEEPING,
        Stage.OPENING,
        Stage.OPEN,
    ]


FATES = ("ok", "unknown", "lost", "late", "crash before", "crash after", "land late")


@given(st.lists(st.sampled_from(FATES), max_size=40))
def test_intact_data_keep_their_identity(fates: list[str]) -> None:
    """Crashes anywhere, lost answers and late requests never make them strangers."""
    machine = Machine()
    ident = opened(machine)
    boot = machine.process.boot
    machine.start()
    for fate in fates:
        if fate == "land late":
            machine.land_late()
            machine.read()
        else:
            machine.step(fate)
        assert machine.process.stage is not Stage.TAKEN, machine.record()
    process = machine.run()
    assert process.open, process.stage
    assert process.ident == machine.record().ident == ident
    assert process.boot > boot or not fates


@given(st.lists(st.sampled_from(FATES), max_size=30))
def test_data_from_an_earlier_boot_are_strangers(fates: list[str]) -> None:
    """A copy of the data, put back after a later boot has served, is a new replica."""
    machine = Machine()
    opened(machine)
    machine.start()
    images = [machine.disk]
    for fate in fates:
        machine.land_late() if fate == "land late" else machine.step(fate)
        if not machine.process.open:
            images.append(machine.disk)
    machine.start()
    ident = machine.run().ident
    served = machine.record().boot
    for image in images:
        if image.boot < served:
            machine.disk = image
            machine.start()
            assert machine.process.ident != ident


def test_data_with_losses_are_strangers() -> None:
    """Recovery that found a loss names no identity, so a new one is drawn."""
    machine = Machine()
    first = opened(machine)
    machine.disk = IdentityKept("", 0, "")
    second = opened(machine)
    assert second != first
    assert machine.record().boot == machine.process.boot == 2
    assert opened(machine) == second


def test_in_memory_each_process_is_its_own_replica() -> None:
    """Nothing is persisted; the record follows the process."""
    machine = Machine(durable=False)
    idents = [opened(machine) for _ in range(3)]
    assert idents == ["p0", "p1", "p2"]
    assert machine.disk == IdentityKept("", 0, "")
    assert machine.record().boot == 3


def test_in_memory_a_late_request_of_an_earlier_process_is_overwritten() -> None:
    """It may have landed meanwhile; the newest process has the last word."""
    machine = Machine(durable=False)
    machine.start()
    machine.step("late")
    machine.start()
    machine.land_late()
    assert machine.run().open
    assert machine.record().ident == "p1"


def test_sealed_data_keep_their_identity_once() -> None:
    """A clean stop without durability; a copy that is put back later is a stranger."""
    machine = Machine(durable=False)
    first = opened(machine)
    sealed = IdentityKept(first, machine.process.boot, "")
    machine.disk = sealed
    assert opened(machine) == first
    assert machine.process.boot == 2
    assert opened(machine) != first


def test_another_process_with_this_identity_ends_it() -> None:
    """Two processes on one node's name: the older one serves nothing more."""
    machine = Machine()
    opened(machine)
    (entry,) = machine.store.list(KEY).entries
    other = ReplicaRecord(ident="x", boot=9, nonce="other.1", serving=True)
    machine.store.apply([Write(KEY, entry.revision, encode_record(other))])
    machine.read()
    assert machine.process.stage is Stage.TAKEN
    assert [a.code for a in machine.process.take_alarms()] == ["identity_taken"]


def test_a_record_that_cannot_be_read_is_an_alarm() -> None:
    """It is not overwritten: a newer version may have written it."""
    machine = Machine()
    machine.store.apply([Write(KEY, ABSENT, b'{"schema": 99}')])
    machine.start()
    assert not machine.step()
    (alarm,) = machine.process.take_alarms()
    assert alarm.code == "control_record_invalid"


def test_a_failed_disk_is_tried_again() -> None:
    """What could not be persisted is asked for again."""
    machine = Machine()
    process = machine.start()
    op = process.take_op()
    process.persist_failed()
    assert not process.open
    assert process.take_op() == op


def gone_back() -> tuple[Machine, str]:
    """The record is of the first start, the data are of the second."""
    machine = Machine()
    machine.start()
    machine.run()
    backup = machine.store.image()
    machine.start()
    ident = machine.run().ident
    machine.store.restore(backup)
    machine.start()
    assert not machine.run().open
    assert [alarm.code for alarm in machine.process.take_alarms()] == [
        "coordinator_went_back"
    ]
    return machine, ident


@given(st.lists(st.sampled_from(["ok", "unknown", "late", "crash after"]), max_size=4))
def test_an_operator_vouches_for_data_that_are_newer_than_the_record(
    fates: list[str],
) -> None:
    """They keep their identity, and count on from their own boot. A process that died
    of it is told once more."""
    machine, ident = gone_back()
    assert machine.process.waits
    machine.process.trust()
    assert not machine.process.waits
    for fate in fates:
        machine.step(fate)
        machine.process.trust()
    machine.land_late()
    machine.read()
    machine.process.trust()
    assert machine.run().open
    assert machine.process.ident == machine.record().ident == ident
    assert machine.record().boot > 2
    assert machine.start().ident
    assert machine.run().ident == ident


def test_only_who_waits_for_it_is_trusted() -> None:
    """A copy of the data that is older than the record stays a new replica."""
    machine = Machine()
    machine.start()
    machine.run()
    old = machine.disk
    machine.start()
    ident = machine.run().ident
    machine.disk = old
    process = machine.start()
    process.trust()
    assert machine.run().ident != ident


def test_data_that_are_newer_than_the_record_wait_for_an_operator() -> None:
    """The coordinator was restored: these data are the ones, whatever it says."""
    machine, ident = gone_back()
    record = ReplicaRecord(ident=ident, boot=2, nonce="by hand", serving=True)
    held = machine.store.list(KEY).entries[0].revision
    machine.store.apply([Write(KEY, held, encode_record(record))])
    machine.read()
    assert machine.run().open
    assert (machine.process.ident, machine.record().boot) == (ident, 3)
