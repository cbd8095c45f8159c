"""Scenarios of dispatch, double moves and staleness, at the node that owns the match.

Each is played as a node's loop plays it: frames in, answers out.
"""

from __future__ import annotations

import itertools

import msgspec
import pytest

from hotseat.engine import Game, define_game, state, transition, views
from hotseat.engine.digest import state_digest
from hotseat.engine.snapshot import Snapshot
from hotseat.nodes.supervisor.supervisor import Supervisor
from hotseat.runtime.actor import MatchActor
from hotseat.runtime.codec import unpack
from hotseat.runtime.frame import (
    Accepted,
    Dispatch,
    Moved,
    Refused,
    Response,
    Sync,
    TakeSeat,
    ViewUpdate,
)
from hotseat.runtime.games import StaticGames
from hotseat.runtime.match import replay_match
from hotseat.runtime.match_id import match_id, shard_of
from hotseat.runtime.match_state import MatchState

from ..runtime.hosting import (
    ALICE,
    BOB,
    TOKEN_A,
    TOKEN_B,
    HeldClock,
    HeldCommitter,
    KeptOutlet,
    dispatch,
    kept,
    view_of,
)
from ..runtime.node_stage import EPOCH, SHARDS, NodeStage, create_frame, node_stage
from ..runtime.sample_games import auction, clock, race, sealed_bid


def hosted(node: NodeStage, match: str) -> MatchActor:
    """The actor of a match."""
    actor = node.supervisor.actor(match)
    assert actor is not None
    return actor


def committed(node: NodeStage, match: str) -> MatchState:
    """The committed state of a match."""
    state = hosted(node, match).ledger.committed
    assert state is not None
    return state


def refusal(answer: Response) -> Refused:
    """The answer, which must be a refusal."""
    assert isinstance(answer, Refused), answer
    return answer


