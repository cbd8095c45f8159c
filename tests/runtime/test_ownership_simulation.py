"""Several claims cores over one store, with every fault, from a seed.

A plain event heap drives the cores: no async library, no clock. The oracle knows the
store's whole history and what each core said that it serves, and nothing else.
Replay a failure with `Simulation(seed).run()`.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec
import pytest

from hotseat.runtime.control_plane import (
    Keys,
    ShardRecord,
    decode_record,
    encode_record,
)
from hotseat.runtime.coordinator import (
    CasConflict,
    CasOutcome,
    CasUnknown,
    Change,
    Listing,
    Write,
)
from hotseat.runtime.errors import WatchCompacted
from hotseat.runtime.ownership import Ownership
from hotseat.runtime.ownership_output import CasRequest, Output
from hotseat.runtime.placement import initial_layout
from hotseat.runtime.testing.memory_store import MemoryStore

KEYS = Keys("sim")
NODES = ("n1", "n2", "n3")
SHARDS = 5
FAULTS_MS = 20_000
QUIET_MS = 30_000
"""After the faults: longer than the longest back-off and the latest late request."""

LATE_MS_MAX = 8_000

MakeCore = Callable[[Keys, str, str, Sequence[tuple[str, ...]]], Ownership]


@dataclass
class Process:
    """One boot of one node: a core, its watch's position, what it says it serves."""

    node: str
    boot: str
    core: Ownership
    watch: int | None = None  # revision given to the core; None: list first
    listing: bool = False
    alive: bool = True
    paused: bool = False
    reaches: bool = True
    serves: dict[int, int] = field(default_factory=dict)
    inbox: list[Callable[[], None]] = field(default_factory=list)  # while paused


