"""Scenarios of hidden information: every byte that a node sends to other clients.

A is Alice at seat 0, B is Bob at seat 1, W watches. What is compared are encoded
frames, as they go over a link.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec
import pytest
from structlog.testing import capture_logs

from hotseat.engine import (
    REFUSALS,
    Game,
    create_session,
    define_game,
    enqueue,
    event,
    state,
    transition,
    views,
)
from hotseat.engine.games import (
    battleship,
    crazy_eights,
    rock_paper_scissors,
    sealed_auction,
)
from hotseat.engine.inspector import Inspector
from hotseat.engine.replay import open_timeline
from hotseat.runtime.codec import encode_frame, pack, unpack
from hotseat.runtime.frame import (
    FetchLog,
    Refused,
    Response,
    Seated,
    Sync,
    TakeSeat,
    ViewUpdate,
)
from hotseat.runtime.route import Route

from ..runtime.hosting import (
    ALICE,
    BOB,
    TOKEN_A,
    TOKEN_B,
    WATCHER,
    dispatch,
    view_of,
)
from ..runtime.node_stage import EPOCH, NodeStage, node_stage
from ..runtime.sample_games import sealed_bid

SEVEN = "a sealed 7"  # as what A bids, it can be told from every other seven


class Table:
    """A hosted match of A and B, with W watching, and all that is sent to each."""

    def __init__(self, node: NodeStage, match: str) -> None:
        self.node = node
        self.match = match
        self.sent: dict[str, list[Response]] = {}
        self._actions = {"0": 0, "1": 0}
        deliver = node.outlet.deliver

        def keep(route: Route, frame: Response) -> None:
            self.sent.setdefault(route.peer, []).append(frame)
            deliver(route, frame)

        setattr(node.outlet, "deliver", keep)  # noqa: B010 (mypy minds a method)

    def bytes_to(self, *peers: str) -> list[bytes]:
        """Every frame that was sent to these, encoded."""
        return [encode_frame(f) for peer in peers for f in self.sent.get(peer, ())]

    async def act(self, seat: str, event: str, payload: Any = None) -> Response:
        """Take the seat's next action."""
        self._actions[seat] += 1
        return await self.node.act(
            self.match, seat, self._actions[seat], event, payload
        )

    async def watch(self, route: Route, seat: str = "") -> Response:
        """Get the view now and every later one; a seat's with its legal actions."""
        sync = Sync(0, self.match, EPOCH, seat, 1, legal=bool(seat))
        return await self.node.ask(route, sync)


@asynccontextmanager
async def table(game: Game, *, watched: bool = True) -> AsyncIterator[Table]:
    async with node_stage(game) as node:
        hosted = Table(node, await node.seated(game.name))
        if watched:
            await hosted.watch(ALICE, "0")
            await hosted.watch(BOB, "1")
            await hosted.watch(WATCHER)
        yield hosted


async def test_b36_a_sealed_bid_leaves_no_trace() -> None:
    """B36: not in a view, a step, an answer, a refusal, a log line or a log page."""
    game = sealed_bid()
    with capture_logs() as lines:
        async with table(game) as hosted:
            node, match = hosted.node, hosted.match
            await hosted.act("0", "bid", {"amount": SEVEN})
            await node.act(match, "0", 1, "bid", {"amount": SEVEN})  # a repeat
            await node.act(match, "0", 1, "bid", {"amount": 1})  # its key again
            for seat, action, name in (("0", 8, "bid"), ("1", 9, "peek")):
                answer = dispatch(0, match, seat, action, name, None)
                assert isinstance(await node.ask(BOB, answer), Refused)
            assert await node.refused(BOB, FetchLog(0, match, EPOCH)) == "match_running"
            assert (
                await node.refused(BOB, Sync(0, match, EPOCH, "0", 1)) == "not_seated"
            )
            await hosted.watch(BOB, "1")
            await hosted.watch(WATCHER)
            sent = hosted.bytes_to("bob", "watcher")
            assert len(sent) >= 8
            assert not [frame for frame in sent if SEVEN.encode() in frame]
            assert SEVEN not in str(node.supervisor.statistics())
            assert SEVEN in str(list(map(unpack_view, hosted.sent["alice"])))
            await hosted.act("1", "bid", {"amount": 1})
            assert SEVEN.encode() in hosted.bytes_to("watcher")[-1]  # it is out now
    assert SEVEN not in str(lines)