@pytest.mark.parametrize(
    ("base", "code"), [(None, "inactive_player"), (0, "stale_revision")]
)
async def test_b06_a_second_move_after_ones_own_is_refused(
    base: int | None, code: str
) -> None:
    """Sent before its sender saw that the turn is over: never placed as the other's."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        assert isinstance(await node.act(match, "0", 1, "add", 1, base=0), Accepted)
        answer = refusal(await node.act(match, "0", 2, "add", 1, base=base))
        assert (answer.code, answer.revision) == (code, 1)
        assert committed(node, match).snapshot.G["total"] == 1
        assert isinstance(await node.act(match, "1", 1, "add", 1, base=1), Accepted)


async def test_b07_simultaneous_moves_commute() -> None:
    """Both are accepted against one revision; both orders lead to one state."""
    final: list[Snapshot] = []
    for order in (("0", "1"), ("1", "0")):
        async with node_stage(sealed_bid()) as node:
            match = await node.seated("sealed-bid")
            bids = {"0": 5, "1": 7}
            frames = await node.tell(
                *[
                    (
                        ALICE if seat == "0" else BOB,
                        dispatch(9, match, seat, 1, "bid", bids[seat], base=0),
                    )
                    for seat in order
                ]
            )
            assert [type(frame) for frame in frames] == [Accepted, Accepted]
            final.append(committed(node, match).snapshot)
    assert final[0].G == final[1].G
    assert state_digest(final[0]) == state_digest(final[1])


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("order", [("0", "1"), ("1", "0")])
async def test_b08_of_two_moves_for_one_revision_one_wins(
    order: tuple[str, str], strict: bool
) -> None:
    """The loser is told the current revision, and no update is lost."""
    async with node_stage(auction(strict=strict)) as node:
        match = await node.seated("strict-auction" if strict else "auction")
        routes = {"0": ALICE, "1": BOB}
        first, second = await node.tell(
            *[(routes[s], dispatch(9, match, s, 1, "raise", base=0)) for s in order]
        )
        assert isinstance(first, Accepted)
        assert first.revision == 1
        lost = refusal(second)
        assert (lost.code, lost.revision) == ("stale_revision", 1)
        assert {"price": 1, "holder": order[0]} == committed(node, match).snapshot.G
        again = await node.act(match, order[1], 1, "raise", base=lost.revision)
        assert isinstance(again, Accepted)
        assert {"price": 2, "holder": order[1]} == committed(node, match).snapshot.G


async def test_b09_what_arrives_during_a_commit_is_processed_after() -> None:
    """The second action sees what the first did, and neither is told too early."""
    committer = HeldCommitter()
    async with node_stage(race(), committer=committer) as node:
        match = await _seated_by_hand(node, committer)
        assert await node.tell((ALICE, dispatch(2, match, "0", 1, "add", 3))) == []
        assert await node.tell((BOB, dispatch(2, match, "1", 1, "add", 4))) == []
        assert committed(node, match).snapshot.G["total"] == 0
        committer.commit()
        assert committed(node, match).snapshot.G["total"] == 3
        committer.commit()
        assert committed(node, match).snapshot.G["total"] == 7
        accepted = [f for _, f in node.outlet.take() if isinstance(f, Accepted)]
        assert [f.revision for f in accepted] == [1, 2]


async def _seated_by_hand(node: NodeStage, committer: HeldCommitter) -> str:
    """A match with both seats taken, committed step by step."""
    match = match_id("local", "key")
    await node.tell((ALICE, create_frame("race")))
    committer.commit()
    await node.tell(
        (ALICE, TakeSeat(1, match, EPOCH, "0", TOKEN_A)),
        (BOB, TakeSeat(1, match, EPOCH, "1", TOKEN_B)),
    )
    committer.commit()
    node.outlet.take()
    return match


ILLEGAL = {
    "by its payload": (("0", "add", -1), "invalid_event", "not_positive"),
    "out of turn": (("1", "add", 1), "inactive_player", None),
    "of no such event": (("0", "toString", None), "unknown_event", None),
    "internal": (("0", "__timeout", None), "unknown_event", None),
    "raising": (("0", "fail", None), "resolver_error", None),
}


@pytest.mark.parametrize("kind", ILLEGAL)
async def test_b10_an_illegal_move_changes_nothing(kind: str) -> None:
    """Three times the same: a typed reason each time, and the very same state."""
    (seat, event, payload), code, reason = ILLEGAL[kind]
    async with node_stage(race()) as node:
        match = await node.seated("race")
        actor = hosted(node, match)
        before, logged = committed(node, match), len(actor.ledger.records)
        rng = before.snapshot.meta.rng
        for action in (1, 1, 2):
            answer = refusal(await node.act(match, seat, action, event, payload))
            assert (answer.code, answer.reason) == (code, reason)
            assert answer.revision == 0
        after = committed(node, match)
        assert after is before
        assert after.snapshot.meta.rng == rng
        assert len(actor.ledger.records) == logged
        assert isinstance(await node.act(match, "0", 1, "add", 1), Accepted)


async def test_b10_an_illegal_move_leaves_the_deadline_alone() -> None:
    """The clock of who should move runs on."""
    held = HeldClock()
    async with node_stage(clock(), clock=held) as node:
        match = await node.seated("clock")
        before = await node.sync(ALICE, match)
        held.ms = 400
        for action in (1, 2, 3):
            refusal(await node.act(match, "0", action, "leap"))
        after = await node.sync(ALICE, match)
        assert isinstance(before, ViewUpdate)
        assert isinstance(after, ViewUpdate)
        assert (after.deadline_ms, after.revision) == (before.deadline_ms, 0)
        assert node.supervisor.statistics().deadlines == 1


async def test_b12_where_a_match_is_not_each_case_has_its_answer() -> None:
    """Unknown, ended, elsewhere, lost: different codes, none silent."""
    home = shard_of(match_id("local", "key"), SHARDS)
    away = next(
        match
        for number in itertools.count()
        if shard_of(match := match_id("local", f"other{number}"), SHARDS) != home
    )
    unknown = next(
        match
        for number in itertools.count()
        if shard_of(match := match_id("x", f"other{number}"), SHARDS) == home
    )
    async with node_stage(race(goal=1), shards=[home]) as node:
        ended = await node.seated("race")
        await node.act(ended, "0", 1, "add", 1)
        assert refusal(await node.act(ended, "0", 2, "add", 1)).code == "game_over"
        assert refusal(await node.act(unknown, "0", 1, "add")).code == "unknown_match"
        moved = await node.act(away, "0", 1, "add", 1)
        assert moved == Moved(moved.request, shard_of(away, SHARDS), 0, "")
        node.supervisor.adopt(home, EPOCH + 1)
        assert refusal(await node.act(unknown, "0", 1, "add")).code == "match_lost"


async def test_b27_matches_of_one_millisecond_differ() -> None:
    """Each has a seed of its own, which follows neither from its id nor its game."""

    async def deal() -> dict[str, tuple[str, float]]:
        """200 matches of one moment: by id, the seed and the first card drawn."""
        outlet = KeptOutlet()
        supervisor = Supervisor(
            StaticGames([cards()]), outlet, clock=HeldClock(), shards=SHARDS
        )
        async with supervisor:
            for shard in range(SHARDS):
                supervisor.adopt(shard, EPOCH)
            node = NodeStage(supervisor, outlet)
            dealt: dict[str, tuple[str, float]] = {}
            for number in range(200):
                match = await node.seated("cards", key=f"key-{number}")
                assert isinstance(await node.act(match, "0", 1, "draw"), Accepted)
                state = committed(node, match)
                drawn = state.snapshot.G["drawn"]
                dealt[match] = (state.snapshot.meta.seed, drawn)
            return dealt

    one, other = await deal(), await deal()
    assert one.keys() == other.keys()
    seeds = {seed for dealt in (one, other) for seed, _ in dealt.values()}
    assert len(seeds) == 400
    assert {len(bytes.fromhex(seed)) for seed in seeds} == {16}
    assert len({drawn for dealt in (one, other) for _, drawn in dealt.values()}) == 400


def cards() -> Game:
    """A game whose one event draws a number."""
    return define_game(
        name="cards",
        max_players=2,
        events=["draw"],
        initial="play",
        setup=lambda ctx: {"drawn": None},
        states={"play": state(active_players=["0", "1"])},
        transitions=[
            transition(
                "draw", "play", "play", lambda ctx: {"G": {"drawn": ctx.rng.next()}}
            )
        ],
        views=views(public=lambda ctx: {}),
    )


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"\x91" * 20_000 + b"\xc0", "too_deep"),
        (b"\x91" * 70 + b"\xc0", "too_deep"),
        (b"\xc6" + (50_000_000).to_bytes(4, "big") + bytes(50_000_000), "too_large"),
        (b"\xc5\xff\xff" + bytes(65_535), "too_large"),
        (b"\xc4\x01a", "malformed_request"),
        (b"\xc1", "malformed_request"),
    ],
    ids=["20,000 deep", "70 deep", "50 MB", "64 KiB", "bytes", "no msgpack"],
)
async def test_b30_a_monstrous_payload_costs_nothing_but_itself(
    payload: bytes, code: str
) -> None:
    """It is refused by its limit; its match and the others live on."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        other = await node.seated("race", "other")
        frame = Dispatch(0, match, EPOCH, "0", 1, 1, "keep", msgspec.Raw(payload))
        assert await node.refused(ALICE, frame) == code
        assert isinstance(await node.act(match, "0", 1, "keep"), Accepted)
        assert isinstance(await node.act(other, "0", 1, "keep"), Accepted)


