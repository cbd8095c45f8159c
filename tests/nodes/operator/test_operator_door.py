"""The door's `shards`, `matches` and `match`: what a node tells operators."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from hotseat.engine.definition import Game
from hotseat.nodes.operator import match_page, match_report, shard_report
from hotseat.nodes.operator.door import DoorError
from hotseat.nodes.operator.match_page import give_matches
from hotseat.nodes.operator.match_report import give_match
from hotseat.nodes.operator.rows import (
    ActorRow,
    MatchRow,
    PlayRow,
    ReplicaRow,
    read_row,
)
from hotseat.nodes.operator.shard_report import give_shards
from hotseat.runtime.codec import unpack
from hotseat.runtime.match_id import match_id, shard_of
from hotseat.runtime.pin_table import PinTable
from hotseat.runtime.replication.shard_statistics import ShardStatistics

from ...runtime.hosting import ALICE, TOKEN_A
from ...runtime.node_stage import SHARDS, node_stage
from ...runtime.sample_games import race
from ...runtime.states.stage import SHARD, TOKENS, Log, Node

FIRST, SECOND, THIRD = sorted(match_id("local", key) for key in "abc")
NOW_MS = 61_000
PINNED, UNREAD = 2**40, 2**41
"""Shards of pinned matches."""


def staged(*matches: str, game: Game | None = None) -> tuple[Node, Log]:
    """A node that holds these matches, with both seats taken in each."""
    log = Log(game or race())
    node = Node(game or race())
    for match in matches:
        log.create(match)
    for entry in log.entries:
        node.states.apply(SHARD, entry)
    node.applied = len(log.entries)
    return node, log


def go_on(node: Node, log: Log) -> None:
    """Apply what the log has gained."""
    for entry in log.entries[node.applied :]:
        node.states.apply(SHARD, entry)
    node.applied = len(log.entries)


def page(node: Node, **asked: Any) -> tuple[list[MatchRow], Any]:
    """One page of the node's matches, and where the next begins."""
    answer = give_matches(node.states, {SHARD: 1}, NOW_MS, asked)
    return [read_row(MatchRow, row) for row in answer["matches"]], answer["next"]


def test_matches_are_told_in_order_with_who_is_to_act() -> None:
    """What a match's line has, and what its state says while it is in memory."""
    node, _ = staged(SECOND, FIRST)
    (first, second), more = page(node)
    assert [first.match, second.match] == [FIRST, SECOND]
    assert more is None
    assert (first.game, first.shard, first.state, first.tier) == (
        "race",
        SHARD,
        "running",
        "hot",
    )
    assert (first.seats, first.to_act, first.free) == (("0", "1"), ("0",), ())
    assert (first.records, first.changed_ms, first.idle_s) == (3, 1_000, 60.0)


def test_a_match_without_its_players_waits() -> None:
    """A seat that nobody has taken is told."""
    node, log = staged()
    log.create(FIRST)
    node.states.apply(SHARD, log.entries[0])
    (row,), _ = page(node)
    assert (row.state, row.free) == ("waiting", ("0", "1"))


def test_matches_are_found_by_what_is_asked() -> None:
    """Each filter alone; what does not fit is left out."""
    node, log = staged(FIRST, SECOND, game=race(goal=1))
    log.act(SECOND)  # it ends
    go_on(node, log)
    assert [row.match for row in page(node)[0]] == [FIRST]
    assert [row.match for row in page(node, states=["ended"])[0]] == [SECOND]
    both = page(node, states=["ended", "running"])[0]
    assert [(row.match, row.state) for row in both] == [
        (FIRST, "running"),
        (SECOND, "ended"),
    ]
    assert [row.match for row in page(node, to_act="0")[0]] == [FIRST]
    for nothing in (
        {"game": "chess"},
        {"shard": 2},
        {"to_act": "1"},
        {"idle_ms": 60_001},
    ):
        assert page(node, **nothing) == ([], None)
    assert len(page(node, game="race", shard=SHARD, idle_ms=60_000)[0]) == 1


def test_a_match_that_is_ahead_of_the_node_s_clock_is_told() -> None:
    """Another node with a faster clock made its last record: it is not idle at all."""
    node, _ = staged(FIRST)
    told = give_matches(node.states, {SHARD: 1}, 999, {})
    assert [row["idle_s"] for row in told["matches"]] == [0.0]


