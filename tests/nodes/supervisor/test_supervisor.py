"""The supervisor: all matches of a node, as the node's loop drives it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import msgspec
import pytest
import trio
from structlog.testing import capture_logs

from hotseat.engine.definition import define_game, event, state, transition, views
from hotseat.engine.machine import compile_game
from hotseat.nodes.supervisor.supervisor import Supervisor
from hotseat.runtime.codec import pack, unpack
from hotseat.runtime.committer import LocalCommitter
from hotseat.runtime.errors import FrameTooDeep
from hotseat.runtime.frame import (
    Accepted,
    Created,
    CreateMatch,
    FetchLog,
    FetchTable,
    Moved,
    Refused,
    Seated,
    Sync,
    TakeSeat,
    ViewUpdate,
)
from hotseat.runtime.games import StaticGames
from hotseat.runtime.match import replay_match
from hotseat.runtime.match_change import Change
from hotseat.runtime.match_id import match_id, shard_of
from hotseat.runtime.options import MatchOptions, SupervisorOptions
from hotseat.runtime.route import Route

from ...runtime.hosting import (
    ALICE,
    BOB,
    TOKEN_A,
    WATCHER,
    HeldClock,
    KeptOutlet,
    TrioClock,
    dispatch,
    view_of,
)
from ...runtime.node_stage import EPOCH, SHARDS, create_frame, node_stage
from ...runtime.sample_games import PLAYERS, TURN_MS, race, secret
from ...runtime.sample_games import clock as clock_game

MATCH = match_id("local", "key")
SHARD = shard_of(MATCH, SHARDS)


async def test_a_match_is_created_once_per_key() -> None:
    """Asking again with one key gives the same match; other content is refused."""
    async with node_stage(race()) as node:
        first = await node.create("race")
        assert first == Created(first.request, MATCH, EPOCH, "race", "1", ("0", "1"))
        again = await node.create("race")
        assert msgspec.structs.replace(again, request=first.request) == first
        assert node.supervisor.statistics().created == 1
        other = create_frame("race", match={"players": ["1", "0"]})
        assert await node.refused(ALICE, other) == "key_reused"


async def test_two_creations_in_one_drain_are_one_match() -> None:
    """Nothing lies between the two of them."""
    async with node_stage(race()) as node:
        frame = create_frame("race")
        answers = await node.tell((ALICE, frame), (BOB, frame))
        assert [type(a) for a in answers] == [Created, Created]
        assert node.supervisor.statistics().running == 1


async def test_each_principal_has_its_own_keys() -> None:
    """Somebody else's key names somebody else's match."""
    async with node_stage(race()) as node:
        first = await node.ask(ALICE, create_frame("race"))
        second = await node.ask(Route("x", None, "other"), create_frame("race"))
        assert isinstance(first, Created)
        assert isinstance(second, Created)
        assert first.match != second.match


async def test_seeds_are_drawn_anew() -> None:
    """No two matches get the same seed."""
    async with node_stage(race(goal=1)) as node:
        seeds = set()
        for key in "abc":
            match = await node.seated("race", key)
            await node.act(match, "0", 1, "add", 1)
            seeds.add((await node.log(match))[0].input["seed"])
        assert len(seeds) == 3
        assert {len(seed) for seed in seeds} == {32}


async def test_a_game_that_is_not_there_is_refused() -> None:
    """Neither under another name nor in another version."""
    async with node_stage(race()) as node:
        assert await node.refused(ALICE, create_frame("chess")) == "unknown_game"
        other = create_frame("race", version="2")
        assert await node.refused(ALICE, other) == "unknown_game"


async def test_a_game_without_views_is_not_hosted() -> None:
    """Unless it says that it has nothing to hide."""
    async with node_stage(secret()) as node:
        assert await node.refused(ALICE, create_frame("secret")) == "not_hostable"


async def test_an_invalid_game_is_refused_with_its_diagnostics() -> None:
    """Whoever asked is told what is wrong with it; nothing else stops."""
    broken = define_game(
        name="broken",
        max_players=2,
        events={"go": event()},
        initial="here",
        setup=lambda ctx: {},
        states={"here": state(active_players=["0"]), "island": state()},
        transitions=[transition("go", "here", "here")],
        views=views(public=lambda ctx: ctx.G),
    )
    async with node_stage(broken, race()) as node:
        answer = await node.create("broken")
        assert isinstance(answer, Refused)
        assert answer.code == "invalid_game"
        assert "unreachable_state" in {d["code"] for d in unpack(answer.details)}
        assert isinstance(await node.create("race"), Created)


@pytest.mark.parametrize(
    "match",
    [None, [], {}, {"players": []}, {"players": ["0"]}, {"players": ["0", "9"]}],
)
async def test_a_match_input_that_does_not_fit_is_refused(match: Any) -> None:
    """Nothing is created, and the key can be used again."""
    async with node_stage(race()) as node:
        frame = create_frame("race", match=match)
        assert await node.refused(ALICE, frame) == "invalid_match"
        assert isinstance(await node.create("race"), Created)


async def test_a_request_that_cannot_be_read_is_refused() -> None:
    """Its bytes, its depth, its size, its names."""
    async with node_stage(race()) as node:
        deep = msgspec.Raw(b"\x91" * 20_000 + b"\xc0")
        for raw, code in (
            (msgspec.Raw(b"\xc1"), "malformed_request"),
            (deep, "too_deep"),
            (msgspec.Raw(pack("x" * 300_000, limit=400_000)), "too_large"),
        ):
            assert (
                await node.refused(ALICE, CreateMatch(0, "k", "race", "", raw)) == code
            )
        for key in ("", "k" * 300):
            frame = create_frame("race", key)
            assert await node.refused(ALICE, frame) == "malformed_request"
        match = pack({"players": ["0", "1"]})
        for game, version in (("g" * 300, ""), ("race", "1" * 300)):
            frame = CreateMatch(0, "k", game, version, match)
            assert await node.refused(ALICE, frame) == "malformed_request"
        assert await node.refused(ALICE, FetchTable(0)) == "malformed_request"


async def test_a_full_node_takes_no_more_unless_a_match_has_ended() -> None:
    """`node_full`; an ended match makes room and is remembered."""
    options = SupervisorOptions(matches_max=2, ended_kept_max=2)
    async with node_stage(race(goal=1), options=options) as node:
        match = await node.seated("race", "a")
        await node.create("race", "b")
        assert await node.refused(ALICE, create_frame("race", "c")) == "node_full"
        await node.act(match, "0", 1, "add", 1)
        assert isinstance(await node.create("race", "c"), Created)
        assert await node.refused(ALICE, Sync(0, match, EPOCH)) == "game_over"


async def test_what_one_drain_brought_wakes_a_match_once() -> None:
    """All of it is in the mailbox before the actor works: one update."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        await node.sync(WATCHER, match)
        frames = await node.tell(
            *[(ALICE, dispatch(9, match, "0", i, "keep")) for i in range(1, 11)]
        )
        assert [type(f) for f in frames] == [Accepted] * 10 + [ViewUpdate]