def test_b36_nor_in_a_replay_that_others_look_at() -> None:
    """B36: at every revision before it is opened, as another seat or a spectator."""
    session = create_session(sealed_bid(), {"players": ["0", "1"]})
    session.apply("0", "bid", {"amount": SEVEN}, now=1)
    session.apply("1", "bid", {"amount": 1}, now=2)
    inspector = Inspector(open_timeline(session.game, session.log))

    def seen(seat: str | None) -> list[bool]:
        frames = (inspector.seen(n, seat) for n in range(inspector.head + 1))
        return [SEVEN.encode() in msgspec.msgpack.encode(frame) for frame in frames]

    assert session.result == {"bids": {"0": {"amount": SEVEN}, "1": {"amount": 1}}}
    assert seen("0") == [False, True, True]
    assert seen("1") == seen(None) == [False, False, True]


def unpack_view(frame: Response) -> Any:
    return view_of(frame) if isinstance(frame, ViewUpdate) else None


PLACES = [{"cell": cell, "across": True} for cell in (0, 8, 16)]
JUNK = ["no such payload"] * 20
SECRETS: dict[str, tuple[Game, str, Sequence[Any], Sequence[tuple[str, Any]]]] = {
    "a choice": (
        rock_paper_scissors.game,
        "choose",
        [{"hand": hand} for hand in ("rock", "paper", "scissors")],
        [("choose", JUNK)],
    ),
    "a bid": (
        sealed_auction.game,
        "bid",
        [{"amount": amount} for amount in (0, 7, 12)],
        [("bid", {"amount": 13}), ("bid", JUNK)],
    ),
    "a bid of any size": (
        sealed_bid(),
        "bid",
        [7, 2**40, None, "seven" * 100, [[]] * 9],
        [("ask", JUNK)],
    ),
    "a fleet": (
        battleship.game,
        "place",
        [{"cell": cell, "across": cell < 9} for cell in (0, 8, 24)],
        [*(("place", place) for place in PLACES), ("place", JUNK), ("shoot", JUNK)],
    ),
}


@pytest.mark.parametrize("name", SECRETS)
async def test_b37_matches_that_differ_in_a_secret_look_the_same(name: str) -> None:
    """B37: every byte sent to B and W is the same, so every size is too."""
    game, secret_event, secrets, moves = SECRETS[name]
    seen = []
    for secret in secrets:
        async with table(game) as hosted:
            await hosted.act("0", secret_event, secret)
            for move, payload in moves:
                await hosted.act("1", move, payload)
            await hosted.watch(BOB, "1")
            late = Route("late")
            await hosted.watch(late)
            seen.append(hosted.bytes_to("bob", "watcher", "late"))
    assert len(seen[0]) > 6
    assert all(frames == seen[0] for frames in seen[1:])


async def test_b37_the_comparison_can_fail() -> None:
    """Once the secret is out, W is sent something else."""
    seen = []
    for hand in ("rock", "paper"):
        async with table(rock_paper_scissors.game) as hosted:
            await hosted.act("0", "choose", {"hand": hand})
            await hosted.act("1", "choose", {"hand": "rock"})
            seen.append(hosted.bytes_to("watcher"))
    assert seen[0][:2] == seen[1][:2]
    assert seen[0][2] != seen[1][2]


async def test_b39_a_late_spectator_sees_what_is_public() -> None:
    """B39: one full view; no name of a card that does not lie open."""
    async with table(crazy_eights.game) as hosted:
        await hosted.act("0", "deal")
        for seat in "0101":
            await hosted.act(seat, "draw")
            await hosted.act(seat, "pass")
        late = Route("late")
        update = await hosted.watch(late)
        assert isinstance(update, ViewUpdate)
        top = view_of(update)["top"]
        assert view_of(update)["cards"] == {"0": 7, "1": 7}
        assert "myHand" not in view_of(update)
        assert unpack(update.steps) == []
        assert named(hosted.bytes_to("late", "watcher")) == {top}
        hand = view_of(updates_to(hosted, "alice")[-1])["myHand"]
        assert named(hosted.bytes_to("alice")) >= {*hand, top}