def test_a_match_that_is_set_apart_says_its_code() -> None:
    """Whatever else it is."""
    node, _ = staged(FIRST)
    node.states.quarantine(FIRST, "runaway")
    (row,), _ = page(node, states=["quarantined"])
    assert (row.state, row.code) == ("quarantined", "runaway")


@pytest.mark.parametrize(
    ("name", "value"), [("ROWS_PER_PAGE", 1), ("PAGE_BYTES", 1), ("LOOKED_AT_MAX", 1)]
)
def test_pages_are_bounded_and_go_on(
    monkeypatch: pytest.MonkeyPatch, name: str, value: int
) -> None:
    """By rows, by bytes, and by how many matches were looked at for them."""
    monkeypatch.setattr(match_page, name, value)
    node, _ = staged(FIRST, SECOND, THIRD)
    found: list[str] = []
    after, pages = None, 0
    while True:
        rows, after = page(node, **({} if after is None else {"after": after}))
        found += [row.match for row in rows]
        pages += 1
        if after is None:
            break
    assert (found, pages) == ([FIRST, SECOND, THIRD], 4)


def test_what_is_only_stored_is_told_too() -> None:
    """Ended matches that left the memory, between those that are in it."""

    class Lines:
        """Copies with lines alone."""

        def lines_behind(self, shard: int, after: str, *, ended: bool) -> Iterator[Any]:
            assert ended
            return node.states.lines_behind(shard, after, ended=True)

        def peek(self, match: str) -> None:
            return None

    node, _ = staged(FIRST)
    answer = give_matches(Lines(), {SHARD: 1}, NOW_MS, {"states": ["ended", "running"]})
    (row,) = (read_row(MatchRow, each) for each in answer["matches"])
    assert (row.tier, row.to_act, row.free) == ("stored", None, None)


@pytest.mark.parametrize(
    "asked",
    [
        {"game": 7},
        {"shard": "1"},
        {"states": ["alive"]},
        {"states": "running"},
        {"after": [1]},
        {"after": ["a", 1]},
        {"idle_ms": -1},
        {"limit": 0},
        {"limit": True},
    ],
)
def test_a_malformed_question_for_matches_is_refused(asked: dict[str, Any]) -> None:
    """With the name of what is wrong in it."""
    node, _ = staged()
    with pytest.raises(DoorError) as caught:
        page(node, **asked)
    assert caught.value.code == "malformed_request"
    assert f"`{next(iter(asked))}`" in caught.value.message


home_of = PinTable(SHARDS).shard_of


def report(node: Node, match: str, **asked: Any) -> dict[str, Any]:
    """What the node says of one match, which has no actor."""
    asked = {"match": match, **asked}
    return give_match(node.states, lambda match: None, home_of, NOW_MS, asked)


def test_one_match_is_told_without_its_secrets() -> None:
    """Position, turn, seats; no token, no seed; G only for who asks."""
    node, log = staged(FIRST)
    log.act(FIRST)
    go_on(node, log)
    told = report(node, FIRST)
    play = read_row(PlayRow, told["play"])
    assert (play.revision, play.turn) == (1, 2)
    assert [(s.seat, s.taken, s.may_act) for s in play.seats] == [
        ("0", True, False),
        ("1", True, True),
    ]
    assert (told["shard"], told["actor"]) == (shard_of(FIRST, SHARDS), None)
    assert read_row(MatchRow, told["row"]).digest == log.states[FIRST].digest.hex()
    text = json.dumps(told)
    assert not [token for token in TOKENS.values() if token in text]
    assert "seed" not in text
    assert "g" not in told
    assert unpack(report(node, FIRST, state=True)["g"]) == log.states[FIRST].snapshot.G


def test_a_match_that_is_not_there_is_no_row() -> None:
    """That is no refusal: who asks, asks every node."""
    node, _ = staged()
    told = report(node, FIRST)
    assert (told["row"], told["play"], told["actor"]) == (None, None, None)


