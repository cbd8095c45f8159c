"""A look at a whole cluster: what the nodes say is put together, and judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from hotseat.nodes.operator.alarms import ALARMS
from hotseat.nodes.operator.match_search import find_matches, show_match
from hotseat.nodes.operator.rows import ReplicaRow
from hotseat.nodes.operator.survey import (
    Survey,
    merge_shard,
    show_shard,
    survey,
    with_rates,
)
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.match_id import match_id

from ...runtime.states.stage import EPOCH, SHARD, Log
from .operator_doors import SHARDS, Doors, PretendedNode

FIRST, SECOND, THIRD = sorted(match_id("local", key) for key in "abc")


def owned(shard: int, **more: Any) -> ReplicaRow:
    """n1's own row of a shard that it owns, with a copy at n2."""
    both = ("n1", "n2")
    row = ReplicaRow(
        shard=shard,
        role="owner",
        serving=True,
        owner="n1",
        epoch=EPOCH,
        isr=both,
        want=both,
        commit=9,
        last_seq=9,
        lag={"n2": 0},
    )
    return replace(row, **more)


def followed(shard: int, **more: Any) -> ReplicaRow:
    """What n2 says of it."""
    return replace(owned(shard), role="follower", serving=False, lag={}, **more)


def two_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *matches: str
) -> tuple[Doors, PretendedNode, PretendedNode]:
    """n1 owns every shard, n2 follows; the matches are in one shard, at both."""
    log = Log()
    for match in matches:
        log.create(match)
    n1 = PretendedNode(*map(owned, range(SHARDS)), log=log)
    n2 = PretendedNode(*map(followed, range(SHARDS)), log=log)
    return Doors(tmp_path, monkeypatch, n1=n1, n2=n2), n1, n2


def codes(found: Survey) -> list[str]:
    """Of the alarms, each once."""
    return list(dict.fromkeys(alarm.code for alarm in found.cluster.alarms))


async def test_a_whole_cluster_has_no_alarms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every shard is served, every copy is in sync."""
    doors, _, _ = two_nodes(tmp_path, monkeypatch, FIRST, SECOND)
    found = await survey(doors.home)
    row = found.cluster
    assert (row.shards_owned, row.shards_in_sync, row.copies_short) == (4, 4, 0)
    assert (row.matches, row.alarms, found.answered) == (2, (), True)
    assert [(n.node, n.shards, n.following) for n in row.nodes] == [
        ("n1", 4, 0),
        ("n2", 0, 4),
    ]


async def test_a_silent_node_is_a_row_and_an_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what only it served, the others still know the record."""
    doors, n1, n2 = two_nodes(tmp_path, monkeypatch, FIRST)
    n1.silent = True
    found = await survey(doors.home)
    assert [node.error for node in found.cluster.nodes] == ["door_unreachable", ""]
    assert codes(found) == ["node_silent", "shard_unserved"]
    assert found.shards[0].owner == "n1"
    n2.silent = True
    found = await survey(doors.home)
    assert not found.answered
    assert codes(found) == ["node_silent", "shard_unserved", "shard_short"]


async def test_what_is_wrong_is_an_alarm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a code that is documented, and says where."""
    doors, n1, n2 = two_nodes(tmp_path, monkeypatch)
    n1.shards[1] = owned(1, isr=("n1",), degraded=True)
    n2.shards[2] = followed(2, stopped="record_invalid")
    n2.ready = False
    n1.set_apart = n2.set_apart = [{"match": FIRST, "shard": 3, "code": "runaway"}]
    n2.statistics = {"keeper": {"coordinator_up": True, "registered": False}}
    n1.statistics = {
        "keeper": {"coordinator_up": False, "registered": False},
        "replicator": {"journal": {"broken": True}},
        "results": {"failing": 2},
    }
    found = await survey(doors.home)
    assert codes(found) == [
        "coordinator_down",
        "disk_broken",
        "results_failing",
        "node_not_ready",
        "node_unregistered",
        "shard_degraded",
        "shard_short",
        "replica_stopped",
        "match_set_apart",
    ]
    assert {*codes(found), "node_silent", "shard_unserved"} == {*ALARMS}
    assert found.cluster.quarantined == 1
    (apart,) = (a for a in found.cluster.alarms if a.code == "match_set_apart")
    assert (apart.at, "at n1: runaway" in apart.message) == (FIRST, True)


def test_of_two_owners_the_newer_one_is_believed() -> None:
    """One that was deposed does not know it yet; one that claims may not serve yet."""
    old = owned(0)
    new = owned(0, owner="n2", epoch=EPOCH + 1, isr=("n2",), commit=12)
    found = merge_shard(0, {"n1": old, "n2": new}, 2)
    assert (found.owner, found.epoch, found.commit, found.short) == ("n2", 8, 12, 1)
    assert found.serving
    claims = replace(new, serving=False)
    assert not merge_shard(0, {"n1": old, "n2": claims}, 2).serving
    assert merge_shard(0, {}, 2).short == 2


async def test_rates_are_differences_of_two_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that began anew in between counts from its start."""
    doors, n1, n2 = two_nodes(tmp_path, monkeypatch)
    n1.committed, n2.committed = 100, 50
    first = await survey(doors.home)
    assert first.cluster.rates is None
    n1.committed, n2.committed = 130, 4
    now = await survey(doors.home)
    second = with_rates(first, Survey(now.cluster, now.shards, first.at_s + 2))
    assert second.cluster.rates is not None
    assert second.cluster.rates.records_per_s == 17.0
    each = [node.rates and node.rates.records_per_s for node in second.cluster.nodes]
    assert each == [15.0, 2.0]
    assert with_rates(None, now) is now


