"""What a node's replicas are made of: timers, beats and the placer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hotseat.runtime.control_plane import Move, ShardRecord
from hotseat.runtime.fitness import Games
from hotseat.runtime.fleet import Fleet
from hotseat.runtime.placement import WantEdit
from hotseat.runtime.replication.heartbeat import Heartbeat
from hotseat.runtime.replication.message import Alive
from hotseat.runtime.replication.options import ReplicationOptions
from hotseat.runtime.replication.placer import Placer
from hotseat.runtime.replication.timers import Timers


def record(owner: str, *want: str) -> ShardRecord:
    """Owned in epoch 3, everybody wanted in sync."""
    isr = tuple((node, "i") for node in want)
    return ShardRecord(owner=owner, epoch=3, isr=isr, want=want, claim="c")


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 50)), max_size=40))
def test_a_timer_comes_at_its_earliest_time_once(wishes: list[tuple[int, int]]) -> None:
    """Whatever was wished in whatever order, as a table of minima would say."""
    timers = Timers()
    table: dict[int, int] = {}
    for key, due_ms in wishes:
        timers.want(key, due_ms)
        table[key] = min(due_ms, table.get(key, due_ms))
    timers.want(9, None)
    for now_ms in range(52):
        assert timers.next_ms() == min(table.values(), default=None)
        due = sorted(key for key, at in table.items() if at <= now_ms)
        assert sorted(timers.pop(now_ms)) == due
        table = {key: at for key, at in table.items() if key not in due}


def test_peers_are_told_what_concerns_them() -> None:
    """Each peer hears of the shards that it holds, or is to hold; nobody else."""
    heartbeat = Heartbeat("a", 100)
    heartbeat.regroup(
        [
            (0, record("a", "a", "b"), 3),
            (1, record("b", "b", "a"), None),
            (2, record("a", "a", "c"), 4),
            (3, record("x", "x", "y"), None),
        ]
    )
    assert dict(heartbeat.beat(1000, 77)) == {
        "b": Alive(77, ((0, 3),)),
        "c": Alive(77, ((2, 4),)),
    }
    assert dict(heartbeat.beat(1050, 77)) == {}
    heartbeat.greet("b")
    assert dict(heartbeat.beat(1060, 78)) == {"b": Alive(78, ((0, 3),))}
    assert heartbeat.due_ms() == 1100
    assert set(dict(heartbeat.beat(1100, 79))) == {"b", "c"}


def fleet(
    registered: str,
    draining: str = "",
    games: Mapping[str, Games] = MappingProxyType({}),
) -> Fleet:
    return Fleet(frozenset(registered), frozenset(draining), games=games)


def placer(**options: Any) -> Placer:
    return Placer("a", "boot", 2, replace(ReplicationOptions(), **options))


def test_only_the_first_node_that_is_up_places() -> None:
    """One that drains, or is not registered, leaves it to the next."""
    one = placer()
    assert not one.acting
    one.registered(fleet("ab"), 0)
    assert one.acting
    one.registered(fleet("ab", draining="a"), 0)
    assert not one.acting
    one.registered(fleet("b"), 0)
    assert not one.acting


def test_a_lost_node_is_replaced_after_the_grace() -> None:
    """Not before; and one that came back in time keeps its place."""
    one = placer(placer_grace_ms=5000)
    records = {0: record("b", "b", "x")}
    one.registered(fleet("abc"), 0)
    assert one.edits(records, 0) == ()
    assert one.edits(records, 4000) == ()
    one.registered(fleet("abcx"), 0)
    one.registered(fleet("abc"), 0)
    assert one.edits(records, 5000) == ()
    assert one.edits(records, 9000) == ()
    (edit,) = one.edits(records, 10_000)
    assert edit.want == ("b", "a")


def test_edits_are_limited_by_the_minute() -> None:
    """Each costs a copy of a shard: a budget, filled evenly."""
    one = placer(placer_edits_per_minute=6)
    records = {shard: record("b", "b") for shard in range(20)}
    one.registered(fleet("ab"), 0)
    made = []
    for now_ms in range(0, 61_000, 500):
        edits = one.edits(records, now_ms)
        made.append(len(edits))
        for edit in edits:
            records[edit.shard] = record("b", *edit.want)
    assert made[0] == 6
    assert sum(made) == 12


def test_an_owner_finds_a_place_for_what_a_node_cannot_play() -> None:
    """At once for who is not in sync, whatever the record says; else after the grace,
    for it may yet be given the game."""
    one = Placer("b", "boot", 2, ReplicationOptions(placer_grace_ms=5000))
    nim = frozenset({("nim", "1")})
    one.registered(fleet("abcd", games={"b": nim, "c": nim}), 0)
    records = {shard: record("b", "b", "a") for shard in (0, 1)}
    records[2] = record("c", "c", "a")
    one.unfit = dict.fromkeys(records, frozenset("ad"))
    assert not one.acting
    assert one.edits(records, 0, {0: "", 1: "a"}) == (WantEdit(0, ("b", "c")),)
    records[0] = record("b", "b", "c")
    assert one.edits(records, 4_000, {0: "c", 1: "a"}) == ()
    assert one.edits(records, 5_000, {0: "c", 1: "a"}) == (WantEdit(1, ("b", "c")),)


def test_an_owner_that_cannot_play_hands_over_to_a_replica_that_can() -> None:
    """Once one is in sync; and it asks once."""
    one = Placer("b", "boot", 2, ReplicationOptions())
    one.registered(fleet("bcd"), 0)
    records = {0: record("b", "b", "c", "d")}
    one.unfit = {0: frozenset("bc")}
    assert one.edits(records, 0, {0: "c"}) == ()
    assert one.edits(records, 1_000, {0: "cd"}) == (WantEdit(0, ("b", "c", "d"), "d"),)
    moving = msgspec.structs.replace(records[0], move=Move("d", "op"))
    assert one.edits({0: moving}, 2_000, {0: "cd"}) == ()


def test_what_is_known_of_shards_elsewhere_is_the_games_of_their_owners() -> None:
    """A node without one of them gets a copy only if there is no other node."""
    one = placer()
    nim = frozenset({("nim", "1")})
    one.registered(fleet("abc", games={"a": frozenset(), "b": nim, "c": nim}), 0)
    assert one.edits({0: record("b", "b")}, 0) == (WantEdit(0, ("b", "c")),)
    one.registered(fleet("ab", games={"a": frozenset(), "b": nim}), 0)
    assert one.edits({0: record("b", "b")}, 1_000) == (WantEdit(0, ("b", "a")),)
