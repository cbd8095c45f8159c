"""Operators' commands at a node: told when they are committed, and never lost."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from hotseat.runtime.budget import BudgetExceeded
from hotseat.runtime.codec import unpack
from hotseat.runtime.command import (
    Answer,
    Applied,
    Denied,
    Edit,
    Intervention,
    ResignSeat,
    Terminate,
    Upgrade,
)
from hotseat.runtime.frame import Accepted, Created, Sync, TakeSeat, ViewUpdate
from hotseat.runtime.match_id import match_id
from hotseat.runtime.options import MatchOptions, SupervisorOptions

from ...runtime.hosting import (
    ALICE,
    BOB,
    TOKEN_A,
    TOKEN_B,
    WATCHER,
    HeldCommitter,
    dispatch,
    view_of,
)
from ...runtime.node_stage import EPOCH, NodeStage, create_frame, node_stage
from ...runtime.vault import FIRST, SECOND, vault

ALLOWED = SupervisorOptions(match=MatchOptions(allow_edits=True))
MATCH = match_id("local", "key")
PATCH = [
    {"op": "replace", "path": "/total", "value": 40},
    {"op": "replace", "path": "/secret", "value": "plugh"},
]
END = Terminate("9", "ann", "")
COMMANDS = [
    Terminate("1", "ann", ""),
    Edit("1", "ann", "", PATCH),
    Upgrade("1", "ann", "", "2"),
    ResignSeat("1", "ann", "", "1"),
]


def code(answer: Answer) -> str:
    assert isinstance(answer, Denied), answer
    return answer.refusal.code


async def begun(node: NodeStage) -> None:
    """A match of the first version, where seat 0 has added 4."""
    created = await node.create("vault", version="1")
    assert isinstance(created, Created), created
    assert created.match == MATCH
    for route, seat, token in ((ALICE, "0", TOKEN_A), (BOB, "1", TOKEN_B)):
        await node.ask(route, TakeSeat(0, MATCH, EPOCH, seat, token))
    await node.act(MATCH, "0", 1, "add", 4)


@pytest.mark.parametrize("asked", COMMANDS, ids=lambda asked: type(asked).__name__)
async def test_a_command_is_told_when_it_is_committed(asked: Intervention) -> None:
    """Not before; and a repeat while it waits is the same command."""
    held = HeldCommitter()
    answers: list[Answer] = []
    async with node_stage(FIRST, SECOND, options=ALLOWED, committer=held) as node:
        await node.tell((ALICE, create_frame("vault", version="1")))
        held.commit()
        node.supervisor.ask(MATCH, asked, answers.append)
        node.supervisor.ask(MATCH, asked, answers.append)
        await anyio.wait_all_tasks_blocked()
        assert answers == []
        held.commit()
        await anyio.wait_all_tasks_blocked()
        assert answers == [Applied(1, 1)] * 2
        assert await node.supervisor.command(MATCH, asked) == Applied(1, 1)


@pytest.mark.parametrize(("sent", "said"), [(True, "retry"), (False, "not_committed")])
async def test_what_was_not_committed_is_told(sent: bool, said: str) -> None:
    """With another owner in between, who asks learns whether it is worth asking."""
    held = HeldCommitter()
    answers: list[Answer] = []
    async with node_stage(FIRST, committer=held) as node:
        await node.tell((ALICE, create_frame("vault")))
        held.commit()
        node.supervisor.ask(MATCH, END, answers.append)
        await anyio.wait_all_tasks_blocked()
        held.abandon(sent=sent)
        assert [code(answer) for answer in answers] == [said]


async def test_everybody_sees_what_an_operator_did() -> None:
    """Edits and upgrades come as any update; of the patch there is nothing in it."""
    async with node_stage(FIRST, SECOND, options=ALLOWED) as node:
        await begun(node)
        await node.sync(BOB, MATCH, "1")
        await node.sync(WATCHER, MATCH)
        await node.supervisor.command(MATCH, COMMANDS[1])
        updates = node.outlet.frames(ViewUpdate)
        assert [view_of(u)["total"] for u in updates] == [40, 40]
        for update in updates:
            (step,) = unpack(update.steps)
            assert step["kind"] == "edit"
            assert "payload" not in step["event"]
            assert "plugh" not in str(step)
        node.outlet.take()
        upgraded = Upgrade("2", "ann", "", "2")
        assert isinstance(await node.supervisor.command(MATCH, upgraded), Applied)
        shown = node.outlet.frames(ViewUpdate)
        assert [view_of(u)["total"] for u in shown] == [40, 40]
        (step,) = unpack(shown[0].steps)
        assert step["event"]["payload"] == {"from": "1", "to": "2"}
        await node.tell()
        out = await node.tell((BOB, dispatch(5, MATCH, "1", 1, "add", 1)))
        seen = [view_of(frame) for frame in out if isinstance(frame, ViewUpdate)]
        assert seen == [{"total": 50, "seat": "1"}, {"total": 50}]


async def test_who_comes_behind_an_upgrade_is_not_told_steps_of_the_older_rules() -> (
    None
):
    """What they may see of them only the older version knows; the view is whole."""
    async with node_stage(FIRST, SECOND) as node:
        await begun(node)
        await node.supervisor.command(MATCH, COMMANDS[2])
        late = await node.ask(WATCHER, Sync(0, MATCH, EPOCH, "", 0, False, 0))
        assert isinstance(late, ViewUpdate)
        assert unpack(late.steps) == []
        assert view_of(late) == {"total": 4}


async def test_edits_are_refused_unless_the_cluster_allows_them() -> None:
    """They are off by default; all else is an operator's right."""
    async with node_stage(FIRST) as node:
        await begun(node)
        assert code(await node.supervisor.command(MATCH, COMMANDS[1])) == (
            "edits_not_allowed"
        )
        assert isinstance(await node.supervisor.command(MATCH, END), Applied)