class Simulation:
    """A cluster's life of 50 s: faults first, then quiet."""

    def __init__(
        self,
        seed: int,
        make_core: MakeCore = Ownership,
        land: Callable[[MemoryStore, Sequence[Write]], CasOutcome] = MemoryStore.apply,
    ) -> None:
        self.random = random.Random(seed)
        self.rates = {
            name: self.random.choice([0.0, 0.1, 0.4])
            for name in ("lost", "answer_lost", "late", "slow")
        }
        self.make_core = make_core
        self.land = land
        self.store = MemoryStore(kept_transactions=self.random.choice([3, 1000]))
        self.now_ms = 0
        self.heap: list[tuple[int, int, Callable[[], None]]] = []
        self.scheduled = 0
        self.boots = 0
        self.processes: list[Process] = []
        self.records: dict[int, ShardRecord] = {}
        self.claimants: dict[tuple[int, int], str] = {}  # (shard, epoch) -> boot
        self.adopters: dict[tuple[int, int], str] = {}
        self.read_up_to = 0
        self.store.listen(self.on_transaction)

    def run(self) -> Simulation:
        for node in NODES:
            self.start(node)
        for at_ms in range(500, FAULTS_MS, 500):
            self.at(at_ms, self.nemesis)
        self.at(FAULTS_MS, self.heal)
        while self.heap and self.heap[0][0] <= FAULTS_MS + QUIET_MS:
            self.now_ms, _, step = heapq.heappop(self.heap)
            step()
        self.check_progress()
        return self

    # The world.

    def at(self, at_ms: int, step: Callable[[], None]) -> None:
        self.scheduled += 1
        heapq.heappush(self.heap, (at_ms, self.scheduled, step))

    def soon(self, step: Callable[[], None]) -> None:
        slow = self.faulty and self.random.random() < self.rates["slow"]
        self.at(self.now_ms + self.random.randint(1, 900 if slow else 20), step)

    @property
    def faulty(self) -> bool:
        return self.now_ms < FAULTS_MS

    def start(self, node: str) -> None:
        self.boots += 1
        boot = f"{node}-{self.boots}"
        layout = initial_layout(SHARDS, NODES, 2)
        process = Process(node, boot, self.make_core(KEYS, node, boot, layout))
        self.processes.append(process)
        self.turn(process)

    def to(self, process: Process, call: Callable[[], Output]) -> None:
        """Give the core something, now or when it wakes; do what it says."""

        def step() -> None:
            if process.alive:
                self.obey(process, call())

        if process.paused:
            process.inbox.append(step)
        else:
            step()

    def obey(self, process: Process, output: Output) -> None:
        for shard, epoch in output.released:
            assert process.serves.pop(shard) == epoch
        for shard, epoch in output.adopted:
            self.check_adoption(process, shard, epoch)
            process.serves[shard] = epoch
        assert process.serves == process.core.serving()
        for request in output.requests:
            self.send(process, request)
        if output.list_again:
            self.read(process)
        if output.timer_ms is not None:
            self.at(
                max(output.timer_ms, self.now_ms + 1),
                lambda: self.to(process, lambda: process.core.tick(self.now_ms)),
            )

    def turn(self, process: Process) -> None:
        """The shell's own rhythm: read the watch often, list every second."""
        if not process.alive:
            return
        if process.watch is None or self.random.random() < 0.05:
            self.read(process)
        else:
            self.deliver(process)
        self.at(self.now_ms + self.random.randint(20, 80), lambda: self.turn(process))

    def deliver(self, process: Process) -> None:
        if not process.reaches or process.paused or process.watch is None:
            return
        try:
            found = self.store.changes_after(KEYS.prefix, process.watch)
        except WatchCompacted:
            process.watch = None
            return
        for revision, changes in found:
            process.watch = revision
            self.obey(process, process.core.changed(changes, self.now_ms))
            self.check_release(process, changes)

    def read(self, process: Process) -> None:
        if process.listing or process.paused or not process.reaches:
            return
        process.listing = True
        asked_at = process.core.revision

        def arrive(listing: Listing) -> Output:
            process.listing = False
            if process.watch is None:
                process.watch = listing.revision
            return process.core.listing(listing, asked_at, self.now_ms)

        def answer() -> None:
            listing = self.store.list(KEYS.prefix)
            self.soon(lambda: self.to(process, lambda: arrive(listing)))

        self.soon(answer)

    def send(self, process: Process, request: CasRequest) -> None:
        def answer(outcome: CasOutcome) -> None:
            self.to(
                process,
                lambda: process.core.answered(request.id, outcome, self.now_ms),
            )

        def unknown() -> None:
            answer(CasUnknown("simulated"))

        def arrive() -> None:
            outcome = self.land(self.store, request.writes)
            self.soon(lambda: answer(outcome))

        def arrive_silently() -> None:
            self.land(self.store, request.writes)

        fate = self.random.random()
        lost, answer_lost, late = (
            self.rates[name] if self.faulty else 0.0
            for name in ("lost", "answer_lost", "late")
        )
        if not process.reaches or fate < lost:
            self.soon(unknown)
        elif fate < lost + answer_lost:
            self.soon(arrive_silently)
            self.soon(unknown)
        elif fate < lost + answer_lost + late:
            self.soon(unknown)
            self.at(self.now_ms + self.random.randint(1, LATE_MS_MAX), arrive_silently)
        else:
            self.soon(arrive)

    # The faults.

    def nemesis(self) -> None:
        fault = self.random.choice(
            [self.crash, self.pause, self.double, self.cut, self.edit, self.give]
        )
        if self.living():
            fault()

    def living(self) -> list[Process]:
        return [process for process in self.processes if process.alive]

    def crash(self) -> None:
        """A process dies; its node is started again."""
        process = self.random.choice(self.living())
        if self.is_doubled(process):
            return
        process.alive = False
        self.at(
            self.now_ms + self.random.randint(1, 3000),
            lambda: self.start(process.node),
        )

    def is_doubled(self, process: Process) -> bool:
        return sum(other.node == process.node for other in self.living()) > 1

    def pause(self) -> None:
        """A process stands still, and wakes to news of long ago."""
        process = self.random.choice(self.living())
        process.paused = True
        self.at(self.now_ms + self.random.randint(1, 5000), lambda: self.wake(process))

    def wake(self, process: Process) -> None:
        process.paused = False
        inbox, process.inbox = process.inbox, []
        for step in inbox:
            step()

    def double(self) -> None:
        """A node is started again while its paused process is believed dead.

        When the old one wakes it finds another boot registered, and stands down.
        """
        process = self.random.choice(self.living())
        if self.is_doubled(process):
            return
        process.paused = True
        self.start(process.node)

        def find_out() -> None:
            self.wake(process)
            self.at(
                self.now_ms + self.random.randint(1, 2000),
                lambda: self.to(process, process.core.stand_down),
            )
            self.at(self.now_ms + 2001, lambda: setattr(process, "alive", False))

        self.at(self.now_ms + self.random.randint(1, 3000), find_out)

    def cut(self) -> None:
        """A process cannot reach the coordinator for a while."""
        process = self.random.choice(self.living())
        process.reaches = False
        self.at(
            self.now_ms + self.random.randint(1, 3000),
            lambda: setattr(process, "reaches", True),
        )

    def edit(self) -> None:
        """An operator changes who should own a shard."""
        want = self.random.sample(NODES, 2)
        self.edit_record(lambda record: {"want": tuple(want)})

    def give(self) -> None:
        """An operator names another owner, above the epoch of the present one."""
        to = self.random.choice(NODES)
        self.edit_record(
            lambda record: {"owner": to, "epoch": record.epoch + 1, "want": (to,)}
        )

    def edit_record(self, change: Callable[[ShardRecord], dict[str, object]]) -> None:
        shard = self.random.randrange(SHARDS)
        for entry in self.store.list(KEYS.prefix).entries:
            if entry.key == KEYS.shard(shard):
                record = decode_record(ShardRecord, entry.key, entry.value)
                changes = change(record) | {"claim": f"operator.{self.now_ms}"}
                value = encode_record(msgspec.structs.replace(record, **changes))
                self.store.apply([Write(entry.key, entry.revision, value)])

    def heal(self) -> None:
        for process in self.living():
            process.reaches = True

    # The oracle.

    def on_transaction(self) -> None:
        """Epochs grow by one with every claim, and only then."""
        found = self.store.changes_after(KEYS.prefix, self.read_up_to)
        self.read_up_to = self.store.revision
        for change in [change for _, changes in found for change in changes]:
            shard = KEYS.shard_of(change.key)
            assert shard is not None
            assert change.value is not None
            record = decode_record(ShardRecord, change.key, change.value)
            before = self.records.get(shard)
            self.records[shard] = record
            if before is None:
                assert record.epoch == 0, (shard, record)
                continue
            if (record.owner, record.epoch) == (before.owner, before.epoch):
                continue
            assert record.epoch == before.epoch + 1, (shard, before, record)
            self.claimants[shard, record.epoch] = record.claim.split(".")[0]

    def check_adoption(self, process: Process, shard: int, epoch: int) -> None:
        """An epoch is served by the process whose claim made it, from then on, once."""
        claimant = self.claimants.get((shard, epoch))
        assert claimant == process.boot, (process.boot, shard, epoch, claimant)
        adopter = self.adopters.setdefault((shard, epoch), process.boot)
        assert adopter == process.boot, (process.boot, shard, epoch, adopter)
        assert process.serves.get(shard) is None, (process.boot, shard, epoch)

    def check_release(self, process: Process, changes: Sequence[Change]) -> None:
        """Having read of another owner or epoch, a process does not serve on."""
        for change in changes:
            shard = KEYS.shard_of(change.key)
            if shard is None or change.value is None or shard not in process.serves:
                continue
            record = decode_record(ShardRecord, change.key, change.value)
            assert record.epoch <= process.serves[shard], (process.boot, record)

    def check_progress(self) -> None:
        """Long after the faults, each shard is served by its owner, and no other."""
        assert len(self.records) == SHARDS
        for shard, record in self.records.items():
            servers = [
                (process.node, process.serves[shard])
                for process in self.living()
                if shard in process.serves
            ]
            assert servers == [(record.owner, record.epoch)], (shard, record, servers)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_no_epoch_is_served_twice_and_all_are_served_in_the_end(first: int) -> None:
    """Whatever goes wrong, one owner per epoch; when it stops, every shard is owned."""
    adoptions = claims = 0
    for seed in range(first, first + 50):
        try:
            simulation = Simulation(seed).run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        adoptions += len(simulation.adopters)
        claims += len(simulation.claimants)
    assert claims > adoptions > 50 * SHARDS  # faults bite, and are survived


