"""The client library against small nodes on memory links."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.engine.machine import compile_game
from hotseat.nodes.client.match import RemoteMatch, Seat
from hotseat.nodes.client.options import ClientOptions
from hotseat.nodes.client.outcome import (
    Accepted,
    ClusterUnreachable,
    OutcomeUnknown,
    Refusal,
    WatchEnded,
)
from hotseat.nodes.client.shell import Client
from hotseat.nodes.client.view import View
from hotseat.runtime import frame as wire
from hotseat.runtime.match import replay_match

from ..node.small_node import Cluster, SmallNode

IMPATIENT = ClientOptions(timeout_s=2.0, attempt_s=0.5, watch_idle_s=1.0)


def cluster() -> Cluster:
    return Cluster([tic_tac_toe])


async def created(client: Client, key: str | None = None) -> RemoteMatch:
    match = await client.create(tic_tac_toe.name, players=["0", "1"], key=key)
    assert isinstance(match, RemoteMatch), match
    return match


async def seated(match: RemoteMatch, name: str) -> Seat:
    seat = await match.take(name)
    assert isinstance(seat, Seat), seat
    return seat


@asynccontextmanager
async def seat_of(
    options: ClientOptions | None = None,
) -> AsyncIterator[tuple[SmallNode, RemoteMatch, Seat]]:
    """Seat 0 of a match at the only node, taken by a client."""
    rig = cluster()
    async with rig.node("n1") as node, rig.client(options) as client:
        match = await created(client)
        yield node, match, await seated(match, "0")


async def first_legal(seat: Seat) -> tuple[str, Any]:
    view = await seat.resync(legal=True)
    assert isinstance(view, View), view
    assert view.legal
    return view.legal[0]


async def play_out(*seats: Seat) -> None:
    """Play the first legal action at every turn until the match has ended."""
    while True:
        for seat in seats:
            view = await seat.resync(legal=True)
            assert isinstance(view, View)
            if view.ended:
                return
            if view.my_turn:
                assert view.legal
                outcome = await seat.dispatch(*view.legal[0])
                assert isinstance(outcome, Accepted)


async def test_a_match_from_creation_to_its_log(autojump_clock: object) -> None:
    """Create, sit down, play to the end, fetch a log that replays to the last view."""
    rig = cluster()
    async with rig.node("n1"), rig.client() as client:
        match = await created(client)
        seats = [await seated(match, name) for name in match.seats]
        await play_out(*seats)
        records = await match.log()
        assert isinstance(records, list)
        state = replay_match(compile_game(tic_tac_toe), records)
        last = seats[0].view
        assert last is not None
        assert last.ended
        assert last.revision == state.revision


async def test_views_come_as_they_are_committed(autojump_clock: object) -> None:
    """A watcher sees commits, the revision rises, the stream ends with the match."""
    rig = cluster()
    async with rig.node("n1"), rig.client() as client:
        match = await created(client)
        seats = [await seated(match, name) for name in match.seats]
        seen: list[View] = []

        async def watch() -> None:
            seen.extend([view async for view in match.watch().views()])

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch)
            await play_out(*seats)
        revisions = [view.revision for view in seen]
        assert revisions == sorted(set(revisions))
        assert seen[-1].ended
        assert len(seen) > 3


async def test_a_slow_reader_gets_the_newest_view(autojump_clock: object) -> None:
    """Views that nobody took are replaced: a slow reader skips to the newest."""
    rig = cluster()
    async with rig.node("n1"), rig.client() as client:
        match = await created(client)
        seats = [await seated(match, name) for name in match.seats]
        views = match.watch().views()
        first = await anext(views)
        await play_out(*seats)
        await anyio.sleep(0.1)
        second = await anext(views)
        assert (first.revision, second.ended) == (0, True)
        with pytest.raises(StopAsyncIteration):
            await anext(views)


async def test_a_refusal_is_returned_with_the_games_reason(
    autojump_clock: object,
) -> None:
    """A no comes back as a value: code, message, reason, details, revision."""
    rig = cluster()
    async with rig.node("n1"), rig.client() as client:
        match = await created(client)
        first, second = [await seated(match, name) for name in match.seats]
        event, payload = await first_legal(first)
        assert isinstance(await first.dispatch(event, payload), Accepted)
        refusal = await first.dispatch(event, payload)
        assert isinstance(refusal, Refusal)
        assert (refusal.code, refusal.revision) == ("inactive_player", 1)
        refusal = await second.dispatch(event, payload)
        assert isinstance(refusal, Refusal)
        assert refusal.code == "invalid_event"
        assert refusal.reason is not None
        stale = await second.dispatch(event, payload, base_revision=0)
        assert isinstance(stale, Refusal)
        assert stale.code == "stale_revision"


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (nested(20_000), "too_deep"),
        ("x" * 50_000_000, "too_large"),
        ({"a": {1, 2}}, "non_serializable_args"),
        (float("nan"), "non_serializable_args"),
        ("\ud800", "non_serializable_args"),
    ],
    ids=["deep", "large", "set", "nan", "surrogate"],
)
async def test_b30_what_cannot_be_sent_is_refused_here(
    payload: Any, code: str, autojump_clock: object
) -> None:
    """The sender's codec refuses bad payloads; nothing is sent; the next move works."""
    async with seat_of() as (node, _, seat):
        refusal = await seat.dispatch("anything", payload)
        assert isinstance(refusal, Refusal)
        assert refusal.code == code
        assert node.count(wire.Dispatch) == 0
        assert isinstance(await seat.dispatch(*await first_legal(seat)), Accepted)


