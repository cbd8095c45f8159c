"""A whole cluster and its players, in one process, from one seed.

First the faults, for `faults_ms`; then everything is mended and the world is left in
peace for `quiet_ms`, in which every match must get on.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass

from hotseat.runtime.control_plane import (
    ClusterRecord,
    Keys,
    ReplicaRecord,
    decode_record,
    encode_record,
)
from hotseat.runtime.coordinator import ABSENT, Write
from hotseat.runtime.placement import initial_layout
from hotseat.runtime.replication.message import Raw

from .account import Account
from .checks import Checks
from .client import Player
from .coordinator import CoordinatorModel
from .disk import Disk
from .final import check_final
from .history import Committed, History
from .interventions import Intervener
from .nemesis import Nemesis
from .network import Network
from .pins import Pinner, Places
from .process import HostedMatches, Process
from .restoration import Restoration
from .scheduler import MS, Scheduler
from .settings import Settings
from .trace import Trace
from .violation import Violation

__all__ = ["Hosting", "Outcome", "World", "run_world"]

START_AGAIN_MS = 300
"""After a process could not start."""


@dataclass(frozen=True)
class Hosting:
    """What stands behind the cores: the product's matches, or the toy ones."""

    name: str
    make: Callable[[Process], HostedMatches]
    read: Callable[[Raw], Committed]
    games_of: Callable[[Settings, str], tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Outcome:
    """What came of a seed."""

    seed: int
    digest: str
    violation: str
    counts: dict[str, int]
    acks: int
    takeovers: int
    steps: int

    def summary(self) -> str:
        """One line."""
        verdict = f"FAILED {self.violation}" if self.violation else "ok"
        return (
            f"seed {self.seed} trace {self.digest} acks {self.acks} takeovers"
            f" {self.takeovers} steps {self.steps} {verdict}"
        )


class World:
    """One cluster's life."""

    def __init__(
        self, settings: Settings, hosting: Hosting, *, show: bool = False
    ) -> None:
        self.settings = settings
        self.hosting = hosting
        self.scheduler = Scheduler()
        self.trace = Trace(self.scheduler, show=show)
        self.trace.note(f"{settings}")
        self.nodes = [f"n{number + 1}" for number in range(settings.nodes)]
        self.keys = Keys("sim")
        self.cluster = ClusterRecord(
            cluster="sim",
            shards=settings.shards,
            nodes=tuple(self.nodes),
            copies=settings.copies,
            min_isr=settings.min_isr,
            durability=settings.durability,
        )
        self.layout = initial_layout(settings.shards, self.nodes, settings.copies)
        self.network = Network(self.scheduler, self.trace, settings, self.nodes)
        self.coordinator = CoordinatorModel(
            self.scheduler, self.trace, settings, self.network, self.keys.prefix
        )
        self.disks = {
            node: Disk(self.scheduler, self.trace, settings, node)
            for node in self.nodes
        }
        self.history = History(hosting.read)
        self.places = Places(self, self.history)
        self.account = Account(self, self.history)
        self.checks = Checks(self, self.history)
        self.coordinator.store.listen(self.checks.transaction)
        self.clock_jumps_ms: dict[str, int] = {}
        self.dead_idents: dict[str, None] = {}
        self.healed = False
        self._boots = 0
        self._held: dict[str, str] = {}
        """By node: the replica that its data were when its process died last."""
        self._lied: dict[str, None] = {}
        """Nodes that a disk has lied to, and that have not started since."""
        self.restoration = Restoration(self)
        self.nemesis = Nemesis(self)
        cluster = Write(self.keys.cfg, ABSENT, encode_record(self.cluster))
        self.coordinator.store.apply([cluster])
        self.players: list[Player] = []

    def make_host(self, process: Process) -> HostedMatches:
        return self.hosting.make(process)

    def games_of(self, node: str) -> tuple[tuple[str, str], ...]:
        """(name, version) of what a node can play."""
        return self.hosting.games_of(self.settings, node)

    # Its life.

    def run(self, script: Callable[[World], None] | None = None) -> None:
        """From the first boot to the last check.

        Raises:
            Violation: A promise was broken.
        """
        settings, scheduler = self.settings, self.scheduler
        for node in self.nodes:
            self.start(node)
        self.players = [Player(self, number) for number in range(settings.players)]
        self.network.clients.update({p.name: p for p in self.players})
        if script is not None:
            script(self)
        scheduler.after(1_000 * MS, self.nemesis.begin)
        Pinner(self).begin()
        intervener = Intervener(self)
        intervener.begin()
        scheduler.run(settings.faults_ms * MS)
        self.heal()
        scheduler.run((settings.faults_ms + settings.quiet_ms) * MS)
        check_final(self)
        intervener.check()

    def start(self, node: str) -> Process:
        """Boot a node."""
        if node in self._lied:
            del self._lied[node]
            # A write of the replica that died may have landed only since.
            self.data_lost(node, older=True)
        self._boots += 1
        boot = f"{node}-{self._boots}"
        self.trace.note(f"{boot} starts")
        process = Process(self, node, boot)
        self.network.processes[node] = process
        self.checks.booted(process)
        return process

    def restart(self, node: str) -> None:
        """Boot a node again, unless it runs."""
        if self.network.processes[node].alive:
            return
        if self.disks[node].usable and not self.restoration.mending:
            self.start(node)
        else:
            self.scheduler.after(START_AGAIN_MS * MS, self.restart, node)

    def kill(self, process: Process, *, vanish: bool = False) -> None:
        """End a process; `vanish`: and its machine, at once."""
        process.die()
        process.vanished = vanish
        disk = self.disks[process.node]
        self._held[process.node] = disk.store.identity.ident
        lied = disk.crash(power_failed=vanish)
        if self.settings.durability == "memory" and (lied or not disk.sealed):
            self.dead_idents[process.core.ident or process.boot] = None
        if lied:
            self._lied_to(process.node)
            self._lied[process.node] = None
        self.network.died(process.node, silently=vanish)

    def stopped(self, process: Process, restart_ms: int) -> None:
        """A process that was told to stop has ended; its node starts again later."""
        self.trace.note(f"{process.boot} has stopped")
        self.kill(process)
        delay_ms = 0 if self.healed else restart_ms
        self.scheduler.after(delay_ms * MS, self.restart, process.node)

    def _lied_to(self, node: str) -> None:
        """Its disk had said that it has synced what is gone now.

        Data that are older than the boot that they claim cannot be told from the truth
        by anybody: the journal must find such a hole by itself. Older boots can.
        """
        disk = self.disks[node].store
        if disk.identity.boot == self.boot_recorded(node):
            disk.damage()
            self.data_lost(node)
        else:
            self.data_lost(node, older=True)

    def heal(self) -> None:
        """All faults end."""
        self.trace.note("heal")
        self.healed = True
        self.nemesis.stop()
        self.restoration.finish()
        self.nemesis.drains.end()
        self.network.heal()
        self.coordinator.heal()
        for disk in self.disks.values():
            disk.heal()
        for player in self.players:
            player.storm = False
        for node, process in self.network.processes.items():
            process.lag_us = 0
            if not process.alive:
                self.restart(node)
            elif process.paused:
                process.wake()

    # What is known from outside.

    def shards(self) -> list[int]:
        """The fixed ones, and those of pinned matches."""
        return [*range(self.settings.shards), *sorted(self.places.pins.values())]

    def owner(self, shard: int) -> Process | None:
        """The process that the record names, if it lives."""
        record = self.checks.record(shard)
        if record is None or record.owner is None:
            return None
        process = self.network.processes[record.owner]
        return process if process.alive else None

    def boot_recorded(self, node: str) -> int:
        """How often a node's data have served, by the coordinator."""
        record = self._replica(node)
        return 0 if record is None else record.boot

    def ident(self, node: str) -> str:
        """The replica that a node's data were last known to be."""
        record = self._replica(node)
        return "" if record is None else record.ident

    def _replica(self, node: str) -> ReplicaRecord | None:
        key = self.keys.replica(node)
        for entry in self.coordinator.store.list(key).entries:
            if entry.key == key:
                return decode_record(ReplicaRecord, key, entry.value)
        return None

    def data_lost(self, node: str, *, older: bool = False) -> None:
        """What the node has held is gone: that replica is no more.

        `older`: its disk holds what it held before. That is a loss only if a process
        has served since.
        """
        record = self._replica(node)
        if record is None:
            return
        held = self.disks[node].store.identity
        intended = not record.serving and record.nonce == held.nonce != ""
        same = held.ident == record.ident and (held.boot == record.boot or intended)
        if older and same:
            return
        # A new identity may be on its way into the record.
        for ident in (record.ident, self._held.get(node, record.ident)):
            self.trace.note(f"{node} has lost {ident}")
            self.dead_idents[ident] = None

    def would_lose(self, process: Process) -> bool:
        """Whether some shard has no other copy than this process's."""
        for shard in self.shards():
            record = self.checks.record(shard)
            if record is None or record.owner is None:
                continue
            others = [
                ident
                for node, ident in record.isr
                if node != process.node and ident not in self.dead_idents
            ]
            if not others:
                return True
        return False

    def lost_shards(self) -> list[int]:
        """Shards of which no replica that held everything is left."""
        lost = []
        for shard in self.shards():
            record = self.checks.record(shard)
            if record is None or record.owner is None:
                continue
            if all(ident in self.dead_idents for _, ident in record.isr):
                lost.append(shard)
        return lost


def run_world(
    settings: Settings,
    hosting: Hosting,
    *,
    script: Callable[[World], None] | None = None,
    show: bool = False,
    raises: bool = False,
) -> Outcome:
    """Live through a seed.

    Raises:
        Violation: Only if `raises`.
    """
    violation = ""
    gc.disable()
    world = World(settings, hosting, show=show)
    try:
        world.run(script)
    except Exception as error:  # what the product raises is a broken promise too
        if raises:
            raise
        prefix = "" if isinstance(error, Violation) else f"{type(error).__name__}: "
        violation = f"{prefix}{error}"
        world.trace.note(f"VIOLATION {violation}")
    finally:
        world.scheduler.clear()
        gc.enable()
    return Outcome(
        settings.seed,
        world.trace.digest(),
        violation,
        dict(world.trace.counts),
        world.account.acks,
        world.checks.takeovers,
        world.scheduler.steps,
    )
