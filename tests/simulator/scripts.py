"""The scripts of the scenarios: each builds one rare situation, with varying luck.

All play in small worlds with one shard, number 0.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hotseat.runtime.control_plane import Move, ShardRecord, decode_record
from hotseat.runtime.coordinator import Write

from .network import COORDINATOR
from .pins import Pinner
from .scheduler import MS

if TYPE_CHECKING:
    from .process import Process
    from .world import World

__all__ = [
    "deposed",
    "deposed_read",
    "late_join",
    "late_fold",
    "late_pin",
    "late_tail",
    "long_tail",
    "lost_promise",
    "lost_tail",
]


def deposed(world: World, draw: random.Random) -> None:
    """An owner sleeps while another takes over and hands on to one that it never knew.

    When it wakes it hears neither the coordinator nor the new owner, only its old
    follower, whose word must not help it.
    """

    def begin() -> None:
        owner = world.owner(0)
        record = world.checks.record(0)
        if owner is None or record is None or len(record.isr) < 2:
            return
        old = owner.node
        follower = next(node for node, _ in record.isr if node != old)
        third = next(n for n in world.nodes if n not in (old, follower))
        deaf = _both(old, COORDINATOR) + _both(old, third)
        world.network.cut(deaf)
        asleep_ms = draw.randint(3_000, 4_000)
        at = _Steps(world)
        world.nemesis.freeze(owner, "deposed", asleep_ms)
        unheard = [(follower, old)]
        world.network.cut(unheard)
        at.after(asleep_ms, lambda: world.network.mend(unheard))
        at.after(2_000, lambda: _edit(world, lambda r: _wanting(r, follower, third)))
        at.after(2_600, lambda: _edit(world, lambda r: _moving(r, third)))
        at.after(asleep_ms + draw.randint(300, 1_500), lambda: world.network.mend(deaf))

    _Steps(world).after(draw.randint(1_200, 2_000), begin)


def deposed_read(world: World, draw: random.Random) -> None:
    """The same, when nobody asks the sleeper for anything but what is refused."""
    deposed(world, draw)
    acting = [player.name for player in world.players if not player.spy]

    def begin() -> None:
        owner = world.owner(0)
        if owner is not None:
            ways = [(name, owner.node) for name in acting]
            world.network.cut(ways)
            _Steps(world).after(5_500, lambda: world.network.mend(ways))

    _Steps(world).after(1_000, begin)


def late_join(world: World, draw: random.Random) -> None:
    """A join lands long after its answer was given up, on a replica that is behind."""
    cut: list[tuple[str, str]] = []

    def meddle(process: Process, writes: tuple[Write, ...]) -> int | None:
        record, before = _written(world, writes), world.checks.record(0)
        if record is None or before is None or cut:
            return None
        new = [node for node, _ in record.isr if (node, _) not in before.isr]
        if record.epoch != before.epoch or not new:
            return None
        cut.extend(_both(process.node, new[0]))
        world.network.cut(cut)
        late_ms = draw.randint(1_200, 1_600)

        def landed() -> None:
            world.network.mend(cut)
            world.nemesis.kill(process, "late_join", restart_ms=2_000)

        _Steps(world).after(late_ms + 1, landed)
        return late_ms

    def begin() -> None:
        world.coordinator.meddle = meddle
        world.nemesis.kill(_follower(world), "late_join", restart_ms=1_000)

    _Steps(world).after(draw.randint(1_500, 2_000), begin)


def late_pin(world: World, draw: random.Random) -> None:
    """A pin lands when its owner has been deposed, and the match goes on elsewhere."""
    met: list[str] = []

    def meddle(process: Process, writes: tuple[Write, ...]) -> int | None:
        pins = [write for write in writes if write.key.startswith(world.keys.pins)]
        if not pins or met:
            return None
        met.append(process.boot)
        asleep = draw.random() < 0.5

        def strike() -> None:
            if asleep:
                world.nemesis.freeze(process, "late_pin")
            else:
                world.nemesis.kill(process, "late_pin")

        _Steps(world).after(draw.randint(0, 30), strike)
        return draw.randint(1_500, 3_500)

    def begin() -> None:
        world.coordinator.meddle = meddle
        if not met:
            Pinner(world).pin()

    for round_ms in (1_500, 2_000, 2_500):
        _Steps(world).after(round_ms + draw.randint(0, 300), begin)


def late_fold(world: World, draw: random.Random) -> None:
    """The end of a pin lands when its owner has given it up, and the match goes on
    where it is pinned."""
    met: list[str] = []
    pinner = Pinner(world)

    def meddle(process: Process, writes: tuple[Write, ...]) -> int | None:
        ends = any(
            write.key.startswith(world.keys.pins) and write.value is None
            for write in writes
        )
        if not ends or met:
            return None
        met.append(process.boot)
        return draw.choice([draw.randint(10, 90), draw.randint(1_200, 2_500)])

    def begin() -> None:
        world.coordinator.meddle = meddle
        pinner.pin()

    def fold() -> None:
        if not met:
            pinner.fold()

    _Steps(world).after(1_500 + draw.randint(0, 300), begin)
    for round_ms in (2_300, 2_700, 3_100):
        _Steps(world).after(round_ms + draw.randint(0, 300), fold)


def late_tail(world: World, draw: random.Random) -> None:
    """A new owner does not know yet how much its predecessor had acknowledged.

    One member is asleep, so nothing is committed; a learner has caught up with all that
    the new owner knows to be committed. Then the new owner dies.
    """
    at = _Steps(world)
    fast = {"armed": False}

    def begin() -> None:
        learner = _follower(world)
        if learner is None:
            return
        world.network.slow(learner.node, 5 * MS)
        world.nemesis.kill(learner, "late_tail", restart_ms=900)
        at.after(900 + draw.randint(20, 500), arm)

    def arm() -> None:
        fast["armed"] = True
        world.nemesis.storm(True)
        at.after(60, lambda: world.nemesis.storm(False))
        world.checks.on_ack = acked

    def acked(process: Process) -> None:
        if not fast["armed"] or world.owner(0) is not process:
            return
        fast["armed"] = False
        at.after(0, lambda: strike(process))

    def strike(owner: Process) -> None:
        record = world.checks.record(0)
        assert record is not None
        others = [n for n, _ in record.isr if n != owner.node]
        world.nemesis.kill(owner, "late_tail", restart_ms=2_000)
        if len(others) > 1:
            asleep = world.network.processes[others[-1]]
            world.nemesis.freeze(asleep, "late_tail", 3_000)
            world.nemesis.on_record = joined

    def joined(record: ShardRecord) -> None:
        if record.epoch > 1 and len(record.isr) > 2 and record.owner is not None:
            world.nemesis.on_record = None
            victim = world.network.processes[record.owner]
            at.after(0, lambda: world.nemesis.kill(victim, "late_tail"))

    at.after(draw.randint(1_500, 2_000), begin)


def lost_promise(world: World, draw: random.Random) -> None:
    """A new owner loses its power before its disk has its promise, and comes back."""

    def begin() -> None:
        owner, follower = world.owner(0), _follower(world)
        if owner is None or follower is None:
            return
        world.disks[follower.node].slow_us = 4_000 * MS
        world.nemesis.kill(owner, "lost_promise", restart_ms=4_000)

        def claimed(record: ShardRecord) -> None:
            if record.owner == follower.node:
                world.nemesis.on_record = None
                _Steps(world).after(draw.randint(3, 60), lose)

        def lose() -> None:
            world.disks[follower.node].slow_us = 0
            world.nemesis.kill(follower, "lost_promise", vanish=True, restart_ms=50)

        world.nemesis.on_record = claimed

    _Steps(world).after(draw.randint(1_500, 2_000), begin)


def lost_tail(world: World, draw: random.Random) -> None:
    """An owner's disk is slow; its power fails, and it is back before it is missed."""

    def begin() -> None:
        owner = world.owner(0)
        if owner is None:
            return
        disk = world.disks[owner.node]
        disk.slow_us = 2_000 * MS

        def lose() -> None:
            disk.slow_us = 0
            world.nemesis.kill(owner, "lost_tail", vanish=True, restart_ms=50)

        _Steps(world).after(draw.randint(100, 500), lose)

    for round_ms in (1_500, 4_000):
        _Steps(world).after(round_ms + draw.randint(0, 500), begin)


