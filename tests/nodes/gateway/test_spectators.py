"""Those who watch: all there is to see, each step once, at nobody's cost."""

from __future__ import annotations

import math
from typing import Any

import anyio
import pytest

from hotseat.config import GatewayConfig
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client import Accepted, RemoteMatch, Seat

from .hosted_games import countdown
from .rig import Message, Page, Rig, rig

MOVES = 30


async def seats_of(match: RemoteMatch) -> list[Seat]:
    seats = [await match.take(name) for name in match.seats]
    assert all(isinstance(seat, Seat) for seat in seats)
    return seats  # type: ignore[return-value]


async def play(seats: list[Seat], moves: int) -> list[Accepted]:
    outcomes = [await seats[n % 2].dispatch("move") for n in range(moves)]
    assert all(isinstance(outcome, Accepted) for outcome in outcomes)
    return outcomes  # type: ignore[return-value]


def watch(rigged: Rig, match: RemoteMatch, **how: Any) -> Page:
    return rigged.open(match.id, rigged.watch_token(match), **how)


def revisions(heard: list[Message]) -> list[int]:
    """Of the first snapshot, and of each step after it; another snapshot is a gap."""
    first, *rest = heard
    assert "type" not in first
    seen = [first["revision"]]
    for message in rest:
        assert message["type"] == "batch_applied"
        seen += [step["snapshot"]["revision"] for step in message["steps"]]
    return seen


async def test_there_is_no_gap_between_snapshot_and_stream(
    autojump_clock: object,
) -> None:
    """Whoever comes in the middle of the moves, at any gateway, has a snapshot and then
    every step after it, once: none was lost while they came in."""
    async with rig([countdown], gateways=2) as gateway:
        match = await gateway.create("countdown", ["0", "1"])
        seats = await seats_of(match)
        pages: list[Page] = []
        async with anyio.create_task_group() as tasks:

            async def come() -> None:
                for number in range(20):
                    pages.append(watch(gateway, match, gateway=number % 2))
                    for _ in range(number % 7):
                        await anyio.lowlevel.checkpoint()

            tasks.start_soon(come)
            await play(seats, MOVES)
        begun = set()
        for page in pages:
            while (await page.hear())["revision"] < 2 * MOVES:
                pass
            seen = revisions(page.heard)
            assert seen == list(range(seen[0], 2 * MOVES + 1))
            begun.add(seen[0])
        assert len(begun) > 3  # they came at different times


@pytest.mark.parametrize("take_in", [0, 1])
async def test_who_watches_slowly_slows_no_player(
    take_in: int, autojump_clock: object
) -> None:
    """However many take nothing, moves are answered at once; who takes something again
    has the newest snapshot before what comes after it."""
    options = GatewayConfig(send_timeout_s=60)
    async with rig([countdown], options=options) as gateway:
        match = await gateway.create("countdown", ["0", "1"])
        player = gateway.sit(match, "0")
        await player.hear()
        slow = [watch(gateway, match, take_in=take_in) for _ in range(20)]
        quick = watch(gateway, match, take_in=math.inf)
        await quick.hear()
        other = await match.take("1")
        assert isinstance(other, Seat)
        begun = anyio.current_time()
        for number in range(40):
            await player.say(
                type="action",
                matchID=match.id,
                playerID="0",
                event="move",
                payload=None,
                clientActionID=f"a{number}",
            )
            told = await player.hear_type("batch_applied")
            assert told["ackClientActionID"] == f"a{number}"
            await other.dispatch("move")
            await player.hear_type("batch_applied")
            await anyio.sleep(0.1)  # within the bound on messages
        assert anyio.current_time() - begun < 5
        while quick.heard[-1]["revision"] < 160:
            await quick.hear()
        assert revisions(quick.heard) == list(range(161))
        for page in slow:
            while (await page.hear())["revision"] < 160:
                pass
            assert len(page.heard) < 10
            whole = [message for message in page.heard if "type" not in message]
            assert whole[-1]["revision"] > whole[0]["revision"]


async def test_all_who_watch_are_told_the_same_bytes(autojump_clock: object) -> None:
    """A seat's page is told what is its own; spectators, whoever they are, what is
    everybody's."""
    async with rig([tic_tac_toe]) as gateway:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        seats = await seats_of(match)
        pages = [watch(gateway, match) for _ in range(3)]
        for page in pages:
            assert "playerID" not in await page.hear()
        await seats[0].dispatch("place", {"cell": 4})
        told = [await page.hear() for page in pages]
        assert told[0] == told[1] == told[2]
        assert "playerID" not in told[0]["snapshot"]