def named(frames: Sequence[bytes]) -> set[str]:
    """The cards that these frames name, as msgpack writes a text of two letters."""
    everything = b"".join(frames)
    return {card for card in crazy_eights.DECK if b"\xa2" + card.encode() in everything}


async def test_b40_who_comes_back_gets_the_own_view() -> None:
    """B40: on other devices; the devices that they left get nothing any more."""
    async with dealt() as (hosted, hands):
        for route, seat in ((PHONE, "0"), (TABLET, "1")):
            assert await returned(hosted, route, seat) == hands[seat]
        hosted.sent.clear()
        await hosted.node.ask(PHONE, dispatch(0, hosted.match, "0", 2, "draw"))
        assert hosted.sent.keys() == {"phone", "tablet", "watcher"}
        assert sees_only(hosted, "phone", hands["1"])
        assert sees_only(hosted, "tablet", hands["0"])


async def test_b40_who_swaps_seats_gets_the_other_view_with_its_token_alone() -> None:
    """Each with the other's token: from then on that seat's view, and no more."""
    async with dealt() as (hosted, hands):
        for route, seat in ((BOB, "0"), (ALICE, "1")):
            hers = Sync(0, hosted.match, EPOCH, seat, 1)
            assert await hosted.node.refused(route, hers) == "not_seated"
            assert await returned(hosted, route, seat) == hands[seat]
        hosted.sent.clear()
        await hosted.node.ask(BOB, dispatch(0, hosted.match, "0", 2, "draw"))
        assert [u.seat for u in updates_to(hosted, "bob")] == ["0"]
        assert sees_only(hosted, "bob", hands["1"])
        assert [u.seat for u in updates_to(hosted, "alice")] == ["1"]
        assert sees_only(hosted, "alice", hands["0"])


PHONE, TABLET = Route("phone"), Route("tablet")


@asynccontextmanager
async def dealt() -> AsyncIterator[tuple[Table, dict[str, list[str]]]]:
    """Crazy eights, once the cards are dealt; and the hand of each seat."""
    async with table(crazy_eights.game) as hosted:
        await hosted.act("0", "deal")
        hands = {
            update.seat: view_of(update)["myHand"]
            for peer in ("alice", "bob")
            for update in updates_to(hosted, peer)
        }
        assert not set(hands["0"]) & set(hands["1"])
        yield hosted, hands


async def returned(hosted: Table, route: Route, seat: str) -> Any:
    """Take a seat back with its token; the hand that is then seen."""
    token = {"0": TOKEN_A, "1": TOKEN_B}[seat]
    take = TakeSeat(0, hosted.match, EPOCH, seat, token)
    assert isinstance(await hosted.node.ask(route, take), Seated)
    update = await hosted.watch(route, seat)
    assert isinstance(update, ViewUpdate)
    return view_of(update)["myHand"]


def updates_to(hosted: Table, peer: str) -> list[ViewUpdate]:
    return [f for f in hosted.sent.get(peer, ()) if isinstance(f, ViewUpdate)]


def sees_only(hosted: Table, peer: str, hidden: Sequence[str]) -> bool:
    """Whether all that it was sent names its hand and the top, and no hidden card."""
    view = view_of(updates_to(hosted, peer)[-1])
    shown = named(hosted.bytes_to(peer))
    return shown == {*view["myHand"], view["top"]} and not shown & {*hidden}


LANTERN = "the lantern"


