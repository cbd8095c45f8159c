"""B85, B86: results reach their receiver, though nodes die and receivers fail."""

from __future__ import annotations

import json
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import anyio
import httpx
import pytest
import structlog
import trio
import trio.testing

from hotseat.engine.record import RecordKind
from hotseat.nodes.lobby import ROOM_GAME
from hotseat.nodes.node.result_reporter import ResultReporter, TakenAndTold
from hotseat.nodes.node.result_sink import (
    KEY_HEADER,
    FileSink,
    MatchResult,
    ResultNotDelivered,
    WebhookSink,
    result_of,
)
from hotseat.runtime.hosting.result_options import ResultOptions
from hotseat.runtime.match_state import MatchState

from ..runtime.hosting import TrioClock
from ..runtime.replicated.stage import SHARD, ReplicaNode, fail_over, pair
from ..runtime.sample_games import race

KEEP_ON = 3
"""Other moves that are made while a receiver fails."""


class Receiver:
    """A sink that dedupes by key; `refuse` makes it fail, `hold` never answer."""

    name = "receiver"

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.counted: dict[str, MatchResult] = {}
        self.refusing = False
        self.holding = False

    async def __aenter__(self) -> Receiver:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    async def deliver(self, result: MatchResult) -> None:
        self.calls.append(result.key)
        if self.refusing:
            raise ResultNotDelivered("it is down")
        self.counted.setdefault(result.key, result)
        if self.holding:
            await anyio.sleep_forever()


def reporter_of(node: ReplicaNode, receiver: Receiver) -> ResultReporter:
    """A reporter joined to a node as a node process joins it."""
    reporter = ResultReporter(
        ResultOptions(retry_first_s=1, retry_max_s=300),
        [receiver],
        node.states,
        node.supervisor.note_delivered,
        TrioClock(),
    )
    node.committer._states = TakenAndTold(node.states, reporter)
    return reporter


@asynccontextmanager
async def running(reporter: ResultReporter) -> AsyncIterator[None]:
    """The reporter's task, until the block ends: then its process is gone."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(reporter.run)
        yield
        tasks.cancel_scope.cancel()


async def until(holds: Callable[[], bool], *nodes: ReplicaNode) -> None:
    """Let virtual time pass; the nodes' actors work when they are woken."""
    with anyio.fail_after(7200):
        while not holds():
            await anyio.sleep(0.1)
            for node in nodes:
                node.supervisor.work()


def state_of(node: ReplicaNode, match: str) -> MatchState:
    found = node.states.get(match)
    assert isinstance(found, MatchState)
    return found


def win(node: ReplicaNode, key: str = "key") -> str:
    """Play a match to its end; its id."""
    match = node.seated("race", key)
    node.act(match, "0", 1, "add", 1)
    assert state_of(node, match).ended
    return match


async def test_a_result_is_told_once_it_is_committed(autojump_clock: Any) -> None:
    """With what a receiver needs; then the log says so, at every replica."""
    owner, follower = pair(race(goal=1))
    receiver = Receiver()
    reporter = reporter_of(owner, receiver)
    reporter.adopt(SHARD)
    match = win(owner)
    index = state_of(owner, match).index
    async with running(reporter):
        await until(lambda: state_of(owner, match).reported, owner)
    [result] = receiver.counted.values()
    assert result == MatchResult(
        key=f"{match}:{index}",
        match=match,
        index=index,
        game="race",
        version=result.version,
        seats=("0", "1"),
        result={"winner": "0"},
        revision=1,
        ended_ms=0,
    )
    assert receiver.calls == [result.key]
    for node in (owner, follower):
        assert state_of(node, match).reported
        [record] = node.states.records(match, index + 1, 1)
        assert record.kind is RecordKind.RESULT_DELIVERED
        assert dict(record.input) == {"index": index}
    statistics = reporter.statistics()
    assert (statistics.waiting, statistics.delivered) == (0, 1)