def test_a_state_that_does_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that shows it all the same."""
    monkeypatch.setattr(match_report, "STATE_BYTES_MAX", 1)
    node, _ = staged(FIRST)
    with pytest.raises(DoorError) as caught:
        report(node, FIRST, state=True)
    assert caught.value.code == "too_large"
    assert "hotseat replay export" in caught.value.message


@pytest.mark.parametrize("asked", [{"match": "x"}, {"match": FIRST, "state": 1}])
def test_a_malformed_question_for_a_match_is_refused(asked: dict[str, Any]) -> None:
    """With the code that says so."""
    node, _ = staged()
    with pytest.raises(DoorError) as caught:
        give_match(node.states, lambda match: None, home_of, NOW_MS, asked)
    assert caught.value.code == "malformed_request"


async def test_the_actor_of_a_match_is_told() -> None:
    """Who watches it, what waits for it."""
    copies, _ = staged()
    async with node_stage(race()) as node:
        match = await node.seated("race")
        await node.sync(ALICE, match)
        find = node.supervisor.actor
        told = give_match(copies.states, find, home_of, NOW_MS, {"match": match})
        actor = read_row(ActorRow, told["actor"])
        assert (actor.status, actor.mailbox, actor.uncommitted) == ("running", 0, 0)
        assert actor.mailbox_accepted >= 3
        assert TOKEN_A not in json.dumps(told)


class Shards:
    """A node that owns shard 1 and follows the others."""

    def shard_statistics(self, shard: int) -> ShardStatistics:
        if shard == UNREAD:
            raise KeyError(shard)
        mine = shard == 1
        return ShardStatistics(
            role="owner" if mine else "follower",
            serving=mine,
            stopped="",
            owner="n1" if mine else "n2",
            epoch=3,
            isr=("n1", "n2"),
            want=("n1", "n2"),
            moving_to="",
            commit=9,
            last_seq=10,
            lag={"n2": 1} if mine else {},
            learning=(),
            degraded=False,
            last_epoch=3,
            promised=3,
            history=0,
            recovering=False,
        )

    def counts(self, shards: Iterable[int]) -> tuple[int, int]:
        return (sum(shards), 0)


def test_shards_are_told_with_their_role_and_lag() -> None:
    """Every one, or the one that is asked for."""
    told = give_shards(Shards(), Shards(), SHARDS, {})
    rows = [read_row(ReplicaRow, row) for row in told["shards"]]
    assert [row.role for row in rows] == ["follower", "owner", "follower", "follower"]
    assert (rows[1].lag, rows[1].commit, rows[1].last_seq) == ({"n2": 1}, 9, 10)
    assert (rows[3].matches, told["next"]) == (3, None)
    told = give_shards(Shards(), Shards(), SHARDS, {"shard": 1})
    assert [row["shard"] for row in told["shards"]] == [1]
    assert give_shards(None, Shards(), SHARDS, {}) == {"shards": [], "next": None}


def test_many_shards_are_told_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page says behind which shard the next begins."""
    monkeypatch.setattr(shard_report, "SHARDS_PER_PAGE", 3)
    told = give_shards(Shards(), Shards(), SHARDS, {})
    assert ([row["shard"] for row in told["shards"]], told["next"]) == ([0, 1, 2], 2)
    told = give_shards(Shards(), Shards(), SHARDS, {"after": 2})
    assert ([row["shard"] for row in told["shards"]], told["next"]) == ([3], None)


def test_shards_of_pinned_matches_are_told_behind_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One by one and in pages; not one that came home, nor one that is not read yet."""
    monkeypatch.setattr(shard_report, "SHARDS_PER_PAGE", 4)
    pins, shards = PinTable(SHARDS), Shards()
    pins.pin(FIRST, PINNED)
    pins.pin(SECOND, UNREAD)
    told = give_shards(shards, shards, SHARDS, {}, pins)
    assert told["next"] == 3
    told = give_shards(shards, shards, SHARDS, {"after": 3}, pins)
    assert ([row["shard"] for row in told["shards"]], told["next"]) == ([PINNED], None)
    for number, found in ((PINNED, 1), (UNREAD, 0), (PINNED + 7, 0)):
        told = give_shards(shards, shards, SHARDS, {"shard": number}, pins)
        assert len(told["shards"]) == found
    pins.unpin(FIRST)
    told = give_shards(shards, shards, SHARDS, {"after": PINNED}, pins)
    assert told == {"shards": [], "next": None}


@pytest.mark.parametrize("asked", [{"shard": 4}, {"shard": "1"}, {"after": 9}])
def test_a_malformed_question_for_shards_is_refused(asked: dict[str, Any]) -> None:
    """With the code that says so."""
    with pytest.raises(DoorError) as caught:
        give_shards(Shards(), Shards(), SHARDS, asked)
    assert caught.value.code == "malformed_request"