def lantern(*, breaks: bool = False) -> Game:
    """A's card lies open or not. With `breaks`, B's view names it and fails."""

    def turn(ctx: Any) -> Any:
        return {"G": {**ctx.G, "open": not ctx.G["open"]}}

    def public(ctx: Any) -> Any:
        return {"table": [{"card": ctx.G["card"]}] if ctx.G["open"] else []}

    def player(ctx: Any, seat: str) -> Any:
        if breaks and seat == "1":
            raise LookupError(f"no picture of {ctx.G['card']}")
        return public(ctx) | ({"mine": ctx.G["card"]} if seat == "0" else {})

    return define_game(
        name="lantern",
        max_players=2,
        events={"turn": event(), "wait": event()},
        initial="play",
        setup=lambda ctx: {"card": LANTERN, "open": False},
        states={"play": state(active_players=["0", "1"])},
        transitions=[
            transition("turn", "play", "play", turn),
            transition("wait", "play", "play"),
        ],
        views=views(public=public, player=player),
    )


async def test_b41_what_is_hidden_again_is_not_named() -> None:
    """B41: an update says nothing of what lay open in between, nor do its steps."""
    async with table(lantern()) as hosted:
        await hosted.act("0", "turn", {"card": LANTERN})
        shown = hosted.bytes_to("bob", "watcher")
        assert [LANTERN.encode() in frame for frame in shown].count(True) == 2
        hosted.sent.clear()
        await hosted.act("0", "turn", {"card": LANTERN})
        await hosted.act("0", "wait")
        late = Route("late")
        await hosted.watch(late)
        hidden = hosted.bytes_to("bob", "watcher", "late")
        assert len(hidden) == 5
        assert not [frame for frame in hidden if LANTERN.encode() in frame]
        assert LANTERN.encode() in b"".join(hosted.bytes_to("alice"))


async def test_b41_updates_that_were_merged_do_not_tell_what_lay_between() -> None:
    """Two turns of the card in one drain: B gets one update, at its end."""
    async with table(lantern()) as hosted:
        hosted.sent.clear()
        turns = [
            (ALICE, dispatch(n, hosted.match, "0", n, "turn", {"card": LANTERN}))
            for n in (1, 2)
        ]
        await hosted.node.tell(*turns)
        (update,) = hosted.sent["bob"]
        assert isinstance(update, ViewUpdate)
        assert (update.revision, len(unpack(update.steps))) == (2, 2)
        assert LANTERN.encode() not in encode_frame(update)


async def test_b41_a_view_that_fails_names_nothing() -> None:
    """The exception's words are the operator's; the seat gets the table's sentence."""
    with capture_logs() as lines:
        async with table(lantern(breaks=True)) as hosted:
            await hosted.act("0", "wait")
            refusals = [f for f in hosted.sent["bob"] if isinstance(f, Refused)]
            assert {refusal.message for refusal in refusals} == {REFUSALS["view_error"]}
            assert LANTERN.encode() not in b"".join(hosted.bytes_to("bob"))
    assert LANTERN in str(lines)


def faulty(ctx: Any) -> Any:
    """Ways to fail over something hidden, by the payload."""
    name = ctx.G["card"]
    if ctx.event.payload == "raise":
        raise LookupError(name)
    if ctx.event.payload == "not json":
        return {"G": {**ctx.G, name: {1, 2}}}
    return {"enqueue": [enqueue("note", name)]}


@pytest.mark.parametrize("how", ["raise", "not json", "queue"])
async def test_b36_a_game_that_fails_over_a_secret_does_not_tell_it(how: str) -> None:
    """B36: an error names neither a place nor a value of G, to whoever acted."""
    game = define_game(
        name="faulty",
        max_players=2,
        events={"try": event(str), "note": event(Literal["no"])},
        initial="play",
        setup=lambda ctx: {"card": LANTERN},
        states={"play": state(active_players=["0", "1"])},
        transitions=[transition("try", "play", "play", faulty)],
        views=views(public=lambda ctx: {}),
    )
    with capture_logs() as lines:
        async with table(game) as hosted:
            answer = await hosted.act("1", "try", how)
            assert isinstance(answer, Refused)
            assert answer.message == REFUSALS[answer.code]
            assert LANTERN.encode() not in b"".join(hosted.bytes_to("bob", "watcher"))
    assert LANTERN in str(lines)


async def test_the_stage_encodes_what_it_compares() -> None:
    """A secret that were sent would be found in the bytes."""
    assert SEVEN.encode() in bytes(pack({"amount": SEVEN}))
