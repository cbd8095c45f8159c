"""An operator ends a match, or lets a seat give up: committed, on record, once."""

from __future__ import annotations

from hotseat.nodes.client import Accepted, Refusal

from ..node.node_world import NodeWorld
from .operated import Operated, play


async def test_a_terminated_match_has_ended_for_all(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """Who sits there is shown the end; nothing more is accepted; the audit has it."""
    async with world.client() as client:
        match, seat = await play(client)
        views = seat.views()
        done = await operator.about("match.terminate", match)
        assert done == {"revision": 2, "record": 3}
        async for view in views:
            if view.ended:
                break
        assert "because" in repr(view.result)
        answer = await seat.dispatch("add", 1)
        assert isinstance(answer, Refusal)
        assert answer.code == "game_over"
    assert await operator.refused("match.terminate", match) == "game_over"
    rows = sorted(
        await operator.audit(), key=lambda row: str(row["code"]), reverse=True
    )
    assert [(row["state"], row["code"]) for row in rows] == [
        ("failed", "game_over"),
        ("done", ""),
    ]
    assert (rows[1]["who"], rows[1]["why"], rows[1]["target"]) == (
        "ann",
        "because",
        match,
    )
    assert rows[1]["node"] == await operator.owner(match)


async def test_a_seat_gives_up_by_the_games_rule(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """As if its player had; a seat that is none is refused."""
    async with world.client() as client:
        match, seat = await play(client)
        assert await operator.refused("match.resign-seat", match, seat="x") == (
            "unknown_seat"
        )
        assert await operator.refused("match.resign-seat", match, seat=5) == (
            "malformed_request"
        )
        await operator.about("match.resign-seat", match, seat="1")
        view = await seat.resync()
        assert not isinstance(view, Refusal)
        assert (view.ended, view.result) == (True, {"lost": "1"})


async def test_a_lost_answer_is_asked_for_again_and_done_once(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """The answers of the first two tries get lost; the match ends once."""
    async with world.client() as client:
        match, _ = await play(client)
        operator.lose = 2
        done = await operator.about("match.terminate", match)
        assert done == {"revision": 2, "record": 3}
    assert [row["state"] for row in await operator.audit()] == ["done"]


async def test_any_node_may_be_asked(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """One that does not serve the match names who does, and keeps no record."""
    async with world.client() as client:
        match, _ = await play(client)
        owner = await operator.owner(match)
        other = next(name for name in world.nodes if name != owner)
        outcome = await operator.operate("match.terminate", match)
        asked = [node for node, op in operator.asked if op == "operate"]
        assert outcome.node == owner
        assert asked in ([owner], [other, owner])
        assert len(await operator.audit()) == 1


async def test_a_command_survives_its_matchs_owner(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """Its owner dies; the next one is asked, and does it."""
    async with world.client() as client:
        match, _ = await play(client)
        owner = await operator.owner(match)
        await world.kill(owner)
        (other,) = world.nodes
        done = await operator.operate("match.terminate", match, match=match)
        assert done.node == other


async def test_an_owner_that_is_cut_off_holds_no_command_up(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """Whoever can commit does it; the match ends once."""
    async with world.client() as client:
        match, _ = await play(client)
        owner = await operator.owner(match)
        world.isolate(owner)
        world.coordinators[owner].down = False
        done = await operator.about("match.terminate", match)
        assert done == {"revision": 2, "record": 3}
        world.heal(owner)
    assert [row["state"] for row in await operator.audit()] == ["done"]


async def test_without_the_coordinator_nothing_is_done(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """The match goes on, and the operator is told why."""
    async with world.client() as client:
        match, seat = await play(client)
        for coordinator in world.coordinators.values():
            coordinator.down = True
        assert await operator.refused("match.terminate", match) == "coordinator_away"
        assert isinstance(await seat.dispatch("add", 1), Accepted)


async def test_what_is_no_match_is_refused(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """By name, whether it cannot be one, or is none."""
    assert await operator.refused("match.terminate", "a" * 26) == "unknown_match"
    assert await operator.refused("match.terminate", "x") == "malformed_request"


async def test_a_seed_is_told_when_nothing_hangs_on_it(
    autojump_clock: object, world: NodeWorld, operator: Operated
) -> None:
    """Of an ended match, or with leave; the audit says that it was told, and not what.

    The seed told is that of the log."""
    async with world.client() as client:
        match, _ = await play(client)
        assert await operator.refused("match.reveal-seed", match) == "match_running"
        early = await operator.about("match.reveal-seed", match, running=True)
        await operator.about("match.terminate", match)
        late = await operator.about("match.reveal-seed", match)
        assert (early["ended"], late["ended"]) == (False, True)
        records = await client.join(match, 1).log()
        assert not isinstance(records, Refusal)
        assert early["seed"] == late["seed"] == records[0].input["seed"]
    rows = [r for r in await operator.audit() if r["verb"] == "match.reveal-seed"]
    assert sorted(row["state"] for row in rows) == ["done", "done", "failed"]
    store = world.store
    said = [entry.value for entry in store.list("/hotseat/v1-op/").entries]
    assert not [value for value in said if late["seed"].encode() in value]