async def test_what_became_of_a_room_is_told_to_nobody(autojump_clock: Any) -> None:
    """It is no match that anybody has played; the log says that it is done with."""
    owner, _ = pair(replace(race(goal=1), name=ROOM_GAME))
    receiver = Receiver()
    reporter = reporter_of(owner, receiver)
    reporter.adopt(SHARD)
    room = owner.seated(ROOM_GAME, "key")
    owner.act(room, "0", 1, "add", 1)
    async with running(reporter):
        await until(lambda: state_of(owner, room).reported, owner)
    assert receiver.calls == []


async def test_b85_a_result_whose_teller_died_is_told_by_the_next_owner(
    autojump_clock: Any,
) -> None:
    """B85: the end is committed, the process dies before, or while, it tells: the next
    owner does, with the same key, and the receiver counts it once."""
    owner, follower = pair(race(goal=1))
    receiver = Receiver()
    first = reporter_of(owner, receiver)
    first.adopt(SHARD)
    receiver.holding = True
    begun, untold = win(owner, "begun"), ""
    async with running(first):
        await until(lambda: bool(receiver.calls), owner)
        untold = win(owner, "untold")
    receiver.holding = False

    fail_over(owner, follower)
    second = reporter_of(follower, receiver)
    second.adopt(SHARD)
    async with running(second):
        await until(
            lambda: all(state_of(follower, m).reported for m in (begun, untold)),
            follower,
        )
    assert {result.match for result in receiver.counted.values()} == {begun, untold}
    assert len(receiver.counted) == 2
    assert receiver.calls.count(result_key(follower, begun)) == 2


def result_key(node: ReplicaNode, match: str) -> str:
    """Of a match whose log says that it is delivered."""
    return f"{match}:{state_of(node, match).index - 1}"


async def test_b85_nobody_tells_what_the_log_says_is_told(autojump_clock: Any) -> None:
    """The next owner leaves it alone."""
    owner, follower = pair(race(goal=1))
    receiver = Receiver()
    first = reporter_of(owner, receiver)
    first.adopt(SHARD)
    match = win(owner)
    async with running(first):
        await until(lambda: state_of(owner, match).reported, owner)
    fail_over(owner, follower)
    second = reporter_of(follower, receiver)
    second.adopt(SHARD)
    async with running(second):
        await anyio.sleep(60)
        follower.supervisor.work()
    assert len(receiver.calls) == 1


