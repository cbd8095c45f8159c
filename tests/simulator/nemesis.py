"""Strikes at times of its choice, with what the seed has enabled.

Every stroke undoes itself after a while; `heal` undoes all that is left. What it may
do is in `settings.FAULTS`, a method each.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from hotseat.runtime.control_plane import ShardRecord

from .drains import Drains
from .network import COORDINATOR
from .operators import Operator
from .process import Process
from .scheduler import MS

if TYPE_CHECKING:
    from .world import World

__all__ = ["Nemesis"]

RESTART_MS = (50, 50, 300, 1_000, 2_500, 5_000)

LAST_COPY_SPARED = 0.97
"""How often a crash that would take the last copy of a shard is not done: a world
whose shards are lost shows nothing more."""


class Nemesis:
    """Its own draws, so that a scenario can call its strokes as well."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._draw = random.Random(f"nemesis {world.settings.seed}")
        self._over = False
        self._ambushes = 0
        self.on_record: Callable[[ShardRecord], None] | None = None
        """A script that wants to know what is written."""
        self._names = list(world.settings.faults)
        self._weights = list(world.settings.faults.values())
        self.operator = Operator(world, self._draw)
        self.drains = Drains(world, self._draw)

    def begin(self) -> None:
        """Strike until `stop`."""
        if self._names:
            self._later()

    def stop(self) -> None:
        """Strike no more, and mend nothing: somebody else mends it all."""
        self._over = True

    def _later(self) -> None:
        mean_ms = self._world.settings.between_ms
        delay_ms = min(self._draw.expovariate(1 / mean_ms), 4 * mean_ms)
        self._world.scheduler.after(int(delay_ms * MS), self._strike)

    def _strike(self) -> None:
        if self._over:
            return
        self._later()
        name = self._draw.choices(self._names, self._weights)[0]
        stroke: Callable[[], None] = getattr(self, name)
        stroke()

    # Crashes.

    def crash_owner(self) -> None:
        """An owner's process is killed."""
        self.kill(self._owner(), "crash_owner")

    def crash_any(self) -> None:
        """Any process is killed."""
        self.kill(self._anyone(), "crash_any")

    def crash_two(self) -> None:
        """An owner is killed, and whoever takes over soon after it."""
        self.kill(self._owner(), "crash_two")
        delay_ms = self._draw.choice([1, 20, 60, 120, 300, 1_300])
        self._after(delay_ms, lambda: self.kill(self._owner(), "crash_two"))

    def crash_looping(self) -> None:
        """A process is killed, and killed again while it starts."""
        process = self._anyone()
        if process is None:
            return
        node = process.node
        self.kill(process, "crash_looping", restart_ms=50)

        def again() -> None:
            self.kill(
                self._world.network.processes[node], "crash_looping", restart_ms=30
            )

        at_ms = 50
        for _ in range(self._draw.randint(1, 3)):
            at_ms += self._draw.randint(1, 60)
            self._after(at_ms, again)
            at_ms += 30

    def blackout(self) -> None:
        """The power fails everywhere; the machines come back one by one."""
        if self._world.settings.durability == "memory":
            return
        for process in self._world.network.processes.values():
            self.kill(process, "blackout", vanish=True, spare=False)

    def vanish(self) -> None:
        """A machine loses its power: no reset, and what was not synced is gone."""
        self.kill(self._anyone(), "vanish", vanish=True)

    def disk_lost(self) -> None:
        """A machine burns down; another one takes its place, with an empty disk."""
        process = self._anyone()
        if process is not None and not self._spares(process):
            self.kill(process, "disk_lost", vanish=True)
            if not process.alive:
                self._world.data_lost(process.node)
                self._world.disks[process.node].store.erase()

    def image_restored(self) -> None:
        """A node's disk is what it was at an earlier boot."""
        process = self._anyone()
        if process is None:
            return
        disk = self._world.disks[process.node]
        boot = self._world.boot_recorded(process.node)
        older = [image for image in disk.images if image.identity.boot < boot]
        disk.take_image()
        if older and not self._spares(process):
            self.kill(process, "image_restored")
            if not process.alive:
                disk.store.restore(self._draw.choice(older))
                self._world.data_lost(process.node, older=True)

    def fsync_lied(self) -> None:
        """A disk says that it has synced, and has not; then the power fails."""
        process = self._anyone()
        if process is None or self._spares(process):
            return
        node = process.node
        disk = self._world.disks[node]
        if self._draw.random() < 0.5:
            self.kill(process, "fsync_lied_boot")  # it lies about the next boot too
        disk.lie()

        def fail() -> None:
            victim = self._world.network.processes[node]
            if victim.alive and disk.store.lying:
                self.kill(victim, "fsync_lied", vanish=True, spare=False)

        self._after(self._draw.randint(500, 4_000), fail)

    def kill(
        self,
        process: Process | None,
        name: str,
        *,
        vanish: bool = False,
        spare: bool = True,
        restart_ms: int | None = None,
    ) -> None:
        """End a process, and start its node again later."""
        world = self._world
        if process is None or not process.alive or self._over:
            return
        if world.restoration.mending:
            return
        if spare and world.settings.durability == "memory" and self._spares(process):
            return
        world.trace.struck(name, process.boot)
        world.kill(process, vanish=vanish)
        if restart_ms is None:
            restart_ms = self._draw.choice(RESTART_MS)
        world.scheduler.after(restart_ms * MS, world.restart, process.node)

    def _spares(self, process: Process) -> bool:
        lost = self._world.would_lose(process)
        return lost and self._draw.random() < LAST_COPY_SPARED

    # Planned stops.

    def stop_any(self) -> None:
        """A process is told to stop, and its node starts again."""
        process = self._anyone()
        if process is not None and not self._spares_stop(process):
            self.stop_process(process, "stop_any", self._draw.choice(RESTART_MS))

    def stop_all(self) -> None:
        """The whole cluster is told to stop, and starts again."""
        processes = [p for p in self._world.network.processes.values() if p.alive]
        if not any(self._spares_stop(process) for process in processes):
            for process in processes:
                self.stop_process(process, "stop_all", self._draw.choice(RESTART_MS))

    def drain(self) -> None:
        """A node is drained, and some time later no more."""
        self.drains.drain(self._node())

    def drain_stop(self) -> None:
        """A node is drained for a restart; then its process is told to stop."""
        process = self._anyone()
        if process is not None and not self._spares_stop(process):
            self.drains.restart(process)

    def stop_process(self, process: Process, name: str, restart_ms: int) -> None:
        """Tell a process to stop."""
        if self._world.restoration.mending:
            return
        self._world.trace.struck(name, process.boot)
        process.stop(restart_ms)

    def _spares_stop(self, process: Process) -> bool:
        """Without durability it must write, or it loses what it has."""
        failing = self._world.disks[process.node].store.failing
        memory = self._world.settings.durability == "memory"
        return bool(memory and failing and self._spares(process))

    # Pauses and slowness.

    def pause_owner(self) -> None:
        """An owner stands still, and may sleep through its own deposition."""
        self.freeze(self._owner(), "pause_owner")

    def pause_any(self) -> None:
        """Any process stands still."""
        self.freeze(self._anyone(), "pause_any")

    def freeze(self, process: Process | None, name: str, for_ms: int = 0) -> None:
        """Stop a process, and let it go on."""
        if process is None or process.paused or self._over:
            return
        self._world.trace.struck(name, process.boot)
        process.pause()
        for_ms = for_ms or self._draw.choice([50, 300, 900, 1_500, 3_000, 6_000])
        self._after(for_ms, process.wake)

    def slow_node(self) -> None:
        """A process gets to nothing at once."""
        process = self._anyone()
        if process is not None:
            self._world.trace.struck("slow_node", process.boot)
            process.lag_us = self._draw.choice([5, 50, 300]) * MS
            self._after(self._duration_ms(), lambda: setattr(process, "lag_us", 0))

    def slow_link(self) -> None:
        """All that goes to and from a node takes its time."""
        node = self._node()
        self._world.trace.struck("slow_link", node)
        network = self._world.network
        network.slow(node, self._draw.choice([3, 30, 200]) * MS)
        self._after(self._duration_ms(), lambda: network.slow(node, 0))

    def slow_disk(self) -> None:
        """A disk takes long for each write."""
        disk = self._world.disks[self._node()]
        self._world.trace.struck("slow_disk")
        disk.slow_us = self._draw.choice([10, 100, 800]) * MS
        self._after(self._duration_ms(), lambda: setattr(disk, "slow_us", 0))

    def full_disk(self) -> None:
        """A disk is full, or refuses to write."""
        store = self._world.disks[self._node()].store
        self._world.trace.struck("full_disk")
        store.failing = self._draw.choice(["disk_full", "disk_refused"])
        self._after(self._duration_ms(), lambda: setattr(store, "failing", ""))

    def spoil_state(self) -> None:
        """What a disk holds of a match's state cannot be read any more."""
        store = self._world.disks[self._node()].store
        if store.stored:
            match = self._draw.choice(store.stored)
            self._world.trace.struck("spoil_state", match)
            store.spoil(match)

    def clock_jump(self) -> None:
        """A node's time of day is set, or wrong."""
        node = self._node()
        self._world.trace.struck("clock_jump", node)
        jump_ms = self._draw.choice([-60_000, -2_000, 700, 5_000, 86_400_000])
        self._world.clock_jumps_ms[node] = jump_ms

    # Cuts.

    def cut_pair(self) -> None:
        """Two nodes do not hear each other."""
        a, b = self._draw.sample(self._world.nodes, 2)
        self._cut("cut_pair", [(a, b), (b, a)])

    def cut_one_way(self) -> None:
        """One node does not hear another, which hears it."""
        a, b = self._draw.sample(self._world.nodes, 2)
        self._cut("cut_one_way", [(a, b)])

    def isolate(self) -> None:
        """A node is alone, or alone with its clients, or with the coordinator."""
        self._isolate("isolate", self._node())

    def isolate_owner(self) -> None:
        """The same, for an owner."""
        owner = self._owner()
        if owner is not None:
            self._isolate("isolate_owner", owner.node)

    def strand_owner(self) -> None:
        """Only those reach an owner who never do anything but ask."""
        owner = self._owner()
        if owner is not None:
            others = [n for n in self._world.nodes if n != owner.node]
            others += [p.name for p in self._world.players if not p.spy]
            ways = [w for o in (*others, COORDINATOR) for w in _both(owner.node, o)]
            self._cut("strand_owner", ways)

    def _isolate(self, name: str, node: str) -> None:
        others = [other for other in self._world.nodes if other != node]
        if self._draw.random() < 0.5:
            others.append(COORDINATOR)
        draw = self._draw.random()
        if draw < 0.5:
            others += [p.name for p in self._world.players if draw < 0.2 or not p.spy]
        ways = [(node, o) for o in others] + [(o, node) for o in others]
        self._cut(name, ways)

    def cut_coordinator(self) -> None:
        """A node and the coordinator do not hear each other."""
        self._cut_coordinator("cut_coordinator", self._node())

    def cut_owner_coordinator(self) -> None:
        """The same, for an owner."""
        owner = self._owner()
        if owner is not None:
            self._cut_coordinator("cut_owner_coordinator", owner.node)

    def _cut_coordinator(self, name: str, node: str) -> None:
        both = [(node, COORDINATOR), (COORDINATOR, node)]
        self._cut(name, self._draw.choice([both, both, both[:1], both[1:]]))

    def cut_clients(self) -> None:
        """Some clients do not reach a node."""
        node = self._node()
        clients = [c for c in self._world.network.clients if self._draw.random() < 0.5]
        ways = [(c, node) for c in clients] + [(node, c) for c in clients]
        self._cut("cut_clients", ways)

    def _cut(self, name: str, ways: list[tuple[str, str]]) -> None:
        network = self._world.network
        if self._over:
            return
        self._world.trace.struck(name, " ".join(f"{a}>{b}" for a, b in ways[:4]))
        network.cut(ways)

        def mend() -> None:
            if not self._over:
                network.mend(ways)

        self._after(self._duration_ms(), mend)

    def false_reset(self) -> None:
        """A link breaks for no reason."""
        a, b = self._draw.sample(self._world.nodes, 2)
        self._world.trace.struck("false_reset", f"{a} {b}")
        self._world.network.break_link(a, b)

    def false_reset_cut(self) -> None:
        """A link is reset, and cannot be dialled again."""
        a, b = self._draw.sample(self._world.nodes, 2)
        self._world.network.break_link(a, b, dial=False)
        self._cut("false_reset_cut", [(a, b), (b, a)])
        if self._draw.random() < 0.3:  # somebody else's machine refuses in its place
            process = self._world.network.processes[a]
            process.refused(b)

    # The coordinator.

    def coordinator_down(self) -> None:
        """Nobody reaches it; or it changes its leader."""
        coordinator = self._world.coordinator
        self._world.trace.struck("coordinator_down")
        coordinator.down = True
        for_ms = self._draw.choice([700, 2_000, 4_000])
        self._after(for_ms, lambda: setattr(coordinator, "down", False))

    def coordinator_restored(self) -> None:
        """It is restored from an old backup; an operator raises what went back."""
        restoration = self._world.restoration
        if restoration.back_up() or not restoration.restore():
            return
        self._world.trace.struck("coordinator_restored")
        self._after(self._draw.choice([100, 700, 1_500]), restoration.finish)

    def coordinator_slow(self) -> None:
        """It takes its time."""
        coordinator = self._world.coordinator
        self._world.trace.struck("coordinator_slow")
        coordinator.slow_us = self._draw.choice([50, 400, 900]) * MS
        self._after(self._duration_ms(), lambda: setattr(coordinator, "slow_us", 0))

    def watch_slow(self) -> None:
        """News of it are late."""
        coordinator = self._world.coordinator
        self._world.trace.struck("watch_slow")
        coordinator.watch_slow_us = self._draw.choice([100, 900, 3_000]) * MS
        self._after(
            self._duration_ms(), lambda: setattr(coordinator, "watch_slow_us", 0)
        )

    def lease_lost(self) -> None:
        """A lease runs out though its holder lives."""
        process = self._anyone()
        if process is not None:
            self._world.trace.struck("lease_lost", process.boot)
            self._world.coordinator.end(process)

    # People.

    def retry_storm(self) -> None:
        """Some clients ask again and again, everywhere."""
        players = [p for p in self._world.players if self._draw.random() < 0.4]
        self._world.trace.struck("retry_storm")
        for player in players:
            player.storm = True

        def calm() -> None:
            for player in players:
                player.storm = False

        self._after(self._draw.choice([300, 1_000]), calm)

    def storm(self, raging: bool) -> None:
        """All clients act as fast as they can, or calm down."""
        for player in self._world.players:
            player.storm = raging

    def move(self) -> None:
        """An operator moves a shard."""
        self.operator.move()

    def want_edit(self) -> None:
        """An operator changes who shall hold a shard."""
        self.operator.edit_want()

    # Ambushes: strokes just when a record has changed.

    def ambush(self) -> None:
        """Wait for the next changes of records, and strike then."""
        self._ambushes = min(self._ambushes + 2, 4)

    def record_changed(self, shard: int, record: ShardRecord) -> None:
        """A shard's record was written: the owner it names is told in a moment."""
        owner = record.owner
        if self.on_record is not None and shard == 0:
            self.on_record(record)
        if owner is None:
            return
        if self._over or not self._ambushes:
            return
        self._ambushes -= 1
        delay_us = self._draw.choice([0, 300, 1_000, 3_000, 10_000, 40_000])
        stroke = self._draw.choice(
            [self._kill_there, self._kill_there, self._freeze_there, self._cut_there]
        )
        self._world.scheduler.after(delay_us, stroke, owner)

    def _kill_there(self, node: str) -> None:
        self.kill(self._world.network.processes[node], "ambush_kill")

    def _freeze_there(self, node: str) -> None:
        self.freeze(self._world.network.processes[node], "ambush_freeze")

    def _cut_there(self, node: str) -> None:
        self._isolate("ambush_cut", node)

    # Whom it strikes.

    def _owner(self) -> Process | None:
        shard = self._draw.randrange(self._world.settings.shards)
        return self._world.owner(shard)

    def _anyone(self) -> Process | None:
        living = [p for p in self._world.network.processes.values() if p.alive]
        return self._draw.choice(living) if living else None

    def _node(self) -> str:
        return self._draw.choice(self._world.nodes)

    def _duration_ms(self) -> int:
        return self._draw.choice([100, 400, 800, 1_300, 2_000, 4_000])

    def _after(self, delay_ms: int, undo: Callable[[], None]) -> None:
        self._world.scheduler.after(delay_ms * MS, undo)


def _both(a: str, b: str) -> list[tuple[str, str]]:
    return [(a, b), (b, a)]