async def test_b33_a_rule_that_raises_half_way_leaves_no_trace() -> None:
    """The match stays open, the next move works, the error is counted."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        await node.ask(ALICE, Sync(0, match, EPOCH, "0", 1))
        await node.act(match, "0", 1, "keep")
        before = committed(node, match)
        assert refusal(await node.act(match, "0", 2, "fail")).code == "resolver_error"
        assert committed(node, match) is before
        frames = await node.tell((ALICE, dispatch(9, match, "0", 2, "add", 1)))
        assert [type(frame) for frame in frames] == [Accepted, ViewUpdate]
        assert isinstance(frames[1], ViewUpdate)
        assert view_of(frames[1]) == {"total": 2}
        assert "half way" not in repr(unpack(frames[1].steps))
        assert hosted(node, match).faults == 1


async def test_b35_a_match_does_not_slow_down_with_its_log() -> None:
    """What an actor keeps beside the log is bounded, however long the match."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        actor = hosted(node, match)
        for start in range(1, 2_001, 200):
            await node.tell(
                *[
                    (ALICE, dispatch(9, match, "0", action, "keep"))
                    for action in range(start, start + 200)
                ]
            )
        assert committed(node, match).revision == 2_000
        assert actor.ledger.settled
        assert len(committed(node, match).seats["0"].window.keys) == 32
        replayed = replay_match(
            committed(node, match).machine, kept(actor.ledger.records)
        )
        assert replayed == committed(node, match)