async def test_a_flood_is_told_busy() -> None:
    """A mailbox is bounded by count and by bytes; the node and the match live on."""
    options = SupervisorOptions(match=MatchOptions(mailbox_messages_max=5))
    async with node_stage(race(), options=options) as node:
        match = await node.seated("race")
        frames = await node.tell(
            *[(ALICE, dispatch(9, match, "0", i, "keep")) for i in range(1, 9)]
        )
        refused = [f for f in frames if isinstance(f, Refused)]
        assert [f.code for f in refused] == ["busy"] * 3
        assert isinstance(await node.act(match, "0", 6, "keep"), Accepted)
        assert node.supervisor.statistics().busy == 3


async def test_large_payloads_fill_a_mailbox_too() -> None:
    """Bytes count as well as messages."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        large = "x" * 60_000
        frames = await node.tell(
            *[(ALICE, dispatch(9, match, "0", i, "keep", large)) for i in range(1, 30)]
        )
        assert [f.code for f in frames if isinstance(f, Refused)] == ["busy"] * 12


async def test_a_message_of_an_older_epoch_is_of_a_lost_match() -> None:
    """Its match was here before the node was; it is never started anew."""
    async with node_stage(race()) as node:
        node.supervisor.adopt(SHARD, 5)
        for request in (
            Sync(0, MATCH, 4),
            TakeSeat(0, MATCH, 4, "0"),
            dispatch(0, MATCH, "0", 1, "keep", epoch=4),
            FetchLog(0, MATCH, 4),
        ):
            assert await node.refused(ALICE, request) == "match_lost"
        assert await node.refused(ALICE, Sync(0, MATCH, 5)) == "unknown_match"
        assert node.supervisor.statistics().created == 0


async def test_a_match_outlives_a_new_epoch_of_its_own_node() -> None:
    """It is named by the epoch in which it was created."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        node.supervisor.adopt(SHARD, 3)
        assert isinstance(await node.act(match, "0", 1, "keep"), Accepted)
        assert await node.refused(ALICE, Sync(0, match, 2)) == "match_lost"
        again = await node.create("race")
        assert isinstance(again, Created)
        assert again.epoch == EPOCH


