"""A cluster without a folder here, asked through doors that lie open; real sockets."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hotseat.nodes.client.connect import connect
from hotseat.nodes.client.outcome import ClusterUnreachable
from hotseat.nodes.cluster_afar import ClusterAfar
from hotseat.nodes.nng_door import DoorServer
from hotseat.nodes.operator.ask_cluster import ask_cluster, find_cluster
from hotseat.nodes.operator.ask_door import DoorUnreachable
from hotseat.nodes.operator.door import Door
from hotseat.nodes.operator.doors import Elsewhere, find_doors
from hotseat.nodes.operator.sealed_door import SealedDoor
from hotseat.nodes.operator_error import OperatorError
from hotseat.nodes.redundancy import Redundancy

pytestmark = pytest.mark.system

SECRET = "5e" * 32
LAID_OUT = {
    "shards": 4,
    "nodes": ["n1", "n2", "n3"],
    "copies": 2,
    "min_isr": 1,
    "durability": "disk",
}


@pytest.fixture(autouse=True)
def secret_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """All that this machine has of the cluster."""
    for name in [name for name in os.environ if name.startswith("HOTSEAT_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "copy"
    path.write_text(SECRET)
    path.chmod(0o600)
    monkeypatch.setenv("HOTSEAT_SECRET_FILE", str(path))
    return path


class Far:
    """The nodes of a cluster on other machines."""

    def __init__(self, tasks: AsyncExitStack) -> None:
        self.told: dict[str, dict[str, Any]] = {}
        """What each of them knows of all."""
        self._tasks = tasks

    async def open(self, node: str, **laid_out: Any) -> DoorServer:
        """Begin a node; its door is open until it is closed."""

        def identify(asked: Mapping[str, Any]) -> dict[str, Any]:
            return {"process": node, "dir": "/far", "cluster": "c1", **laid_out}

        inner = Door(
            {
                "identify": identify,
                "nodes": lambda asked: {"nodes": self.told},
                "status": lambda asked: {"node": node},
            }
        )
        sealed = SealedDoor(inner.answer, bytes.fromhex(SECRET))
        server = DoorServer("tcp://127.0.0.1:0", sealed.answer)
        await self._tasks.enter_async_context(server)
        self.tell(node, server.address)
        return server

    def tell(self, node: str, door: str, *, registered: bool = True) -> None:
        inbox = "tcp://127.0.0.1:9"
        self.told[node] = {
            "door": door,
            "inbox": inbox,
            "registered": registered,
            "place": "m/1/2",
        }


@asynccontextmanager
async def far() -> AsyncIterator[Far]:
    async with AsyncExitStack() as tasks:
        yield Far(tasks)


async def test_one_door_leads_to_all_others() -> None:
    """Those that are open are asked; where others are is said."""
    async with far() as cluster:
        entry = await cluster.open("n2", **LAID_OUT)
        await cluster.open("n3", **LAID_OUT)
        cluster.tell("n1", "ipc:///far/n1.door")
        cluster.tell("n4", "", registered=False)
        home = await find_cluster(entry.address)
        assert isinstance(home, ClusterAfar)
        assert (home.cluster, home.shards, str(home.path)) == ("c1", 4, "/far")
        assert home.redundancy == Redundancy(2, 1, "disk")
        assert home.secret() == bytes.fromhex(SECRET)
        answers = await ask_cluster(home, "status")
        assert list(answers) == ["n1", "n2", "n3", "n4"]
        assert [answers["n2"], answers["n3"]] == [{"node": "n2"}, {"node": "n3"}]
        away = [answers["n1"], answers["n4"]]
        assert all(isinstance(answer, Elsewhere) for answer in away)


async def test_the_door_that_was_named_is_asked_there() -> None:
    """Whatever its node tells of itself: there may be a tunnel in between."""
    async with far() as cluster:
        entry = await cluster.open("n1", **LAID_OUT)
        cluster.tell("n1", "tcp://10.1.1.1:7001")
        home = await find_cluster(entry.address)
        assert (await find_doors(home)).reached == {"n1": entry.address}


async def test_others_are_asked_when_the_first_is_gone() -> None:
    """What was learned from it is kept."""
    async with far() as cluster:
        other = await cluster.open("n2", **LAID_OUT)
        async with AsyncExitStack() as life:
            first = Far(life)
            first.told = cluster.told
            entry = await first.open("n1", **LAID_OUT)
            home = await find_cluster(entry.address)
            await find_doors(home)
        del cluster.told["n1"]
        answers = await ask_cluster(home, "status")
        assert answers["n2"] == {"node": "n2"}
        assert isinstance(answers["n1"], DoorUnreachable)
        assert (await find_doors(home)).of("n2") == other.address


async def test_a_node_of_an_older_build_is_asked_on_its_machine() -> None:
    """It does not tell how the cluster is laid out."""
    async with far() as cluster:
        entry = await cluster.open("n1")
        with pytest.raises(OperatorError) as caught:
            await find_cluster(entry.address)
        assert caught.value.code == "outdated_node"


async def test_who_has_no_secret_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is asked."""
    monkeypatch.delenv("HOTSEAT_SECRET_FILE")
    async with far() as cluster:
        entry = await cluster.open("n1", **LAID_OUT)
        with pytest.raises(OperatorError) as caught:
            await find_cluster(entry.address)
        assert caught.value.code == "no_secret"


async def test_a_client_that_nobody_answers_is_told_so() -> None:
    """As at a door of this machine."""
    with pytest.raises(ClusterUnreachable):
        async with connect("tcp://127.0.0.1:9"):
            pass
