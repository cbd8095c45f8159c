"""The feed of a match's log: from whatever node owns it, each record once."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hotseat.engine.errors import ReplayError
from hotseat.engine.replay import Recording, open_timeline
from hotseat.engine.replay.late_records import LateRecords
from hotseat.nodes.cluster_dir import ClusterDir
from hotseat.nodes.nng_door import DoorServer
from hotseat.nodes.operator.door import Door, DoorError, Operation
from hotseat.nodes.operator.match_feed import FeedBroken, MatchFeed
from hotseat.nodes.operator.match_records import give_records
from hotseat.nodes.operator.until_owned import until_owned
from hotseat.nodes.operator_error import OperatorError
from hotseat.runtime.codec import pack, unpack
from hotseat.runtime.match_id import match_id

from ...runtime.node_stage import NodeStage, node_stage
from ...runtime.sample_games import race

pytestmark = pytest.mark.system

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@pytest.fixture
def home(tmp_path: Path) -> ClusterDir:
    """The folder of a cluster whose nodes are n1 and n2."""
    home = ClusterDir.open(tmp_path / "c", 4)
    for node in ("n1", "n2"):
        home.pid_path(node).write_text(f"{os.getpid()}\n")
    return home


@asynccontextmanager
async def door(home: ClusterDir, node: str, records: Answer) -> AsyncIterator[None]:
    """The command door of a node."""
    known: dict[str, Operation] = {
        "records": records,
        "identify": lambda asked: {"dir": str(home.path)},
    }
    async with DoorServer(home.door(node), Door(known).answer):
        yield


async def code(feed: MatchFeed) -> str:
    """Fetch what must fail; return the code."""
    with pytest.raises(OperatorError) as caught:
        await feed.fetch()
    assert str(caught.value).startswith(f"error[{caught.value.code}]: ")
    return caught.value.code


def no(code: str) -> Answer:
    """A door that refuses."""

    def refuse(asked: Mapping[str, Any]) -> Mapping[str, Any]:
        raise DoorError(code, "No.")

    return refuse


async def _played(node: NodeStage, match: str, numbers: range) -> None:
    """Both seats add, in turn."""
    for number in numbers:
        seat = "01"[(number - 1) % 2]
        await node.act(match, seat, (number + 1) // 2, "add", 1)


async def test_each_record_comes_once_and_the_end_is_told(
    home: ClusterDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Page by page from the owner alone, which is found among the nodes."""
    monkeypatch.setattr("hotseat.nodes.operator.match_records.PAGE_BYTES", 600)
    async with node_stage(race(goal=7)) as node:
        match = await node.seated("race")
        feed = MatchFeed(home.path, match)
        give = partial(give_records, node.supervisor)
        async with door(home, "n1", no("moved")), door(home, "n2", give):
            found = await feed.fetch()
            assert await feed.fetch() == []
            for number in range(1, 8):
                seat = "01"[(number - 1) % 2]
                await node.act(match, seat, (number + 1) // 2, "add", 1)
                if number == 4:
                    found += await feed.fetch()
                    assert not feed.ended
            found += await feed.fetch()
            assert feed.ended
        assert found == await node.log(match)


async def test_a_record_is_read_when_it_is_looked_at(home: ClusterDir) -> None:
    """Opening a long match reads none; a malformed one is told in its place."""
    async with node_stage(race(goal=20)) as node:
        match = await node.seated("race")
        await _played(node, match, range(1, 8))
        async with door(home, "n1", partial(give_records, node.supervisor)):
            log = await MatchFeed(home.path, match).fetch()

        def give(asked: Mapping[str, Any]) -> Mapping[str, Any]:
            answer = dict(give_records(node.supervisor, asked))
            rows = unpack(answer["records"])
            for row in rows:
                if row["index"] == 5:
                    row["kind"] = "miracle"
            return answer | {"records": bytes(pack(rows))}

        async with door(home, "n1", give):
            feed = MatchFeed(home.path, match)
            revisions, unread = await feed.fetch_unread()
            assert feed.upgrades == []
            assert await code(MatchFeed(home.path, match)) == "malformed_log"
        assert revisions == [record.revision_after for record in log]
        records = LateRecords(unread)
        recording = Recording(records, revisions=revisions, upgrades=feed.upgrades)
        timeline = open_timeline(race(goal=20), recording)
        assert timeline.head == revisions[-1]
        assert records[4] == log[4]
        assert timeline.frame(revisions[4]).record == log[4]
        with pytest.raises(ReplayError, match="record 5 is malformed"):
            timeline.frame(timeline.head)


async def test_an_owner_that_changes_is_found_again(home: ClusterDir) -> None:
    """While nobody answers for the match, that is said, and nothing is lost."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        feed = MatchFeed(home.path, match)
        give = partial(give_records, node.supervisor)
        async with door(home, "n1", give):
            assert len(await feed.fetch()) == 3
        with pytest.raises(FeedBroken, match="no node of the cluster answers"):
            await feed.fetch()
        async with door(home, "n1", no("moved")):
            with pytest.raises(FeedBroken) as caught:
                await feed.fetch()
            assert caught.value.code == "no_owner"
            await node.act(match, "0", 1, "add", 1)
            async with door(home, "n2", give):
                assert [each.index for each in await feed.fetch()] == [3]


async def test_who_reads_once_is_told_nothing_of_a_hand_over(home: ClusterDir) -> None:
    """Between two owners nobody gives the log, and then the next one does."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        between = ["moved", "moved", "retry"]

        def give(asked: Mapping[str, Any]) -> Mapping[str, Any]:
            if between:
                raise DoorError(between.pop(0), "No.")
            return give_records(node.supervisor, asked)

        async with door(home, "n1", no("moved")), door(home, "n2", give):
            found = await until_owned(MatchFeed(home.path, match).fetch)
        assert [record.index for record in found] == [0, 1, 2]
        assert between == []


async def test_a_follower_is_told_whenever_asking_again_may_help(
    home: ClusterDir,
) -> None:
    """The owner has the match and cannot give it yet; the only door that is known is
    shut, which was open before."""
    async with node_stage(race()) as node:
        match = await node.seated("race")
        feed = MatchFeed(home.door("n1"), match)
        assert await code(feed) == "door_unreachable"
        give = partial(give_records, node.supervisor)
        async with door(home, "n1", give):
            assert len(await feed.fetch()) == 3
        for shut, said in ((False, "retry"), (True, "door_unreachable")):
            async with door(home, "n2" if shut else "n1", no("retry")):
                with pytest.raises(FeedBroken) as caught:
                    await feed.fetch()
            assert caught.value.code == said
        async with door(home, "n1", give):
            assert await feed.fetch() == []


async def test_a_node_that_is_not_registered_now_may_be_the_next_owner(
    home: ClusterDir,
) -> None:
    """One on another machine is started again: that is no last word."""
    away = {"n3": {"registered": False, "door": "tcp://192.0.2.1:1"}}
    door = Door({"records": no("moved"), "nodes": lambda asked: {"nodes": away}})
    async with DoorServer(home.door("n1"), door.answer):
        with pytest.raises(FeedBroken) as caught:
            await MatchFeed(home.path, match_id("local", "key")).fetch()
    assert caught.value.code == "no_owner"


async def test_a_match_that_is_not_there_is_one_clear_error(home: ClusterDir) -> None:
    """Unknown from the start, lost on the way, over for long."""
    match = match_id("local", "key")
    async with door(home, "n1", no("moved")), door(home, "n2", no("unknown_match")):
        assert await code(MatchFeed(home.path, match)) == "unknown_match"
    async with door(home, "n2", no("game_over")):
        assert await code(MatchFeed(home.path, match)) == "game_over"
    async with node_stage(race()) as node:
        match = await node.seated("race")
        lost, other = MatchFeed(home.path, match), MatchFeed(home.path, match)
        give = partial(give_records, node.supervisor)
        async with door(home, "n1", give):
            await lost.fetch()
            await other.fetch()
        async with door(home, "n1", no("unknown_match")):
            assert await code(lost) == "match_lost"
        async with door(home, "n1", lambda asked: {**give(asked), "epoch": 9}):
            assert await code(other) == "match_lost"


async def test_what_is_no_log_is_refused(home: ClusterDir) -> None:
    """A door of another build cannot break the reader."""
    match = match_id("local", "key")
    for bad in (b"\x91\x01", b"\xc1", b""):
        answer: dict[str, Any] = {"epoch": 1, "count": 1, "ended": False}
        answer |= {"status": "running", "records": bad}
        async with door(home, "n1", lambda asked, answer=answer: answer):  # type: ignore[misc]
            assert await code(MatchFeed(home.path, match)) == "malformed_log"