def test_a_seed_is_one_run() -> None:
    """The same seed gives the same life, to the last claim."""
    one, two = Simulation(7).run(), Simulation(7).run()
    assert one.claimants == two.claimants
    assert one.scheduled == two.scheduled


# Mutants: each is a bug that is easily written. A seed among the first few catches it.


class UnknownTakenAsDone(Ownership):
    """Adopts when the outcome is unknown."""

    def _on_unknown(self, number: int, write: Write) -> None:
        super()._on_unknown(number, write)
        assert write.value is not None
        shard = self._shards[number]
        record = decode_record(ShardRecord, write.key, write.value)
        if record.owner == self._node and record.epoch > shard.epoch_seen:
            shard.record, shard.epoch_seen = record, record.epoch
            self._adopt(number, record.epoch)


class OldReadingTakenAsFailure(Ownership):
    """After an unknown outcome it reads the old revision and gives the claim up."""

    def listing(self, listing: Listing, asked_at: int, now_ms: int) -> Output:
        for shard in self._shards:
            if shard.unknowns:
                shard.retry_at_ms, shard.unknowns = 10**9, 0
        return super().listing(listing, asked_at, now_ms)


class OldReadingTakenAsSuccess(Ownership):
    """After an unknown claim it reads its own name, in the old record, as success."""

    def listing(self, listing: Listing, asked_at: int, now_ms: int) -> Output:
        for entry in listing.entries:
            number = KEYS.shard_of(entry.key)
            assert number is not None
            shard = self._shards[number]
            record = decode_record(ShardRecord, entry.key, entry.value)
            if (
                shard.unknowns
                and entry.revision == shard.revision
                and record.owner == self._node
                and shard.serving is None
                and record.epoch > shard.adopted
            ):
                self._adopt(number, record.epoch)
        return super().listing(listing, asked_at, now_ms)