async def test_what_is_not_owned_has_moved() -> None:
    """Shards of others, and epochs that are not known here yet."""
    async with node_stage(race(), shards=()) as node:
        for request in (Sync(0, MATCH, 1), create_frame("race")):
            answer = await node.ask(ALICE, request)
            assert answer == Moved(answer.request, SHARD, 0, "")
        node.supervisor.adopt(SHARD, 2)
        answer = await node.ask(ALICE, Sync(0, MATCH, 3))
        assert answer == Moved(answer.request, SHARD, 2, "")


async def test_a_released_shard_takes_its_matches_with_it() -> None:
    """What waits is answered; what comes later is told that the match has moved."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        node.supervisor.handle_batch([(ALICE, dispatch(7, match, "0", 1, "keep"))])
        node.supervisor.release(SHARD)
        [(_, waiting)] = node.outlet.take()
        assert isinstance(waiting, Refused)
        assert (waiting.request, waiting.code) == (7, "no_owner")
        assert isinstance(await node.ask(ALICE, Sync(0, match, EPOCH)), Moved)
        statistics = node.supervisor.statistics()
        assert (statistics.running, statistics.shards) == (0, SHARDS - 1)
        node.supervisor.adopt(SHARD, 2)
        assert await node.refused(ALICE, Sync(0, match, EPOCH)) == "match_lost"


class FailingCommitter(LocalCommitter):
    """Raises when told to, as a fault of the node's own code would."""

    failing = False

    def submit(
        self,
        match: str,
        changes: Sequence[Change],
        *,
        on_commit: Callable[[int], None],
        on_abandon: Callable[[int], None],
    ) -> None:
        if self.failing:
            raise RuntimeError("the committer is broken")
        super().submit(match, changes, on_commit=on_commit, on_abandon=on_abandon)


@pytest.mark.parametrize("fault", ["clock", "committer", "clock after the end"])
async def test_a_failing_actor_costs_its_own_match_alone(fault: str) -> None:
    """It is quarantined and logged with a traceback; the others play on."""
    committer, clock = FailingCommitter(), HeldClock()
    with capture_logs() as logs:
        async with node_stage(race(goal=2), clock=clock, committer=committer) as node:
            match = await node.seated("race", "key")
            other = await node.seated("race", "other")
            if fault == "clock after the end":
                await node.act(match, "0", 1, "add", 2)
            committer.failing = fault == "committer"
            clock.readings_left = None if fault == "committer" else 0
            keep = dispatch(0, match, "0", 2, "keep")
            assert await node.refused(ALICE, keep) == "internal_error"
            committer.failing, clock.readings_left = False, None
            assert await node.refused(ALICE, Sync(0, match, EPOCH)) == "internal_error"
            again = create_frame("race", "key")
            assert await node.refused(ALICE, again) == "internal_error"
            assert isinstance(await node.act(other, "0", 1, "keep"), Accepted)
            statistics = node.supervisor.statistics()
            assert (statistics.quarantined, statistics.running) == (1, 1)
    lines = [line for line in logs if line["event"] == "match_quarantined"]
    assert [line["match"] for line in lines] == [match]
    assert lines[0]["exc_info"] is True


