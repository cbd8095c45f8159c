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
from tests.system.terminal import HOTSEAT
from tests.system.test_up import Operator

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(180)]

PATIENCE_S = 60.0

QUICK = {"HOTSEAT_REPLICATION_PLACER_GRACE_MS": "1000"}
"""A node that is gone is replaced soon."""


class Nodes:
    """Three node processes that nobody starts again."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, *names: str) -> None:
        for name in names:
            self._running[name] = subprocess.Popen(
                self._operator.argv("node", "--node", name),
                cwd=self._operator.cwd,
                env=self._operator.environ | QUICK,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )

    def kill(self, *names: str) -> None:
        for name in names:
            process = self._running.pop(name)
            process.send_signal(signal.SIGKILL)
            process.wait()

    def wipe(self, name: str) -> None:
        """Its disk is another one now."""
        (folder,) = (
            p for p in (self._operator.home / "nodes").iterdir() if p.name == name
        )
        shutil.rmtree(folder)


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    return Operator(tmp_path)


@pytest.fixture
def nodes(operator: Operator) -> Iterator[Nodes]:
    made = operator.run("up", "--shards", "1", "--copies", "2", "--detach")
    assert made.returncode == 0, made
    assert operator.run("down").returncode == 0
    ClusterDir.load(operator.home).make_sockets_folder()
    nodes = Nodes(operator)
    try:
        nodes.start("n1", "n2", "n3")
        yield nodes
    finally:
        nodes.kill(*nodes._running)


def hotseat(operator: Operator, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*HOTSEAT, *arguments, "--dir", str(operator.home)],
        cwd=operator.cwd,
        env=operator.environ,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def shard(operator: Operator) -> dict[str, Any]:
    """What is known of the only shard; nothing, if no node answers."""
    shown = hotseat(operator, "shard", "show", "0", "--json")
    return dict(json.loads(shown.stdout)) if shown.returncode == 0 else {}


def recover(operator: Operator, *arguments: str) -> subprocess.CompletedProcess[str]:
    return hotseat(operator, "shard", "recover", "0", *arguments, "--yes")


async def until(condition: Callable[[], Any]) -> None:
    """Other processes have no event to wait for: ask again until it is so."""
    with anyio.fail_after(PATIENCE_S):
        while not await run_sync(condition):  # noqa: ASYNC110
            await anyio.sleep(0.2)


def test_a_stale_third_copy_is_recovered_and_clients_go_on(
    operator: Operator, nodes: Nodes
) -> None:
    """What only the two had is gone, and a client that saw it is told; nothing else
    is, and nothing begins without the order."""

    def in_sync() -> set[str]:
        found = shard(operator)
        return set(found["shard"]["isr"]) if found else set()

    async def main() -> None:
        await until(lambda: len(in_sync()) == 2)
        async with connect(operator.home) as client:
            match = await client.create("tic-tac-toe", players=["0", "1"])
            assert isinstance(match, RemoteMatch)
            seats = [await match.take(seat) for seat in "01"]
            first, second = seats
            assert isinstance(first, Seat)
            assert isinstance(second, Seat)
            assert isinstance(await first.dispatch("place", {"cell": 4}), Accepted)
            owner = (await run_sync(shard, operator))["shard"]["owner"]
            (stale,) = in_sync() - {owner}
            (third,) = {"n1", "n2", "n3"} - in_sync()
            nodes.kill(stale)
            await until(lambda: in_sync() == {owner, third})
            assert isinstance(
                await second.dispatch("place", {"cell": 0}, timeout_s=30), Accepted
            )
            seen = await first.resync(timeout_s=30)
            assert isinstance(seen, View)
            assert (seen.revision, seen.history) == (2, 0)
            nodes.start(stale)
            await until(lambda: stale in shard(operator).get("replicas", {}))
            nodes.kill(owner, third)
            nodes.wipe(owner)
            nodes.wipe(third)

            dead = ("--node-is-dead", owner, "--node-is-dead", third)
            refused = await run_sync(recover, operator, "--from", stale, *dead)
            assert refused.returncode == 1, refused
            order = ("--from", stale, "--unclean", *dead)

            def recovered() -> bool:
                """Their registrations end some seconds after them."""
                done = recover(operator, *order)
                assert done.returncode == 0 or "member_lives" in done.stderr, done
                return done.returncode == 0

            await until(recovered)
            view = await first.resync(timeout_s=30)
            assert isinstance(view, View)
            assert view.revision == 1
            assert view.history > 0
            again = await second.dispatch("place", {"cell": 8}, timeout_s=30)
            assert isinstance(again, Accepted)
            nodes.start(owner, third)
            await until(lambda: len(in_sync()) == 2 and stale in in_sync())
            last = await first.dispatch("place", {"cell": 2}, timeout_s=30)
            assert isinstance(last, Accepted)
            shown = await run_sync(shard, operator)
            assert shown["replicas"][stale]["history"] == view.history

    anyio.run(main)