class RestartResumesTheEpoch(Ownership):
    """Takes any record with its node's name for its own claim."""

    def _is_own_claim(self, record: ShardRecord) -> bool:
        return record.owner == self._node


class ClaimKeepsTheEpoch(Ownership):
    """A restart claims under a new nonce, in the old epoch."""

    def _claim_of(self, number: int) -> Write:
        write = super()._claim_of(number)
        assert write.value is not None
        record = decode_record(ShardRecord, write.key, write.value)
        if record.epoch < 2:
            return write
        record = msgspec.structs.replace(record, epoch=record.epoch - 1)
        return Write(write.key, write.expected, encode_record(record))


class ReleasesLate(Ownership):
    """Goes on serving when a record names another owner."""

    def _release(self, number: int) -> None:
        pass

    def check(self) -> None:
        pass


class ForgetsConflicts(Ownership):
    """Takes a conflict for the end of the matter."""

    def _on_conflict(self, number: int, write: Write, moved: bool) -> None:
        self._shards[number].retry_at_ms = 10**9


def put(store: MemoryStore, writes: Sequence[Write]) -> CasOutcome:
    """Writes without comparing."""
    revisions = {entry.key: entry.revision for entry in store.list("").entries}
    outcome = store.apply(
        [Write(w.key, revisions.get(w.key, 0), w.value) for w in writes]
    )
    assert not isinstance(outcome, CasConflict)
    return outcome


def catching_seed(make: Callable[[int], Simulation]) -> int | None:
    for seed in range(40):
        try:
            make(seed).run()
        except (AssertionError, KeyError):
            return seed
    return None


@pytest.mark.parametrize(
    "mutant",
    [
        UnknownTakenAsDone,
        OldReadingTakenAsFailure,
        OldReadingTakenAsSuccess,
        RestartResumesTheEpoch,
        ClaimKeepsTheEpoch,
        ReleasesLate,
        ForgetsConflicts,
    ],
)
def test_mutants_are_caught(mutant: MakeCore) -> None:
    """A core that breaks a rule is found out by the oracle within 40 seeds."""
    assert catching_seed(lambda seed: Simulation(seed, mutant)) is not None


def test_a_put_in_place_of_the_compare_and_swap_is_caught() -> None:
    """A store that does not compare revisions is found out as well."""
    assert catching_seed(lambda seed: Simulation(seed, land=put)) is not None