def long_tail(world: World, draw: random.Random) -> None:
    """A follower has a tail that its new owner never saw, and is far away.

    Nobody acts for a while, but the owner tells the follower what is committed; then
    somebody acts, and the owner dies at its first acknowledgement: the follower must
    have that.
    """
    at = _Steps(world)

    def begin() -> None:
        owner, record = world.owner(0), world.checks.record(0)
        if owner is None or record is None or len(record.isr) < 3:
            return
        heir, follower = (node for node, _ in record.isr if node != owner.node)
        ways = _both(owner.node, heir) + _both(owner.node, COORDINATOR)
        world.network.cut(ways)
        world.network.slow(follower, 30 * MS)
        at.after(3_500, lambda: world.network.mend(ways))
        world.nemesis.on_record = claimed

    def claimed(record: ShardRecord) -> None:
        owner = record.owner
        if record.epoch != 2 or owner is None:
            return
        world.nemesis.on_record = None
        ways = [(client, owner) for client in world.network.clients]
        world.network.cut(ways)
        at.after(draw.randint(1, 100), lambda: world.network.mend(ways))
        world.checks.on_ack = acked

    def acked(process: Process) -> None:
        if process.serves.get(0) == 2:
            world.checks.on_ack = None
            kill = world.nemesis.kill
            at.after(0, lambda: kill(process, "long_tail", restart_ms=2_000))

    at.after(draw.randint(1_200, 1_800), begin)


class _Steps:
    """Later, in milliseconds."""

    def __init__(self, world: World) -> None:
        self._scheduler = world.scheduler

    def after(self, delay_ms: int, step: Callable[[], None]) -> None:
        self._scheduler.after(delay_ms * MS, step)


def _both(a: str, b: str) -> list[tuple[str, str]]:
    return [(a, b), (b, a)]


def _follower(world: World) -> Process | None:
    """The last member of the in-sync set that is not its owner."""
    record = world.checks.record(0)
    if record is None:
        return None
    others = [node for node, _ in record.isr if node != record.owner]
    return world.network.processes[others[-1]] if others else None


def _edit(world: World, change: Callable[[ShardRecord], ShardRecord]) -> None:
    world.nemesis.operator.edit(0, "script", change)


def _wanting(record: ShardRecord, *nodes: str) -> ShardRecord:
    return replace(record, want=nodes)


def _moving(record: ShardRecord, to: str) -> ShardRecord:
    return replace(record, move=Move(to, "script"))


def _written(world: World, writes: tuple[Write, ...]) -> ShardRecord | None:
    """What is to be written of shard 0."""
    key = world.keys.shard(0)
    for write in writes:
        if write.key == key and write.value is not None:
            return decode_record(ShardRecord, key, write.value)
    return None