async def test_b01_a_lost_answer_is_asked_for_with_the_same_key(
    autojump_clock: object,
) -> None:
    """The acknowledgement is lost: the action is applied once and the answer comes."""
    async with seat_of(IMPATIENT) as (node, match, seat):
        event, payload = await first_legal(seat)
        node.lose = _first(wire.Accepted)
        outcome = await seat.dispatch(event, payload)
        assert isinstance(outcome, Accepted)
        assert (outcome.action, outcome.revision) == (1, 1)
        assert node.count(wire.Dispatch) == 2
        assert node.matches[match.id].state.revision == 1


async def test_an_unknown_outcome_is_raised_and_can_be_asked_about(
    autojump_clock: object,
) -> None:
    """After the deadline the outcome is unknown; its key then tells what it became."""
    async with seat_of(IMPATIENT) as (node, _, seat):
        event, payload = await first_legal(seat)
        node.lose = lambda answer: isinstance(answer, wire.Accepted)
        with pytest.raises(OutcomeUnknown) as unknown:
            await seat.dispatch(event, payload)
        node.lose = lambda answer: False
        key = unknown.value.key
        assert isinstance(key, int)
        outcome = await seat.ask_again(key)
        assert isinstance(outcome, Accepted)
        assert (outcome.action, outcome.revision) == (key, 1)
        with pytest.raises(KeyError):
            await seat.ask_again(key)


async def test_a_cancelled_dispatch_can_be_asked_about(
    autojump_clock: object,
) -> None:
    """Who gives up waiting still has the key, and learns what became of it."""
    async with seat_of() as (node, _, seat):
        event, payload = await first_legal(seat)
        node.lose = _first(wire.Accepted)
        with anyio.move_on_after(0.1):
            await seat.dispatch(event, payload)
        assert seat.unknown == (1,)
        outcome = await seat.ask_again(1)
        assert isinstance(outcome, Accepted)
        assert not seat.unknown


async def test_a_busy_node_is_asked_again_and_then_believed(
    autojump_clock: object,
) -> None:
    """`busy` is retried until the deadline; then it is the answer, without a doubt."""
    async with seat_of(IMPATIENT) as (node, _, seat):
        event, payload = await first_legal(seat)
        node.answer_instead = lambda frame: (
            wire.Refused(frame.request, "busy", "later")
            if isinstance(frame, wire.Dispatch)
            else None
        )
        refusal = await seat.dispatch(event, payload)
        assert refusal == Refusal("busy", "later")
        assert 3 < node.count(wire.Dispatch) < 12
        node.answer_instead = lambda frame: None
        assert isinstance(await seat.dispatch(event, payload), Accepted)


async def test_creating_twice_with_one_key_is_one_match(autojump_clock: object) -> None:
    """The same key names the same match; an acknowledged create is not sent again."""
    rig = cluster()
    async with rig.node("n1") as node, rig.client() as client:
        match = await created(client, "k")
        again = await created(client, "k")
        assert again.id == match.id
        assert node.count(wire.CreateMatch) == 1
        other = await client.create(tic_tac_toe.name, players=["1"], key="k")
        assert isinstance(other, Refusal)
        assert other.code == "key_reused"


async def test_a_create_without_an_answer_is_sent_again(autojump_clock: object) -> None:
    """A lost `Created` is asked for with the same key: one match, not two."""
    rig = cluster()
    async with rig.node("n1") as node, rig.client(IMPATIENT) as client:
        node.lose = _first(wire.Created)
        await created(client, "k")
        assert node.count(wire.CreateMatch) == 2
        assert len(node.matches) == 1


