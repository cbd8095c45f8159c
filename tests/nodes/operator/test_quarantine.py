"""An operator sets a match apart on all nodes, and lets it go on as its log has it."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from hotseat.nodes.client import Accepted, Refusal
from hotseat.nodes.operator_error import OperatorError

from ..node.node_world import NodeWorld
from .operated import Operated, play


async def codes(operator: Operated, match: str) -> dict[str, str]:
    """What each node's copy answers with."""
    found: dict[str, str] = {}
    for node in operator.world.nodes:
        row = (await operator.ask_door(node, "match", match=match))["row"]
        found[node] = row["code"]
    return found


async def until(operator: Operated, match: str, code: str) -> None:
    """Wait until all copies say that."""
    with anyio.fail_after(10):
        while set((await codes(operator, match)).values()) != {code}:  # noqa: ASYNC110
            await anyio.sleep(0.05)  # it is known in each node alone


async def test_a_match_set_apart_stands_still_at_every_node(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """Nobody can act, at the next owner neither; released, it goes on where it was."""
    async with world.client() as client:
        match, seat = await play(client)
        done = await operator.about("match.quarantine", match)
        assert done == {"was": "", "new": True}
        answer = await seat.dispatch("add", 1)
        assert isinstance(answer, Refusal)
        assert answer.code == "quarantined"
        await until(operator, match, "quarantined")

        await world.kill(await operator.owner(match))
        answer = await seat.dispatch("add", 1)
        assert isinstance(answer, Refusal)
        assert answer.code == "quarantined"

        done = await operator.about("match.release", match)
        assert (done["was"], done["records"]) == ("quarantined", 3)
        assert isinstance(await seat.dispatch("add", 1), Accepted)
        view = await seat.resync()
        assert not isinstance(view, Refusal)
        assert view.view == {"total": 5}


async def test_a_node_that_was_down_reads_it_when_it_starts(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """It learns of both: that the match is apart, and that it goes on."""
    async with world.client() as client:
        match, seat = await play(client)
        owner = await operator.owner(match)
        other = next(name for name in world.nodes if name != owner)
        await world.kill(other)
        await operator.about("match.quarantine", match)
        await world.start(other)
        await until(operator, match, "quarantined")
        await world.kill(other)
        await operator.about("match.release", match)
        await world.start(other)
        await until(operator, match, "")
        assert isinstance(await seat.dispatch("add", 1), Accepted)


async def test_apart_and_back_again_and_again(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """The last word counts, at every node."""
    async with world.client() as client:
        match, seat = await play(client)
        for count in range(3):
            await operator.about("match.quarantine", match)
            await until(operator, match, "quarantined")
            assert (await operator.about("match.quarantine", match)) == {
                "was": "quarantined",
                "new": False,
            }
            done = await operator.about("match.release", match)
            assert done["records"] == 3 + count
            assert await operator.refused("match.release", match) == "not_set_apart"
            await until(operator, match, "")
            assert isinstance(await seat.dispatch("add", 1), Accepted)
    ends = [(row["verb"], row["code"]) for row in await operator.audit()]
    assert sorted(ends) == sorted(
        3
        * [
            ("match.quarantine", ""),
            ("match.quarantine", ""),
            ("match.release", ""),
            ("match.release", "not_set_apart"),
        ]
    )


async def test_copies_that_differ_are_not_released(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """It is told which; copies of other lengths are on their way, and no reason."""
    async with world.client() as client:
        match, seat = await play(client)
        await operator.about("match.quarantine", match)
        copies: dict[str, Any] = {
            "n1": [3, "aa" * 16, ""],
            "n2": [3, "bb" * 16, "quarantined"],
        }
        with pytest.raises(OperatorError) as caught:
            await operator.about("match.release", match, copies=copies)
        assert caught.value.code == "copies_differ"
        assert "aaaaaaaaaaaaaaaa at n1; bbbbbbbbbbbbbbbb at n2" in caught.value.message
        assert isinstance(await seat.dispatch("add", 1), Refusal)
        assert (
            await operator.refused("match.release", match, copies=[1])
            == "malformed_request"
        )
        copies["n1"][0] = 2
        await operator.about("match.release", match, copies=copies)
        assert isinstance(await seat.dispatch("add", 1), Accepted)


async def test_what_cannot_be_set_apart_is_refused(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """A match that is over, or none."""
    assert await operator.refused("match.quarantine", "a" * 26) == "unknown_match"
    assert await operator.refused("match.release", "a" * 26) == "unknown_match"
    async with world.client() as client:
        match, _ = await play(client)
        await operator.about("match.terminate", match)
        assert await operator.refused("match.quarantine", match) == "game_over"


async def test_a_match_is_ended_without_going_on(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """Set apart, it can be terminated; then it has ended, for all to see."""
    async with world.client() as client:
        match, seat = await play(client)
        await operator.about("match.quarantine", match)
        await until(operator, match, "quarantined")
        assert await operator.about("match.terminate", match) == {
            "revision": 2,
            "record": 3,
        }
        await until(operator, match, "")
        view = await seat.resync()
        assert not isinstance(view, Refusal)
        assert view.ended
        answer = await seat.dispatch("add", 1)
        assert isinstance(answer, Refusal)
        assert answer.code == "game_over"
