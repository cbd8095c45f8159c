"""Nodes of other machines: named, judged by what the coordinator knows, not asked."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hotseat.nodes.operator.ask_cluster import ask_cluster
from hotseat.nodes.operator.doors import find_doors
from hotseat.nodes.operator.node_page import give_nodes
from hotseat.nodes.operator.rows import ReplicaRow
from hotseat.nodes.operator.survey import show_shard, survey
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.control_plane import NodeRecord, ShardRecord

from .operator_doors import SHARDS, Doors, PretendedNode


def known(**more: Any) -> dict[str, Any]:
    """What a node tells of another one, that runs."""
    there = {
        "door": "ipc:///nowhere/n2.door",
        "inbox": "tcp://m2:7000",
        "place": "x/1/2",
    }
    return {"registered": True, "state": "up", "build": "1", **there, **more}


def row(shard: int, owner: str, **more: Any) -> ReplicaRow:
    """What n1 says of a shard; it has a copy, and so has n2."""
    mine = owner == "n1"
    return ReplicaRow(
        shard=shard,
        role="owner" if mine else "follower",
        serving=mine,
        owner=owner,
        epoch=3,
        isr=("n1", "n2"),
        want=("n1", "n2"),
        **more,
    )


@pytest.fixture
def n1() -> PretendedNode:
    """Of the four shards it serves two; the others are n2's."""
    owners = ["n1", "n2", "n1", "n2"]
    return PretendedNode(*(row(shard, owner) for shard, owner in enumerate(owners)))


@pytest.fixture
def doors(n1: PretendedNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Doors:
    return Doors(tmp_path, monkeypatch, n1=n1)


async def test_a_node_on_another_machine_is_named_and_believed(
    doors: Doors, n1: PretendedNode
) -> None:
    """It is no alarm, and its shards are served: so says the coordinator."""
    n1.others = {"n2": known()}
    found = await survey(doors.home)
    here, away = found.cluster.nodes
    assert (here.node, here.reachable, here.elsewhere) == ("n1", True, False)
    assert (away.node, away.reachable, away.elsewhere) == ("n2", False, True)
    assert (away.error, away.shards, away.following) == ("elsewhere", 2, 2)
    assert found.cluster.shards_owned == SHARDS
    assert found.cluster.alarms == ()
    assert (await show_shard(doors.home, 1)).shard.serving


async def test_a_node_that_is_not_registered_is_an_alarm(
    doors: Doors, n1: PretendedNode
) -> None:
    """It is meant to hold shards, and nobody knows where it is."""
    n1.others = {"n2": known(registered=False, door="")}
    found = await survey(doors.home)
    away = found.cluster.nodes[1]
    assert (away.error, away.elsewhere) == ("unregistered", False)
    codes = {(alarm.code, alarm.at) for alarm in found.cluster.alarms}
    assert ("node_silent", "n2") in codes
    assert ("shard_unserved", "shard 1") in codes


async def test_who_asks_it_is_told_where_to_go(doors: Doors, n1: PretendedNode) -> None:
    """An answer like any other: an error, with what to do."""
    n1.others = {"n2": known()}
    answers = await ask_cluster(doors.home, "status")
    assert list(answers) == ["n1", "n2"]
    away = answers["n2"]
    assert isinstance(away, OperatorError)
    assert (away.code, away.exit_code) == ("elsewhere", 3)
    assert "n2" in away.hint


@pytest.mark.parametrize(
    ("door", "reached"),
    [
        ("tcp://m2:7002", "tcp://m2:7002"),
        ("tcp://0.0.0.0:7002", "tcp://m2:7002"),
        ("tcp://[::]:7002", "tcp://m2:7002"),
        ("ipc:///nowhere/n2.door", ""),
    ],
)
async def test_a_door_that_is_open_to_the_network_is_asked_there(
    doors: Doors, n1: PretendedNode, door: str, reached: str
) -> None:
    """One that listens on every address is where the node's inbox is."""
    n1.others = {"n2": known(door=door)}
    found = await find_doors(doors.home)
    assert found.of("n2") == reached
    assert ("n2" in found.away) == (not reached)
    assert found.nodes() == ("n1", "n2")


async def test_a_node_of_another_folder_of_this_machine_has_a_door_here(
    doors: Doors, n1: PretendedNode, tmp_path: Path
) -> None:
    """As long as the socket is there, and the machine is the same."""
    machine = doors.home.place().partition("/")[0]
    path = tmp_path / "n2.door"
    door = f"ipc://{path}"
    n1.others = {"n2": known(door=door, place=f"{machine}/9/9")}
    assert (await find_doors(doors.home)).of("n2") == ""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        assert (await find_doors(doors.home)).of("n2") == door
        n1.others = {"n2": known(door=door, place="another/9/9")}
        assert (await find_doors(doors.home)).of("n2") == ""


async def test_where_no_node_answers_the_folder_is_what_is_known(
    doors: Doors, n1: PretendedNode
) -> None:
    """A node that is down, or of a build that does not know the question."""
    n1.others = {"n2": known()}
    for fault in ("silent", "old"):
        setattr(n1, fault, True)
        assert (await find_doors(doors.home)).nodes() == ("n1",)
        setattr(n1, fault, False)


def test_a_node_tells_of_those_that_are_missing() -> None:
    """Registered ones as they say; others because a shard wants them, or had them."""

    class Records:
        def record(self, shard: int) -> ShardRecord | None:
            record = ShardRecord(
                owner="n1",
                epoch=1,
                isr=(("n1", "a"), ("n3", "b")),
                want=("n4",),
                claim="",
            )
            return record if shard == 0 else None

    n1 = NodeRecord(node="n1", boot="b", inbox="tcp://a:1", door="ipc:///d", build="7")
    told = give_nodes({"n1": n1}, Records(), range(2))["nodes"]
    assert {name: node["registered"] for name, node in told.items()} == {
        "n1": True,
        "n3": False,
        "n4": False,
    }
    assert (told["n1"]["door"], told["n1"]["build"]) == ("ipc:///d", "7")
    draining = replace(n1, state="draining")
    assert give_nodes({"n1": draining}, None, range(2))["nodes"]["n1"]["state"] == (
        "draining"
    )
