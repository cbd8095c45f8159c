"""The door's `records`: the committed log of a match, whatever state it is in."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine.record import record_from_json
from hotseat.nodes.operator.door import DoorError
from hotseat.nodes.operator.match_records import PAGE_BYTES, give_records
from hotseat.runtime.codec import unpack
from hotseat.runtime.match_id import match_id
from hotseat.runtime.options import SupervisorOptions

from ...runtime.node_stage import EPOCH, NodeStage, node_stage
from ...runtime.sample_games import race

MATCH = match_id("local", "key")


def indexes(answer: dict[str, Any]) -> list[int]:
    """Which records an answer holds."""
    return [record_from_json(each).index for each in unpack(answer["records"])]


def refused(node: NodeStage, **asked: Any) -> str:
    """Ask for what must be refused; return the code."""
    with pytest.raises(DoorError) as caught:
        give_records(node.supervisor, asked)
    assert caught.value.message
    return caught.value.code


async def test_a_running_match_is_given_out_and_does_not_notice() -> None:
    """All of it, or what came since; nothing enters its mailbox."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        before = node.supervisor.statistics()
        answer = give_records(node.supervisor, {"match": match})
        assert indexes(answer) == [0, 1, 2]
        assert (answer["epoch"], answer["status"]) == (EPOCH, "running")
        assert (answer["ended"], answer["count"]) == (False, 3)
        await node.act(match, "0", 1, "add", 1)
        assert indexes(give_records(node.supervisor, {"match": match, "first": 3})) == [
            3
        ]
        assert (
            indexes(give_records(node.supervisor, {"match": match, "first": 4})) == []
        )
        after = node.supervisor.statistics()
        assert after.messages == before.messages + 1  # the action alone


async def test_a_finished_match_is_given_out_while_it_is_kept() -> None:
    """The log says that the match is over; once dropped, the answer says that."""
    options = SupervisorOptions(matches_max=1)
    async with node_stage(race(goal=1), options=options) as node:
        match = await node.seated("race")
        await node.act(match, "0", 1, "add", 1)
        answer = give_records(node.supervisor, {"match": match})
        assert (answer["ended"], answer["status"]) == (True, "resident")
        assert indexes(answer) == [0, 1, 2, 3]
        await node.create("race", "another")
        assert refused(node, match=match) == "game_over"


async def test_a_long_log_comes_in_pages_below_the_door_s_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each page goes on where the one before ended."""
    monkeypatch.setattr("hotseat.nodes.operator.match_records.PAGE_BYTES", 600)
    assert PAGE_BYTES <= 1024 * 1024 // 2
    async with node_stage(race(goal=100)) as node:
        match = await node.seated("race")
        for number in range(1, 8):
            seat = "01"[(number - 1) % 2]
            await node.act(match, seat, (number + 1) // 2, "add", 1)
        found: list[int] = []
        pages = 0
        while True:
            answer = give_records(
                node.supervisor, {"match": match, "first": len(found)}
            )
            found += indexes(answer)
            pages += 1
            if len(found) == answer["count"]:
                break
        assert found == list(range(10))
        assert pages > 2


async def test_what_is_not_here_says_why() -> None:
    """Another node's match, one that nobody knows, and what is no question."""
    async with node_stage(race()) as node:
        assert refused(node, match=MATCH) == "unknown_match"
        assert refused(node, match="nonsense") == "malformed_request"
        assert refused(node) == "malformed_request"
        assert refused(node, match=MATCH, first=-1) == "malformed_request"
        assert refused(node, match=MATCH, first="1") == "malformed_request"
        assert refused(node, match=MATCH, first=True) == "malformed_request"
    async with node_stage(race(), shards=()) as node:
        assert refused(node, match=MATCH) == "moved"
