"""All that were in sync are gone, with their disks: an old copy is taken, on order."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.to_thread import run_sync

from hotseat.nodes.client import Accepted, RemoteMatch, Seat, View, connect
from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.redundancy import Redundancy

from .shell import Done, Operator
from .terminal import HOTSEAT, environment

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(180)]

PATIENCE_S = 60.0

QUICK = {"HOTSEAT_REPLICATION_PLACER_GRACE_MS": "1000"}
"""A node that is gone is replaced soon."""


class Nodes:
    """Three node processes that nobody starts again, and their operator."""

    def __init__(self, home: ClusterDir, operator: Operator) -> None:
        self.home = home
        self._operator = operator
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        for name in names:
            self._running[name] = subprocess.Popen(
                [*HOTSEAT, "node", "--dir", str(self.home.path), "--node", name],
                env=environment() | QUICK,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def kill(self, *names: str) -> None:
        for name in names:
            process = self._running.pop(name)
            process.send_signal(signal.SIGKILL)
            process.wait()

    def end(self) -> None:
        self.kill(*self._running)

    def wipe(self, name: str) -> None:
        """Its disk is another one now."""
        (folder,) = (p for p in (self.home.path / "nodes").iterdir() if p.name == name)
        shutil.rmtree(folder)

    def shard(self) -> dict[str, Any]:
        """What is known of the only shard; nothing, if no node answers."""
        shown = self._run("shard", "show", "0", "--json")
        return dict(json.loads(shown.stdout)) if shown.status == 0 else {}

    def in_sync(self) -> set[str]:
        found = self.shard()
        return set(found["shard"]["isr"]) if found else set()

    def recover(self, *arguments: str) -> Done:
        return self._run("shard", "recover", "0", *arguments, "--yes")

    def _run(self, *arguments: str) -> Done:
        place = ("--dir", str(self.home.path))
        return self._operator.run(*arguments, *place, cwd=self.home.path)


@pytest.fixture
def nodes(operator: Operator, tmp_path: Path) -> Iterator[Nodes]:
    names = ("n1", "n2", "n3")
    two = Redundancy(copies=2)
    home = ClusterDir.open(tmp_path / "c", 1, names, redundancy=two)
    nodes = Nodes(home, operator)
    try:
        nodes.start(*names)
        yield nodes
    finally:
        nodes.end()


async def until(condition: Callable[[], Any]) -> None:
    """Other processes have no event to wait for: ask again until it is so."""
    with anyio.fail_after(PATIENCE_S):
        while not await run_sync(condition):  # noqa: ASYNC110
            await anyio.sleep(0.2)


def test_a_stale_third_copy_is_recovered_and_clients_go_on(
    nodes: Nodes,
) -> None:
    """What only the two had is gone, and a client that saw it is told; nothing else
    is, and nothing begins without the order."""

    async def main() -> None:
        await until(lambda: len(nodes.in_sync()) == 2)
        async with connect(nodes.home) as client:
            match = await client.create("tic-tac-toe", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            seats = [await match.take(seat) for seat in "01"]
            first, second = seats
            assert isinstance(first, Seat)
            assert isinstance(second, Seat)
            assert isinstance(await first.dispatch("place", {"cell": 4}), Accepted)
            shown = (await run_sync(nodes.shard))["shard"]
            owner, held = shown["owner"], set(shown["isr"])
            (stale,) = held - {owner}
            (third,) = {"n1", "n2", "n3"} - held
            nodes.kill(stale)
            await until(lambda: nodes.in_sync() == {owner, third})
            assert isinstance(
                await second.dispatch("place", {"cell": 0}, timeout_s=30), Accepted
            )
            seen = await first.resync(timeout_s=30)
            assert isinstance(seen, View)
            assert (seen.revision, seen.history) == (2, 0)
            nodes.start(stale)
            await until(lambda: stale in nodes.shard().get("replicas", {}))
            nodes.kill(owner, third)
            nodes.wipe(owner)
            nodes.wipe(third)

            dead = ("--node-is-dead", owner, "--node-is-dead", third)
            refused = await run_sync(nodes.recover, "--from", stale, *dead)
            assert refused.status == 1, refused
            order = ("--from", stale, "--unclean", *dead)

            def recovered() -> bool:
                """Their registrations end some seconds after them."""
                done = nodes.recover(*order)
                assert done.status == 0 or "member_lives" in done.stderr, done
                return done.status == 0

            await until(recovered)
            view = await first.resync(timeout_s=30)
            assert isinstance(view, View)
            assert view.revision == 1
            assert view.history > 0
            again = await second.dispatch("place", {"cell": 8}, timeout_s=30)
            assert isinstance(again, Accepted)
            nodes.start(owner, third)
            await until(lambda: len(nodes.in_sync()) == 2 and stale in nodes.in_sync())
            last = await first.dispatch("place", {"cell": 2}, timeout_s=30)
            assert isinstance(last, Accepted)
            shown = await run_sync(nodes.shard)
            assert shown["replicas"][stale]["history"] == view.history

    anyio.run(main)
