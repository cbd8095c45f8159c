"""What the guide says of backups: what comes back, what is fetched, what is refused."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.nodes.coordinators.etcd_cluster import needs_etcd
from tests.system.machines import Machine, machines

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(400)]

SHARDS = 3


def play(machine: Machine, matches: int) -> str:
    """Let matches be played, and verified; the id of one of them."""
    played = machine.run("loadtest", "--matches", str(matches), "--json")
    assert played.returncode == 0, played
    report = json.loads(played.stdout)
    assert report["matches_verified"] == matches
    return str(report["sample"])


def stop(nodes: Sequence[Machine]) -> None:
    assert [machine.stop() for machine in nodes] == [0] * len(nodes)


def start(nodes: Sequence[Machine]) -> None:
    for machine in nodes:
        machine.start()
    for machine in nodes:
        machine.wait_ready()


def records(machine: Machine, match: str) -> int:
    """How long a match's log is; 0 where nobody knows the match."""
    shown = machine.run("match", "show", match, "--json")
    if shown.returncode != 0:
        return 0
    assert json.loads(shown.stdout)["agree"]
    return int(json.loads(shown.stdout)["match"]["records"])


@needs_etcd
def test_a_backup_of_everything_at_one_moment_comes_back(tmp_path: Path) -> None:
    """Taken, and brought back, with the cluster stopped: all of then, and no more."""
    with machines(tmp_path) as nodes:
        before = play(nodes[0], 20)
        length = records(nodes[0], before)
        assert length
        stop(nodes)
        nodes[0].etcd.save(tmp_path / "etcd.db")
        for machine in nodes:
            shutil.copytree(machine.place / "c", machine.place / "saved")
        start(nodes)
        after = play(nodes[1], 20)
        assert records(nodes[1], after)

        stop(nodes)
        nodes[0].etcd.restore(tmp_path / "etcd.db")
        for machine in nodes:
            shutil.rmtree(machine.place / "c")
            (machine.place / "saved").rename(machine.place / "c")
        start(nodes)
        assert records(nodes[2], before) == length
        assert records(nodes[2], after) == 0
        play(nodes[2], 10)


@needs_etcd
def test_an_old_etcd_is_not_believed_until_operators_say_so(tmp_path: Path) -> None:
    """Nodes that know better wait, and shards stand still; then what they hold counts,
    and nothing of it is lost."""
    with machines(tmp_path, shards=SHARDS) as nodes:
        play(nodes[0], 10)
        nodes[0].etcd.save(tmp_path / "etcd.db")
        stop(nodes)
        start(nodes)  # each shard has another owner, in a newer epoch
        match = play(nodes[1], 10)
        length = records(nodes[1], match)
        stop(nodes)
        nodes[0].etcd.restore(tmp_path / "etcd.db")
        for machine in nodes:
            machine.start()
        wait_until(lambda: all(trusted(machine) for machine in nodes))
        wait_until(lambda: stopped(nodes[0]))
        wait_until(lambda: all_served(nodes))
        wait_until(lambda: nodes[0].ask("cluster", "status")["alarms"] == [])
        assert records(nodes[2], match) == length
        play(nodes[2], 10)


def trusted(machine: Machine) -> bool:
    """Whether its data count; it must have got so far as to ask."""
    return machine.run("node", "trust", machine.node, "--yes").returncode == 0


def all_served(nodes: Sequence[Machine]) -> bool:
    """Let every shard that stands still go on; whether none does any more."""
    for shard in set(range(SHARDS)) - served(nodes[0]):
        any(recovered(machine, shard) for machine in nodes)
    return len(served(nodes[0])) == SHARDS


def recovered(machine: Machine, shard: int) -> bool:
    """Let a shard go on from what this node has; not from an older copy."""
    order = ("--from", machine.node, "--raise-epoch", "--yes")
    return machine.run("shard", "recover", str(shard), *order).returncode == 0


def served(machine: Machine) -> set[int]:
    rows = machine.ask("shard", "list")["shards"]
    return {row["shard"] for row in rows if row["serving"]}


def stopped(machine: Machine) -> set[int]:
    """The shards of which a replica takes no part."""
    alarms = machine.ask("cluster", "status")["alarms"]
    places = [alarm["at"] for alarm in alarms if alarm["code"] == "replica_stopped"]
    return {int(place.removeprefix("shard ")) for place in places}


def wait_until(condition: Callable[[], object]) -> None:
    """Other processes have no event to wait for: ask again until it is so."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        time.sleep(0.1)


@needs_etcd
def test_a_node_that_lost_its_folder_fetches_all_of_it(tmp_path: Path) -> None:
    """That is its backup: the copies at the others."""
    with machines(tmp_path) as nodes:
        match = play(nodes[0], 20)
        length = records(nodes[0], match)
        stop(nodes[:1])
        shutil.rmtree(nodes[0].place / "c")
        start(nodes[:1])
        assert records(nodes[0], match) == length
        shown = nodes[0].ask("match", "show", match)
        assert {copy["node"] for copy in shown["copies"]} == {"n1", "n2", "n3"}
        assert {copy["records"] for copy in shown["copies"]} == {length}
