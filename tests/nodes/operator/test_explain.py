"""What became of an action: by the log, and by what the nodes remember."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from hotseat.nodes.cli.match_explain import _lines
from hotseat.nodes.client import Accepted, Refusal
from hotseat.nodes.operator import explain as explain_module
from hotseat.nodes.operator import match_feed
from hotseat.nodes.operator.explain import ActionKey, explain, read_target
from hotseat.nodes.operator.trace_rows import ExplainedRow
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.codec import pack
from hotseat.runtime.frame import Dispatch
from hotseat.runtime.route import Route

from ..node.node_world import NodeWorld, node_world
from .operated import DUEL_SPEC, Operated, play


@pytest.fixture
async def world(tmp_path: Path, autojump_clock: object) -> AsyncIterator[NodeWorld]:
    async with node_world(tmp_path / "c", "n1", "n2", "n3", games=[DUEL_SPEC]) as world:
        yield world


@pytest.fixture
def operator(world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> Operated:
    operated = Operated(world, monkeypatch)

    async def find_cluster(place: object) -> object:
        return world.home

    for module in (match_feed, explain_module):
        monkeypatch.setattr(module, "find_cluster", find_cluster)
        monkeypatch.setattr(module, "find_doors", operated.find_doors)
    monkeypatch.setattr(match_feed, "ask_door", operated.ask_door)
    return operated


def open_log(saved: Any) -> Any:
    return saved.open(DUEL_SPEC)


async def explained(match: str, target: ActionKey | int) -> ExplainedRow:
    return await explain("here", match, target, open_log)


def stages(found: ExplainedRow, node: str) -> list[str]:
    return [
        moment.what.split(",")[0] for moment in found.moments if moment.node == node
    ]


async def test_an_accepted_action_is_told_from_its_arrival_to_its_answer(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """Who was asked and what they said, what it changed, and when each copy had it."""
    async with world.client() as client:
        match, seat = await play(client)
        assert isinstance(await seat.dispatch("add", 7), Accepted)
        await anyio.sleep(1)  # the follower hears that it is committed
        found = await explained(match, ActionKey("0", seat.session, 2))
    assert (found.outcome, found.action, found.times_asked) == (
        "accepted",
        f"0:{seat.session}:2",
        1,
    )
    record = found.record
    assert record is not None
    assert (record.kind, record.input["payload"]) == ("action", 7)
    ((frame),) = found.frames
    assert frame["event"] == "add"
    assert [c["matched"] for e in frame["evaluations"] for c in e["candidates"]] == [
        True
    ]
    (owner,) = [trace for trace in found.nodes.values() if trace.serving]
    copies = [n for n, t in found.nodes.items() if t.held is not None]
    assert len(copies) == 2
    (follower,) = [node for node in copies if node != owner.node]
    assert owner.held is not None
    assert list(owner.held.acked_ms) == [follower]
    said = stages(found, owner.node)
    assert said[-1].startswith("answered to ")
    assert said[0].startswith("came from ")
    assert said[1] == f"judged: accepted as record {record.record}"
    assert "committed" in said
    assert stages(found, follower) == ["committed and applied here"]
    assert found.notes == ()
    times = [moment.at_ms for moment in found.moments]
    assert times == sorted(times)
    by_number = await explained(match, record.record)
    assert by_number.action == found.action
    assert by_number.nodes == found.nodes
    shown = "\n".join(_lines(found))
    assert f"accepted as record {record.record} (action)" in shown
    assert "transition: play -> play" in shown
    assert f"{follower} has it" in shown


async def test_what_was_refused_is_told_with_the_reason(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """By the match, or before it came there; the log has neither."""
    async with world.client() as client:
        match, seat = await play(client)
        refused = await seat.dispatch("add", "not a number")
        assert isinstance(refused, Refusal)
        found = await explained(match, ActionKey("0", seat.session, 2))
        assert (found.outcome, found.code) == ("refused", refused.code)
        assert found.record is None
        (owner,) = [trace for trace in found.nodes.values() if trace.decided]
        (judged,) = owner.decided
        assert (judged.record, judged.code) == (None, refused.code)
        assert [told.code for told in owner.answered] == [refused.code]
        shown = "\n".join(_lines(found))
        assert f"refused, {refused.code}" in shown
        unknown = await explained(match, ActionKey("1", 9, 4))
        assert unknown.outcome == "unknown"
        assert "No node remembers it" in unknown.notes[0]


async def test_a_forwarded_and_repeated_action_is_told_as_such(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """The node that it came through says so too; the second time, the first answer was
    given again."""
    async with world.client() as client:
        match, seat = await play(client)
        owner = await operator.owner(match)
        other = next(node for node in world.nodes if node != owner)
        frame = Dispatch(
            0, match, seat.match.epoch, "0", seat.session, 1, "add", pack(4)
        )
        board = world.nodes[other]._switchboard
        for request in (901, 902):
            again = replace(frame, request=request)
            board._request(Route("c4", None, "local"), again, [])
        await anyio.sleep(1)
        found = await explained(match, ActionKey("0", seat.session, 1))
    assert found.outcome == "accepted"
    assert found.times_asked == 3
    mine = found.nodes[owner]
    assert [d.again for d in mine.decided] == [False, True, True]
    assert {a.via for a in mine.arrived} == {"", other}
    assert [f.to for f in found.nodes[other].forwarded] == [owner, owner]
    assert "asked for 3 times" in "\n".join(_lines(found))


async def test_after_a_failover_the_new_owner_says_what_it_knows(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """The record, and when it had it; how it came died with the former owner."""
    async with world.client() as client:
        match, seat = await play(client)
        owner = await operator.owner(match)
        await world.kill(owner)
        assert isinstance(await seat.dispatch("add", 1, timeout_s=50), Accepted)
        found = await explained(match, ActionKey("0", seat.session, 1))
    assert found.outcome == "accepted"
    assert found.record is not None
    assert owner not in found.nodes
    assert any("is gone or was started anew" in note for note in found.notes)
    held = [node for node, trace in found.nodes.items() if trace.held is not None]
    assert len(held) == 1
    assert found.frames


async def test_a_takeover_is_waited_for(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """The owner has just died, and there is no other yet: the log is told even so."""
    async with world.client() as client:
        match, seat = await play(client)
        await world.kill(await operator.owner(match))
        found = await explained(match, ActionKey("0", seat.session, 1))
    assert found.outcome == "accepted"
    assert not any("could not be read" in note for note in found.notes)


async def test_what_cannot_be_asked_for_is_refused(
    world: NodeWorld, operator: Operated, autojump_clock: object
) -> None:
    """By the command, and by the door."""
    async with world.client() as client:
        match, _ = await play(client)
        with pytest.raises(OperatorError) as caught:
            await explained(match, 99)
        assert caught.value.code == "no_such_record"
        for fields in (
            {"match": "x", "record": 1},
            {"match": match},
            {"match": match, "record": -1},
            {"match": match, "action": ["0", "1", 1]},
            {"match": match, "action": ["0", 1]},
        ):
            with pytest.raises(OperatorError) as caught:
                await operator.ask_door("n1", "action", **fields)
            assert caught.value.code == "malformed_request"


def test_a_target_is_a_key_or_a_number() -> None:
    """A seat's name may have colons."""
    assert read_target("12") == 12
    assert read_target("0:1:7") == ActionKey("0", 1, 7)
    assert read_target("a:b:1:7") == ActionKey("a:b", 1, 7)
    for text in ("", "a", "a:b", "0:1:x", "0:1"):
        with pytest.raises(ValueError, match=r"seat:session:action|invalid literal"):
            read_target(text)