async def test_a_version_that_the_node_lacks_is_refused() -> None:
    """The match goes on as it did."""
    async with node_stage(FIRST) as node:
        await begun(node)
        answer = await node.supervisor.command(MATCH, COMMANDS[2])
        assert code(answer) == "version_missing"


async def test_a_migration_over_its_budget_counts_for_nothing_against_the_match() -> (
    None
):
    """It is refused as often as it is tried, and the match goes on."""

    def endless(G: Any, version: str) -> Any:
        raise BudgetExceeded(0.1)

    async with node_stage(FIRST, vault("2", migrate=endless)) as node:
        await begun(node)
        with capture_logs() as logs:
            for number in range(10):
                asked = Upgrade(f"{number}", "ann", "", "2")
                answer = await node.supervisor.command(MATCH, asked)
                assert code(answer) == "resolver_timeout"
        assert {line["event"] for line in logs} == {"budget_exceeded"}
        assert isinstance(await node.act(MATCH, "1", 1, "add", 1), Accepted)


async def test_a_match_that_is_not_here_is_told_as_such() -> None:
    """In a shard of another's, or in ours; or it is set apart."""
    async with node_stage(FIRST, shards=()) as node:
        assert code(await node.supervisor.command(MATCH, END)) == "moved"
    async with node_stage(FIRST) as node:
        assert code(await node.supervisor.command(MATCH, END)) == "unknown_match"
        await begun(node)
        node.supervisor.set_apart(MATCH, "quarantined")
        assert code(await node.supervisor.command(MATCH, END)) == "quarantined"


async def test_who_asks_while_the_node_stops_is_told() -> None:
    """No answer is owed for ever."""
    answers: list[Answer] = []
    async with node_stage(FIRST) as node:
        await begun(node)
        actor = node.supervisor.actor(MATCH)
        assert actor is not None
        node.supervisor.ask(MATCH, END, answers.append)
        node.supervisor.close()
        assert [code(answer) for answer in answers] == ["stopping"]
        node.supervisor.ask(MATCH, END, answers.append)
        assert code(answers[1]) == "retry"