async def test_a_game_that_exits_costs_its_own_match_alone() -> None:
    """`sys.exit()` in a rule ends neither the node nor another match."""
    rude = define_game(
        name="rude",
        max_players=2,
        events={"go": event()},
        initial="here",
        setup=lambda ctx: {},
        states={"here": state(active_players=["0", "1"])},
        transitions=[transition("go", "here", "here", lambda ctx: sys.exit(3))],
        views=views(public=lambda ctx: ctx.G),
    )
    with capture_logs() as logs:
        async with node_stage(rude, race()) as node:
            match = await node.seated("rude", "rude")
            other = await node.seated("race", "race")
            go = dispatch(0, match, "0", 1, "go")
            assert await node.refused(ALICE, go) in ("internal_error", "resolver_error")
            assert isinstance(await node.act(other, "0", 1, "keep"), Accepted)
    assert len(logs) == 1


async def test_deadlines_fire_without_anybody_asking(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Each match at its own time, and views go out."""
    async with node_stage(clock_game(), clock=TrioClock()) as node:
        match = await node.seated("clock")
        await node.sync(WATCHER, match)
        start_ms = TrioClock().now_ms()
        seen: list[int] = []
        while len(seen) < 3:
            await trio.sleep(0.1)
            updates = [f for _, f in node.outlet.take() if isinstance(f, ViewUpdate)]
            seen += [view_of(update)["lapses"] for update in updates]
        assert seen == [1, 2, 3]
        assert 2 * TURN_MS < TrioClock().now_ms() - start_ms <= 3 * TURN_MS + 100
        assert node.supervisor.statistics().deadlines_fired == 3


async def test_an_ended_match_is_kept_then_dropped_and_remembered(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Its task ends; its log stays for a while; its key is never started anew."""
    options = SupervisorOptions(ended_kept_s=60)
    with capture_logs() as logs:
        async with node_stage(race(goal=1), options=options, clock=TrioClock()) as node:
            match = await node.seated("race")
            await node.act(match, "0", 1, "add", 1)
            assert node.supervisor.statistics().resident == 1
            await trio.sleep(50)
            log = await node.log(match)
            assert replay_match(compile_game(race(goal=1)), log).ended
            await trio.sleep(20)
            statistics = node.supervisor.statistics()
            assert (statistics.resident, statistics.tombstones) == (0, 1)
            for late in (Sync(0, match, EPOCH), FetchLog(0, match, EPOCH)):
                assert await node.refused(ALICE, late) == "game_over"
            again = await node.create("race")
            assert again == Created(
                again.request, match, EPOCH, "race", "1", ("0", "1")
            )
            other = create_frame("race", match={"players": ["1", "0"]})
            assert await node.refused(ALICE, other) == "key_reused"
            assert node.supervisor.statistics().created == 1
    assert [line["match"] for line in logs if line["event"] == "match_dropped"] == [
        match
    ]


async def test_ended_matches_and_tombstones_are_bounded(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Any number of matches may come and go: counts return to their bounds."""
    options = SupervisorOptions(matches_max=10, ended_kept_max=3, tombstones_max=4)
    async with node_stage(race(goal=1), options=options, clock=TrioClock()) as node:
        for number in range(20):
            match = await node.seated("race", f"key{number}")
            await node.sync(WATCHER, match)
            await node.act(match, "0", 1, "add", 1)
        await trio.sleep(2)
        statistics = node.supervisor.statistics()
        assert (statistics.resident, statistics.tombstones) == (3, 4)
        assert (statistics.running, statistics.deadlines) == (0, 0)
        assert statistics.ended == 20
        assert await node.refused(ALICE, Sync(0, match_id("local", "key0"), EPOCH)) == (
            "unknown_match"
        )


async def test_nothing_is_sent_to_who_has_left() -> None:
    """A process, or one client behind a process."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        for route in (Route("n2", "carol"), Route("n2", "dave"), WATCHER, ALICE):
            await node.sync(route, match)
        node.supervisor.client_gone("n2", "carol")
        node.supervisor.peer_gone("watcher")
        node.supervisor.peer_gone("nobody")
        node.supervisor.handle_batch([(ALICE, dispatch(1, match, "0", 1, "keep"))])
        await anyio.wait_all_tasks_blocked()
        routes = {r for r, f in node.outlet.sent if isinstance(f, ViewUpdate)}
        assert routes == {Route("n2", "dave"), ALICE}


async def test_a_thousand_spectators_come_and_go() -> None:
    """What is kept of those who left returns to nothing."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        for number in range(1_000):
            await node.tell((Route("gateway", f"c{number}"), Sync(1, match, EPOCH)))
            node.supervisor.client_gone("gateway", f"c{number}")
        actor = node.supervisor.actor(match)
        assert actor is not None
        assert (len(actor.subscribers), node.supervisor.statistics().watchers) == (0, 0)


async def test_names_without_end_are_refused() -> None:
    """A token of a megabyte waits in no mailbox."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        take = TakeSeat(0, match, EPOCH, "0", "x" * 1_000_000)
        assert await node.refused(BOB, take) == "too_large"


async def test_a_seat_is_resumed_with_its_token_alone() -> None:
    """Whoever shows it sits there; a hundred wrong ones change nothing."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        for guess in range(100):
            take = TakeSeat(0, match, EPOCH, "0", f"guess-number-{guess:09}")
            assert await node.refused(BOB, take) == "seat_taken"
        resumed = await node.ask(
            Route("alices-phone"), TakeSeat(0, match, EPOCH, "0", TOKEN_A)
        )
        assert isinstance(resumed, Seated)
        assert resumed.session == 1


async def test_a_node_that_stops_answers_who_waits() -> None:
    """Nobody is left without an answer."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        node.supervisor.handle_batch([(ALICE, dispatch(5, match, "0", 1, "keep"))])
    [(_, answer)] = node.outlet.take()
    assert isinstance(answer, Refused)
    assert (answer.request, answer.code) == (5, "stopping")
    node.supervisor.handle_batch([(ALICE, create_frame("race", "late"))])
    [(_, answer)] = node.outlet.take()
    assert isinstance(answer, Refused)
    assert answer.code == "stopping"


async def _play_on_this_loop() -> None:
    async with node_stage(race(goal=40), clock_game()) as node:
        match = await node.seated("race")
        waiting = await node.seated("clock", "clock")
        for i in range(1, 21):
            await node.act(match, "0", i, "add", 1)
            await node.act(match, "1", i, "add", 1)
        assert (await node.log(match))[-1].revision_after == 40
        assert node.supervisor.statistics().resident == 1
        assert isinstance(await node.act(waiting, "0", 1, "move"), Accepted)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_matches_are_played_on_both_loops(backend: str) -> None:
    """The supervisor runs on asyncio and on trio."""
    anyio.run(_play_on_this_loop, backend=backend)


async def test_the_real_clock_and_randomness_are_the_default() -> None:
    """A supervisor needs no more than games, an outlet and the number of shards."""
    outlet = KeptOutlet()
    async with Supervisor(StaticGames([race()]), outlet, shards=1) as supervisor:
        supervisor.adopt(0, 1)
        supervisor.handle_batch([(ALICE, create_frame("race", match=PLAYERS))])
        await anyio.wait_all_tasks_blocked()
        assert outlet.only(Created).epoch == 1


def test_options_name_every_fault() -> None:
    """All at once, not the first."""
    options = SupervisorOptions(
        match=MatchOptions(mailbox_messages_max=0, payload_bytes_max=2_000_000),
        matches_max=-1,
        ended_kept_max=5,
    )
    faults = options.validate()
    assert len(faults) == 4
    assert any("match.mailbox_messages_max" in fault for fault in faults)
    assert SupervisorOptions().validate() == ()


def test_deep_values_are_named_by_the_codec() -> None:
    """The client meets the same limit before it sends."""
    value: Any = None
    for _ in range(20_000):
        value = [value]
    with pytest.raises(FrameTooDeep):
        pack(value)