async def test_a_shard_is_shown_with_what_each_node_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silent one is named."""
    doors, _, n2 = two_nodes(tmp_path, monkeypatch)
    shown = await show_shard(doors.home, 2)
    assert {n: row.role for n, row in shown.replicas.items()} == {
        "n1": "owner",
        "n2": "follower",
    }
    n2.silent = True
    shown = await show_shard(doors.home, 2)
    assert (set(shown.replicas), shown.silent) == ({"n1"}, {"n2": "door_unreachable"})


async def test_matches_are_found_up_to_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said that there are more; a silent node is named."""
    monkeypatch.setattr("hotseat.nodes.operator.match_page.ROWS_PER_PAGE", 1)
    doors, n1, n2 = two_nodes(tmp_path, monkeypatch, SECOND, THIRD, FIRST)
    found = await find_matches(doors.home, 3)
    assert [row.match for row in found.matches] == [FIRST, SECOND, THIRD]
    assert {row.node for row in found.matches} == {"n1"}
    assert not found.more
    found = await find_matches(doors.home, 2)
    assert ([row.match for row in found.matches], found.more) == ([FIRST, SECOND], True)
    n1.log.act(SECOND)
    n1.node.states.apply(SHARD, n1.log.entries[-1])
    found = await find_matches(doors.home, 1, sort="records")
    assert [row.match for row in found.matches] == [SECOND]
    n2.silent = True
    assert (await find_matches(doors.home, 1)).silent == {"n2": "door_unreachable"}
    n1.silent = True
    with pytest.raises(OperatorError) as caught:
        await find_matches(doors.home, 1)
    assert (caught.value.code, caught.value.exit_code) == ("cluster_unreachable", 3)


async def test_nodes_of_an_older_build_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is a row that says so; if all are, the error says what to do."""
    doors, n1, n2 = two_nodes(tmp_path, monkeypatch, FIRST)
    n2.old = True
    found = await find_matches(doors.home, 5)
    assert (len(found.matches), found.silent) == (1, {"n2": "unknown_op"})
    n1.old = True
    with pytest.raises(OperatorError) as caught:
        await find_matches(doors.home, 5)
    assert caught.value.code == "node_too_old"
    assert caught.value.hint


async def test_a_match_is_shown_with_all_its_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A follower that is on its way is no difference; another history is one."""
    doors, n1, _ = two_nodes(tmp_path, monkeypatch, FIRST)
    n1.log.act(FIRST)
    n1.node.states.apply(SHARD, n1.log.entries[-1])
    shown = await show_match(doors.home, FIRST)
    assert (shown.match.node, shown.match.records, shown.agree) == ("n1", 4, True)
    assert [(c.node, c.role, c.records) for c in shown.copies] == [
        ("n1", "owner", 4),
        ("n2", "follower", 3),
    ]
    assert shown.play is not None
    assert (shown.play.turn, shown.g) == (2, None)
    shown = await show_match(doors.home, FIRST, state=True)
    assert shown.g == n1.log.states[FIRST].snapshot.G
    other = Log()
    other.now_ms += 1
    other.create(FIRST)
    other.act(FIRST)
    doors.nodes["n2"].node = PretendedNode(log=other).node
    assert not (await show_match(doors.home, FIRST)).agree
    n1.silent = True
    shown = await show_match(doors.home, FIRST)
    assert (shown.match.node, shown.silent) == ("n2", {"n1": "door_unreachable"})
    with pytest.raises(OperatorError) as caught:
        await show_match(doors.home, SECOND)
    assert caught.value.code == "unknown_match"
    assert "n1 did not answer" in caught.value.hint


async def test_a_match_that_was_moved_alone_is_shown_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """n2 serves it, though n1 owns the shard that its name falls into. Its shard is
    listed, shown and watched as others are."""
    pinned = 2**40
    doors, n1, n2 = two_nodes(tmp_path, monkeypatch, FIRST)
    n1.shards[pinned] = followed(pinned, owner="n2")
    n2.shards[pinned] = owned(pinned, owner="n2")
    for node in (n1, n2):
        node.pins.pin(FIRST, pinned)
    shown = await show_match(doors.home, FIRST)
    assert shown.match.node == "n2"
    assert [copy.role for copy in shown.copies] == ["follower", "owner"]
    found = await survey(doors.home)
    assert [row.shard for row in found.shards] == [*range(SHARDS), pinned]
    assert (found.cluster.shards_owned, codes(found)) == (SHARDS, [])
    assert (await show_shard(doors.home, pinned)).shard.owner == "n2"
    n2.shards[pinned] = owned(pinned, owner="n2", isr=("n2",))
    n1.shards[pinned] = followed(pinned, owner="n2", isr=("n2",))
    assert codes(await survey(doors.home)) == ["shard_short"]


@pytest.mark.parametrize("number", [SHARDS, 2**40])
async def test_a_shard_that_is_not_there_is_no_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Neither of the cluster, nor of a match that was moved alone."""
    doors, _, _ = two_nodes(tmp_path, monkeypatch)
    with pytest.raises(OperatorError) as caught:
        await show_shard(doors.home, number)
    assert (caught.value.code, caught.value.exit_code) == ("no_such_shard", 2)
