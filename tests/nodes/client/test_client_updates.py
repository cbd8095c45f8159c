"""Every update of a place: each step once, and what a page draws beside the view."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from hotseat.engine.definition import define_game, event, state, transition
from hotseat.nodes.client import (
    Accepted,
    KeptUpdate,
    RemoteMatch,
    Seat,
    View,
    WatchEnded,
)
from hotseat.nodes.client.match import UPDATES_KEPT
from hotseat.nodes.client.shell import Client

from .test_client_supervisor import client_of, one_node

counting = define_game(
    name="counting",
    player_ids=["0", "1"],
    events={"add": event(public=True), "more": event()},
    states={
        "play": state(active_players=["0", "1"], label=lambda ctx: f"n is {ctx.G['n']}")
    },
    initial="play",
    setup=lambda ctx: {"n": 0},
    transitions=[
        transition(
            "add",
            "play",
            "play",
            resolve=lambda ctx: {
                "G": {"n": ctx.G["n"] + 1},
                "enqueue": [{"kind": "more", "payload": None}],
            },
        ),
        transition(
            "more", "play", "play", resolve=lambda ctx: {"G": {"n": ctx.G["n"] + 1}}
        ),
    ],
    open_information=True,
)


@asynccontextmanager
async def counted() -> AsyncIterator[tuple[Client, RemoteMatch, Seat]]:
    async with one_node([counting]) as node, client_of(node, "c1") as client:
        match = await client.create("counting", players=["0", "1"])
        assert isinstance(match, RemoteMatch), match
        seat = await match.take("0")
        assert isinstance(seat, Seat), seat
        yield client, match, seat


async def add(seat: Seat) -> int:
    outcome = await seat.dispatch("add")
    assert isinstance(outcome, Accepted), outcome
    return outcome.revision


def steps_of(update: KeptUpdate) -> list[tuple[int, object]]:
    return [(step["revision"], step["view"]["n"]) for step in update.view.steps]


async def test_each_step_comes_once_with_its_own_view(autojump_clock: object) -> None:
    """A place that wants every update sees each step, and the view after each."""
    async with counted() as (_, match, seat):
        updates = match.watch().updates()
        first = await anext(updates)
        assert (first.view.revision, first.view.shown["label"]) == (0, "n is 0")
        for _ in range(3):
            await add(seat)
        seen: list[tuple[int, object]] = []
        while len(seen) < 6:
            seen += steps_of(await anext(updates))
        assert seen == [(n, n) for n in range(1, 7)]


async def test_a_late_reader_goes_on_with_the_newest(autojump_clock: object) -> None:
    """Who lags by more than is kept gets the newest view, not a gap without a word."""
    async with counted() as (_, match, seat):
        updates = match.watch().updates()
        await anext(updates)
        for _ in range(UPDATES_KEPT + 5):
            newest = await add(seat)
        await anyio.sleep(1)
        assert (await anext(updates)).view.revision == newest


async def test_who_was_away_gets_the_steps_it_missed(autojump_clock: object) -> None:
    """With the revision it saw, a place is sent all steps after it, and no other."""
    async with counted() as (_, match, seat):
        seen = await add(seat)
        await add(seat)
        await add(seat)
        update = await anext(match.watch().updates(since=seen))
        assert [revision for revision, _ in steps_of(update)] == [3, 4, 5, 6]


async def test_a_place_alone_ends_the_older_ones(autojump_clock: object) -> None:
    """A seat that is taken alone leaves its other sessions to nobody."""
    async with counted() as (_, match, seat):
        newer = await match.take("0", seat.resume, fresh=True, alone=True)
        assert isinstance(newer, Seat)
        assert newer.session == seat.session + 1
        refused = await seat.dispatch("add")
        assert not isinstance(refused, Accepted)
        assert refused.code == "not_seated"
        with pytest.raises(WatchEnded, match="not_seated"):
            await anext(seat.updates())
        await add(newer)


async def test_a_caller_may_count_its_actions(autojump_clock: object) -> None:
    """The same number again is the same action, and is applied once."""
    async with counted() as (_, match, seat):
        one = await seat.dispatch("add", action=7)
        assert await seat.dispatch("add", action=7) == one
        assert seat.next_action == 8
        view = await match.watch().resync()
        assert isinstance(view, View)
        assert view.revision == 2


async def test_large_updates_are_not_kept_long(autojump_clock: object) -> None:
    """What is kept of a place is bounded in bytes, too; the newest is always there."""
    async with counted() as (_, match, seat):
        updates = match.watch().updates()
        first = await anext(updates)
        for _ in range(3):
            newest = await seat.dispatch("add", "x" * 12_000)
        await anyio.sleep(1)
        assert isinstance(newest, Accepted)
        assert (await anext(updates)).view.revision == newest.revision
        assert first.bytes < 100
