"""Who asks for a command is told its end, or why there is none to tell."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from hotseat.nodes.exit_codes import ExitCode
from hotseat.nodes.operator.ask import default_who
from hotseat.nodes.operator.rows import ProgressRow
from hotseat.nodes.operator.verb import CommandElsewhere, OperatorCommand, Verb
from hotseat.nodes.operator_error import OperatorError

from ..node.node_world import node_world
from .operated import Operated


class Slow:
    """A verb of every node: it takes as long as it is let."""

    def __init__(self) -> None:
        self.runs = 0
        self.go_on = anyio.Event()
        self.nobody_until = 0.0
        self.hand_on = False

    async def run(self, command: OperatorCommand) -> Mapping[str, Any]:
        if anyio.current_time() < self.nobody_until:
            raise CommandElsewhere("")
        self.runs += 1
        command.tell(1, 2, "half way")
        await self.go_on.wait()
        if self.hand_on:
            self.hand_on = False
            command.did = "A half is done."
            raise CommandElsewhere("")
        return {"attached": len(command.attached)}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    slow = Slow()
    verb = Verb("slow", slow.run)
    monkeypatch.setattr("hotseat.nodes.node.node.node_verbs", lambda parts: (verb,))
    return slow


@pytest.fixture
async def operator(
    slow: Slow,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[Operated]:
    async with node_world(tmp_path / "c", "n1", "n2") as world:
        yield Operated(world, monkeypatch)


async def refused(operator: Operated, **how: Any) -> OperatorError:
    """Its no."""
    with pytest.raises(OperatorError) as caught:
        await operator.operate("slow", "t", **how)
    return caught.value


async def test_a_long_command_that_moves_on_is_followed(
    autojump_clock: object, operator: Operated, slow: Slow
) -> None:
    """Its node leaves the rest to the next one: who asks waits for that one's end."""
    slow.hand_on = True

    async def end_it() -> None:
        await anyio.sleep(5)
        slow.go_on.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end_it)
        await operator.operate("slow", "t", timeout_s=None)
    assert slow.runs == 2
    assert [(row["state"], row["code"]) for row in await operator.audit()] == [
        ("done", "")
    ]


async def test_a_long_command_is_waited_for(
    autojump_clock: object, operator: Operated, slow: Slow
) -> None:
    """It is asked how far it is until it has ended; what is attached came with it."""
    seen: list[ProgressRow] = []

    async def end_it() -> None:
        await anyio.sleep(5)
        slow.go_on.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end_it)
        done = await operator.operate(
            "slow",
            "t",
            node="n2",
            timeout_s=None,
            attached=bytes(700_000),
            progress=seen.append,
        )
    assert (done.node, done.outcome) == ("n2", {"attached": 700_000})
    assert seen[0] == ProgressRow(done=1, total=2, text="half way")
    assert slow.runs == 1


async def test_patience_ends_and_the_command_does_not(
    autojump_clock: object, operator: Operated, slow: Slow
) -> None:
    """Who asked is told its id; it goes on, and its end is on record."""
    error = await refused(operator, timeout_s=1.0)
    assert error.code == "operation_timeout"
    slow.go_on.set()
    await anyio.sleep(1)
    (row,) = await operator.audit()
    assert (row["state"], row["id"] in error.message) == ("done", True)


async def test_the_end_of_who_ran_it_is_told(
    autojump_clock: object, operator: Operated, slow: Slow
) -> None:
    """It may be done or not: nobody says that it is, nor does it again."""

    async def kill() -> None:
        await anyio.sleep(1)
        await operator.world.kill("n1")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kill)
        error = await refused(operator, node="n1", timeout_s=None)
    assert error.code == "node_gone"
    assert slow.runs == 1


async def test_a_node_that_is_not_there_is_said_at_once(
    autojump_clock: object, operator: Operated
) -> None:
    """As is a cluster without any."""
    await operator.world.kill("n2")
    error = await refused(operator, node="n2")
    assert (error.code, error.exit_code) == (
        "door_unreachable",
        ExitCode.UNREACHABLE,
    )
    await operator.world.kill("n1")
    assert (await refused(operator)).code == "cluster_unreachable"


async def test_what_nobody_owns_is_asked_for_again(
    autojump_clock: object, operator: Operated, slow: Slow
) -> None:
    """Until somebody does, or patience ends."""
    slow.go_on.set()
    slow.nobody_until = anyio.current_time() + 2
    done = await operator.operate("slow", "t")
    assert done.outcome == {"attached": 0}
    slow.nobody_until = anyio.current_time() + 100
    assert (await refused(operator, timeout_s=2)).code == "no_owner"
    assert [row["state"] for row in await operator.audit()] == ["done"]


async def test_a_lost_answer_of_a_long_command_is_no_second_one(
    autojump_clock: object, operator: Operated, slow: Slow
) -> None:
    """Whoever is asked next knows that it runs, and where."""
    operator.lose = 3

    async def end_it() -> None:
        await anyio.sleep(8)
        slow.go_on.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(end_it)
        await operator.operate("slow", "t", timeout_s=None)
    assert slow.runs == 1


def test_who_it_is_is_known_without_being_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the system knows no name, too; it fits into a record."""
    assert "@" in default_who()
    monkeypatch.setattr("socket.gethostname", lambda: "h" * 300)
    assert len(default_who()) == 128