async def test_taking_a_seat_survives_a_lost_answer(autojump_clock: object) -> None:
    """The client draws the token, so a repeat resumes the seat it had taken."""
    rig = cluster()
    async with rig.node("n1") as node, rig.client(IMPATIENT) as client:
        match = await created(client)
        node.lose = _first(wire.Seated)
        seat = await seated(match, "0")
        assert seat.session == 1
        taken = await match.take("0")
        assert isinstance(taken, Refusal)
        assert taken.code == "seat_taken"
        resumed = await match.take("0", seat.resume)
        assert isinstance(resumed, Seat)
        assert resumed.session == 1


async def test_a_restarted_node_says_that_the_match_is_lost(
    autojump_clock: object,
) -> None:
    """The creation epoch goes with each message: nothing is started anew."""
    rig = cluster()
    async with rig.client_and_restart() as (client, match, seat, event, restarted):
        outcome = await seat.dispatch(*event)
        assert isinstance(outcome, Refusal)
        assert outcome.code == "match_lost"
        assert restarted.count(wire.CreateMatch) == 0
        assert (await created(client, "another")).epoch > match.epoch


async def test_a_match_that_moves_is_followed(autojump_clock: object) -> None:
    """`moved` is followed; dispatch and views go on at the new owner."""
    rig = cluster()
    async with rig.node("n1") as one, rig.node("n2") as two, rig.client() as client:
        match = await created(client)
        seats = [await seated(match, name) for name in match.seats]
        views = match.watch().views()
        assert (await anext(views)).revision == 0
        one.hand_over(two, match.id)
        await play_out(*seats)
        last = await anext(views)
        assert last.revision > 0
        assert two.count(wire.Dispatch) > 0
        assert two.count(wire.Sync) >= 3


async def test_a_link_that_drops_is_not_noticed_by_the_player(
    autojump_clock: object,
) -> None:
    """Views and actions go on over a link that was dropped under them."""
    rig = cluster()
    async with rig.node("n1"), rig.client(IMPATIENT) as client:
        match = await created(client)
        seats = [await seated(match, name) for name in match.seats]
        views = match.watch().views()
        await anext(views)
        for place in range(4):
            rig.network.drop("client-1", "n1")
            seat = seats[place % 2]
            assert isinstance(await seat.dispatch(*await first_legal(seat)), Accepted)
            view = await anext(views)
            while view.revision <= place:
                view = await anext(views)


async def test_a_watch_over_a_lost_match_says_why_it_ends(
    autojump_clock: object,
) -> None:
    """The stream does not just stop: it raises `WatchEnded` with the refusal."""
    rig = cluster()
    async with rig.client_and_restart() as (_, _, seat, _, _):
        with pytest.raises(WatchEnded) as ended:
            async for _ in seat.views():
                pass
        assert ended.value.refusal.code == "match_lost"


async def test_too_many_outstanding_are_refused(autojump_clock: object) -> None:
    """A client bounds what it has outstanding: one more is `busy`, at once."""
    rig = cluster()
    options = ClientOptions(requests_max=2)
    async with rig.node("n1") as node, rig.client(options) as client:
        match = await created(client)
        node.lose = lambda answer: isinstance(answer, wire.Seated)
        async with anyio.create_task_group() as tasks:
            for name in match.seats:
                tasks.start_soon(match.take, name)
            await anyio.sleep(0.1)
            refusal = await match.take("0")
            assert isinstance(refusal, Refusal)
            assert refusal.code == "busy"
            tasks.cancel_scope.cancel()
        node.lose = lambda answer: False
        assert isinstance(await created(client), RemoteMatch)


async def test_without_a_node_connecting_fails_clearly(autojump_clock: object) -> None:
    """`ClusterUnreachable`, unwrapped, within the time that the options give."""
    rig = cluster()
    with pytest.raises(ClusterUnreachable):
        async with rig.client(IMPATIENT):
            pytest.fail("there is nothing to connect to")


async def test_what_the_block_raises_is_not_wrapped(autojump_clock: object) -> None:
    """An error of the user's own code leaves `connect` as it is."""
    rig = cluster()
    async with rig.node("n1"):
        with pytest.raises(ZeroDivisionError):
            async with rig.client():
                raise ZeroDivisionError


def test_it_works_on_asyncio() -> None:
    """The same library on the other backend."""

    async def main() -> None:
        rig = cluster()
        async with rig.node("n1"), rig.client() as client:
            match = await created(client)
            await play_out(*[await seated(match, name) for name in match.seats])

    anyio.run(main)


def _first(kind: type[wire.Response]) -> Callable[[wire.Response], bool]:
    """Lose the first answer of a kind."""
    lost: list[wire.Response] = []

    def lose(answer: wire.Response) -> bool:
        if isinstance(answer, kind) and not lost:
            lost.append(answer)
            return True
        return False

    return lose