async def test_b86_an_hour_of_failures_delays_the_result_alone(
    autojump_clock: Any,
) -> None:
    """B86: it is told again with growing pauses, the metrics show it, one line says so;
    matches are played and created all the while; in the end it is counted once."""
    owner, _ = pair(race(goal=3))
    receiver = Receiver()
    reporter = reporter_of(owner, receiver)
    reporter.adopt(SHARD)
    match = owner.seated("race")
    owner.act(match, "0", 1, "add", 3)
    receiver.refusing = True
    other = owner.seated("race", "other")
    with structlog.testing.capture_logs() as logs:
        async with running(reporter):
            await anyio.sleep(1800)
            for action, seat in enumerate("010", 1):
                frames = owner.act(other, seat, (action + 1) // 2, "add", 1)
                assert frames
            assert state_of(owner, other).ended
            await anyio.sleep(1800)
            statistics = reporter.statistics()
            assert statistics.waiting == statistics.failing == 2
            assert statistics.oldest_s >= 3500
            # Doubling up to five minutes: neither a storm nor forgotten.
            key = f"{match}:{state_of(owner, match).index}"
            assert 14 <= receiver.calls.count(key) <= 30
            receiver.refusing = False
            await until(lambda: state_of(owner, match).reported, owner)
            await until(lambda: state_of(owner, other).reported, owner)
    assert [entry["event"] for entry in logs] == ["result_delayed"] * 2
    assert logs[0]["error"] == "it is down"
    assert len(receiver.counted) == 2
    assert reporter.statistics().failing == 0


async def test_a_result_that_nobody_reads_costs_one_place(autojump_clock: Any) -> None:
    """A receiver whose code fails is a failure like any other."""

    class Broken(Receiver):
        async def deliver(self, result: MatchResult) -> None:
            self.calls.append(result.key)
            raise RuntimeError("a bug")

    owner, _ = pair(race(goal=1))
    broken = Broken()
    reporter = reporter_of(owner, broken)
    reporter.adopt(SHARD)
    win(owner)
    async with running(reporter):
        await until(lambda: len(broken.calls) > 3, owner)
    assert reporter.statistics().failing == 1


def some_result(number: int = 1) -> MatchResult:
    """A result with text that is not ASCII."""
    return MatchResult(
        f"m:{number}", "m", number, "race", "1", ("0", "1"), {"winner": "é"}, 1, 5
    )


async def test_lines_of_a_file_are_whole(tmp_path: Path) -> None:
    """Its owner alone reads it; what was torn by a crash stays a line of its own."""
    path = tmp_path / "results.jsonl"
    async with FileSink(path) as sink:
        await sink.deliver(some_result(1))
        with path.open("ab") as file:
            file.write(b'{"key": "torn')
        async with anyio.create_task_group() as tasks:
            for number in range(2, 12):
                tasks.start_soon(sink.deliver, some_result(number))
    lines = path.read_text("utf-8").splitlines()
    assert json.loads(lines[0]) == some_result(1).to_json()
    assert lines[1] == '{"key": "torn'
    keys = {json.loads(line)["key"] for line in lines[2:]}
    assert keys == {f"m:{number}" for number in range(2, 12)}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    """With its name: it is tried again."""
    async with FileSink(tmp_path / "nowhere" / "results") as sink:
        with pytest.raises(ResultNotDelivered, match="nowhere"):
            await sink.deliver(some_result())


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
def test_a_webhook_gets_the_key(backend: str) -> None:
    """As a header and in the body; 2xx is a yes, everything else is none."""
    asked: list[httpx.Request] = []
    answers = iter([204, 500, 302, 409, 200])

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(next(answers), headers={"location": "http://elsewhere"})

    async def main() -> None:
        transport = httpx.MockTransport(answer)
        sink = WebhookSink("http://receiver/x", timeout_s=5, transport=transport)
        async with sink:
            await sink.deliver(some_result())
            for status in (500, 302, 409):
                with pytest.raises(ResultNotDelivered, match=str(status)):
                    await sink.deliver(some_result())
            await sink.deliver(some_result())

    anyio.run(main, backend=backend)
    assert {request.headers[KEY_HEADER] for request in asked} == {"m:1"}
    assert json.loads(asked[0].content) == some_result().to_json()
    assert len(asked) == 5


async def test_a_webhook_that_hangs_is_given_up(autojump_clock: Any) -> None:
    """All of it takes no longer than its timeout."""

    async def hang(request: httpx.Request) -> httpx.Response:
        await trio.sleep_forever()
        raise AssertionError

    sink = WebhookSink(
        "http://receiver", timeout_s=3, transport=httpx.MockTransport(hang)
    )
    async with sink:
        began = trio.current_time()
        with pytest.raises(ResultNotDelivered, match="no answer in 3 s"):
            await sink.deliver(some_result())
        assert trio.current_time() - began == 3


async def test_a_webhook_that_refuses_the_connection_is_said() -> None:
    """So is an address that nobody has."""
    for url in ("http://127.0.0.1:1/", "http://[not an address"):
        async with WebhookSink(url, timeout_s=5) as sink:
            with pytest.raises(ResultNotDelivered):
                await sink.deliver(some_result())


def test_a_result_holds_no_secrets() -> None:
    """Neither the seed, nor tokens, nor G: they are no receiver's."""
    owner, _ = pair(race(goal=1))
    state = state_of(owner, win(owner))
    told = json.dumps(result_of(state).to_json())
    assert state.snapshot.meta.seed not in told
    assert state.seats["0"].token_hash not in told
    assert "total" not in told
