"""A node that dies in a match's code is told of, by whoever finds its breadcrumb."""

from __future__ import annotations

from pathlib import Path

import anyio

from hotseat.nodes.node.breadcrumb import Breadcrumb, BreadcrumbGuard, open_breadcrumb
from hotseat.nodes.node.deaths import Deaths
from hotseat.runtime.budget import NO_GUARD
from hotseat.runtime.control_plane import Keys, PoisonRecord, decode_record
from hotseat.runtime.testing.memory_coordinator import MemoryCoordinator
from hotseat.runtime.testing.memory_store import MemoryStore

KEYS = Keys("t")


def deaths_of(store: MemoryStore, match: str) -> list[tuple[str, str]]:
    found = store.list(KEYS.poisons).entries
    records = {e.key: decode_record(PoisonRecord, e.key, e.value) for e in found}
    record = records.get(KEYS.poison(match))
    return [] if record is None else [(d.node, d.boot) for d in record.deaths]


async def test_a_death_on_this_machine_is_told_by_who_sees_it(
    tmp_path: Path, autojump_clock: object
) -> None:
    """Once, though the node's next process tells of it, too; a node elsewhere, or one
    that died of something else, accuses no match."""
    store = MemoryStore()

    def deaths() -> Deaths:
        coordinator = MemoryCoordinator(store)
        return Deaths(coordinator, KEYS, tmp_path.joinpath, lambda: 1_000)

    async with anyio.create_task_group() as tasks:
        sees = deaths()
        tasks.start_soon(sees.run)
        with open_breadcrumb(tmp_path / "n2", "boot-2") as (_, crumb):
            guard = BreadcrumbGuard(NO_GUARD, crumb)
            guard.run("m1", sees.node_gone, "n2")
        sees.node_gone("n2")
        sees.node_gone("n3")
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    assert deaths_of(store, "m1") == [("n2", "boot-2")]
    restarted = deaths()
    restarted.found("n2", Breadcrumb("m1", "boot-2"))
    await restarted.tell()
    await restarted.tell()
    assert deaths_of(store, "m1") == [("n2", "boot-2")]


async def test_what_could_not_be_told_is_told_later(
    tmp_path: Path, autojump_clock: object
) -> None:
    """The coordinator was away when the node died; the next finding tells both."""
    store = MemoryStore()
    coordinator = MemoryCoordinator(store)
    coordinator.down = True
    sees = Deaths(coordinator, KEYS, tmp_path.joinpath, lambda: 1_000)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sees.run)
        sees.found("n2", Breadcrumb("m1", "a"))
        await anyio.sleep(60)
        coordinator.down = False
        sees.found("n3", Breadcrumb("m1", "b"))
        await anyio.sleep(1)
        tasks.cancel_scope.cancel()
    assert deaths_of(store, "m1") == [("n2", "a"), ("n3", "b")]
