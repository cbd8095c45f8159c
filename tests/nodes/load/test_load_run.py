"""Load tests against small nodes: what is right passes, what is wrong is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

import anyio
import msgspec
import pytest

from hotseat.engine.definition import Game
from hotseat.engine.games.connect_four import game as connect_four
from hotseat.engine.games.pig_dice import game as pig_dice
from hotseat.engine.games.rock_paper_scissors import game as rock_paper_scissors
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client.options import ClientOptions
from hotseat.nodes.load.plan import plan_matches
from hotseat.nodes.load.policy import Scripted
from hotseat.nodes.load.report import Tally, report_json
from hotseat.nodes.load.run import LoadRun, PolicyMaker
from hotseat.runtime import frame as wire
from hotseat.runtime.codec import pack, unpack
from hotseat.runtime.match_id import is_match_id

from ..node.small_node import Cluster, SmallNode

GAMES = [tic_tac_toe, connect_four, rock_paper_scissors, pig_dice]
OPTIONS = ClientOptions(timeout_s=5.0, attempt_s=0.5)

Prepare = Callable[[SmallNode], None]


async def load(
    games: Sequence[Game] = GAMES,
    *,
    matches: int = 8,
    prepare: Prepare = lambda node: None,
    policy: PolicyMaker | None = None,
    timeout_s: float = 60.0,
) -> Tally:
    """Run a load test of two clients against two nodes, the first one prepared."""
    rig = Cluster(games, owners={0: "n1", 1: "n2", 2: "n1", 3: "n2"})
    plans = plan_matches(games, matches=matches, rate=100, seed="s", run="r")
    async with rig.node("n1") as node, rig.node("n2"), AsyncExitStack() as stack:
        prepare(node)
        clients = [
            await stack.enter_async_context(rig.client(OPTIONS, f"client-{n}"))
            for n in range(2)
        ]
        run = LoadRun(plans, clients, seed="s", timeout_s=timeout_s, policy=policy)
        await run.play()
        await run.verify()
        return run.tally


async def test_all_shipped_games_are_played_and_verified(
    autojump_clock: object,
) -> None:
    """Every match ends, replays and agrees with what its players saw."""
    tally = await load()
    assert tally.troubles == []
    assert tally.passed
    assert (tally.ended, tally.verified, tally.wrong) == (8, 8, 0)
    assert tally.games == {game.name: 2 for game in GAMES}
    assert tally.actions_acked > 8 * 4
    report = report_json(tally)
    assert report["matches_finished"] == 8
    assert report["matches_wrong"] == 0
    assert report["actions_acked"] == tally.actions_acked
    assert set(report["latency_ms"]) == {"p50", "p99", "max"}
    assert is_match_id(report["sample"])


def test_it_runs_on_asyncio() -> None:
    """The same on the other backend."""
    tally = anyio.run(load)
    assert tally.troubles == []
    assert tally.passed


async def test_lost_answers_are_asked_for_and_nothing_is_wrong(
    autojump_clock: object,
) -> None:
    """Every fifth answer is lost: all matches end, nothing is applied twice."""

    def prepare(node: SmallNode) -> None:
        answers = iter(range(1_000_000))
        node.lose = lambda answer: next(answers) % 5 == 4

    tally = await load([tic_tac_toe], prepare=prepare)
    assert tally.troubles == []
    assert tally.passed
    assert tally.latencies.max_s > 0.4


def falsify(
    kind: type[wire.Response], change: Callable[[wire.Response], wire.Response]
) -> Prepare:
    """Let a node send answers of one kind changed."""

    def prepare(node: SmallNode) -> None:
        send = node._send
        node._send = lambda peer, answer: send(  # type: ignore[method-assign]
            peer, change(answer) if isinstance(answer, kind) else answer
        )

    return prepare


def other_view(answer: wire.Response) -> wire.Response:
    assert isinstance(answer, wire.ViewUpdate)
    if not answer.ended or not answer.seat:
        return answer
    return msgspec.structs.replace(answer, view=pack({"cells": "other"}))


def other_early_view(answer: wire.Response) -> wire.Response:
    assert isinstance(answer, wire.ViewUpdate)
    if answer.revision != 2 or answer.seat != "0":
        return answer
    return msgspec.structs.replace(answer, view=pack({"board": []}))


def other_public_view(answer: wire.Response) -> wire.Response:
    assert isinstance(answer, wire.ViewUpdate)
    if answer.seat:
        return answer
    return msgspec.structs.replace(answer, view=pack({"cells": "other"}))


def other_revision(answer: wire.Response) -> wire.Response:
    assert isinstance(answer, wire.Accepted)
    return msgspec.structs.replace(answer, index=answer.index + 1)


def without_last_record(answer: wire.Response) -> wire.Response:
    assert isinstance(answer, wire.LogPage)
    if answer.next is not None:
        return answer
    records = unpack(answer.records)
    return msgspec.structs.replace(answer, records=pack(records[:-1]))


def with_another_time(answer: wire.Response) -> wire.Response:
    assert isinstance(answer, wire.LogPage)
    records = unpack(answer.records)
    records[-1]["time_ms"] += 1
    return msgspec.structs.replace(answer, records=pack(records))


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (falsify(wire.ViewUpdate, other_view), "the last view is"),
        (falsify(wire.ViewUpdate, other_early_view), "the view of revision 2 was not"),
        (falsify(wire.ViewUpdate, other_public_view), "seat '': the last view is"),
        (falsify(wire.Accepted, other_revision), "is record"),
        (falsify(wire.LogPage, without_last_record), "acknowledged, but is not in"),
        (falsify(wire.LogPage, with_another_time), "does not replay"),
    ],
    ids=["view", "early-view", "public-view", "acknowledgement", "log", "record"],
)
async def test_a_node_that_lies_is_found_out(
    prepare: Prepare, reason: str, autojump_clock: object
) -> None:
    """A wrong view, acknowledgement or log makes the match wrong, with the reason."""
    tally = await load([tic_tac_toe], matches=6, prepare=prepare)
    assert not tally.passed
    assert 0 < tally.wrong < 6, "only the first node lies"
    assert tally.wrong + tally.verified == 6
    for trouble in tally.troubles:
        assert any(reason in said for said in trouble.reasons), trouble


@pytest.mark.parametrize("code", ["match_lost", "unknown_match", "game_over"])
async def test_a_log_that_is_no_longer_kept_makes_nothing_wrong(
    code: str, autojump_clock: object
) -> None:
    """Lost with a node or dropped by its rule: the match is not verified."""

    def gone(frame: wire.Request) -> wire.Response | None:
        if not isinstance(frame, wire.FetchLog):
            return None
        return wire.Refused(frame.request, code, "It is gone.")

    def prepare(node: SmallNode) -> None:
        node.answer_instead = gone

    tally = await load([tic_tac_toe], matches=6, prepare=prepare)
    assert not tally.passed
    assert tally.wrong == 0
    assert 0 < tally.unverified < 6, "only the first node has lost them"
    assert tally.unverified + tally.verified == 6


async def test_a_match_that_nobody_ends_is_unfinished(autojump_clock: object) -> None:
    """Players who stop acting leave a match unfinished, and the run says so."""
    tally = await load(
        [tic_tac_toe],
        matches=2,
        timeout_s=5.0,
        policy=lambda plan, seat: Scripted([]),
    )
    assert (tally.unfinished, tally.ended) == (2, 0)
    assert not tally.passed
    assert "not ended after 5 s" in tally.troubles[0].reasons


async def test_an_unknown_game_is_counted_and_named(autojump_clock: object) -> None:
    """A cluster without the game: no match begins, the refusal is in the report."""

    def prepare(node: SmallNode) -> None:
        node.cluster.games = ()

    tally = await load([tic_tac_toe], matches=3, prepare=prepare)
    assert tally.refusals == {"unknown_game": 3}
    assert tally.unfinished == 3
    assert tally.troubles[0].reasons[0].startswith("create: unknown_game")


async def test_illegal_choices_are_refused_and_counted(autojump_clock: object) -> None:
    """A player who insists on what is illegal is stopped; refusals are counted."""
    tally = await load(
        [tic_tac_toe],
        matches=1,
        timeout_s=20.0,
        policy=lambda plan, seat: Scripted([("nonsense", None)] * 100),
    )
    assert tally.refusals == {"unknown_event": 20}
    assert tally.unfinished == 1
    assert "stuck" in tally.troubles[0].reasons[0]
