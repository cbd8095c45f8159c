"""A node runs an operator's command once, on record, and tells what becomes of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import trio.testing

from hotseat.nodes.operator.attachments import attached_mark
from hotseat.nodes.operator.commands import COMMANDS_MAX, Commands
from hotseat.nodes.operator.door import DoorError
from hotseat.nodes.operator.operation_id import draw_operation_id
from hotseat.nodes.operator.operations_log import OperationsLog
from hotseat.nodes.operator.verb import (
    CommandElsewhere,
    CommandFailed,
    OperatorCommand,
    Verb,
)
from hotseat.runtime.control_plane import (
    Keys,
    NodeRecord,
    OperationRecord,
    encode_record,
)
from hotseat.runtime.coordinator import ABSENT, Write
from hotseat.runtime.testing.memory_coordinator import CasFault, MemoryCoordinator
from hotseat.runtime.testing.memory_store import MemoryStore

KEYS = Keys("c")


class Works:
    """Some verbs, and what they were asked."""

    def __init__(self) -> None:
        self.ran: list[OperatorCommand] = []
        self.go_on = anyio.Event()
        self.at = 0  # of the parts of `halves`

    def verbs(self) -> list[Verb]:
        return [
            Verb("add", self.add),
            Verb("wait", self.wait),
            Verb("refuse", self.refuse),
            Verb("break", self.break_down),
            Verb("elsewhere", self.elsewhere),
            Verb("reveal", self.reveal, frozenset({"seed"})),
            Verb("bulk", self.bulk),
            Verb("halves", self.halves),
        ]

    async def add(self, command: OperatorCommand) -> Mapping[str, Any]:
        self.ran.append(command)
        return {"sum": command.args["a"] + command.args["b"]}

    async def wait(self, command: OperatorCommand) -> Mapping[str, Any]:
        self.ran.append(command)
        command.tell(1, 3, "half way")
        await self.go_on.wait()
        return {}

    async def refuse(self, command: OperatorCommand) -> Mapping[str, Any]:
        raise CommandFailed("not_today", "Ask tomorrow.")

    async def break_down(self, command: OperatorCommand) -> Mapping[str, Any]:
        raise KeyError("oops")

    async def elsewhere(self, command: OperatorCommand) -> Mapping[str, Any]:
        raise CommandElsewhere("n2")

    async def reveal(self, command: OperatorCommand) -> Mapping[str, Any]:
        return {"seed": "hush", "of": command.target}

    async def halves(self, command: OperatorCommand) -> Mapping[str, Any]:
        """The first node does one; the second one nothing; the third one the rest."""
        self.ran.append(command)
        if self.at == 2:
            return {"before": command.did}
        if self.at == 0:
            command.did = "One half is done."
        raise CommandElsewhere("")

    async def bulk(self, command: OperatorCommand) -> Mapping[str, Any]:
        return {"bytes": len(command.attached), "text": "x" * 5_000}


class Stage:
    """A node's commands, and the coordinator that they are written into."""

    def __init__(self, store: MemoryStore | None = None, node: str = "n1") -> None:
        self.coordinator = MemoryCoordinator(store or MemoryStore())
        self.works = Works()
        self.log = OperationsLog(self.coordinator, KEYS)
        self.commands = Commands(
            self.log, self.works.verbs(), node, f"boot of {node}", lambda: 1_000
        )
        self.node = node

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Stage]:
        record = NodeRecord(node=self.node, boot=f"boot of {self.node}", inbox="i")
        write = Write(KEYS.node(self.node), ABSENT, encode_record(record))
        await self.coordinator.cas_many([write])
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.commands.run)
            await trio.testing.wait_all_tasks_blocked()
            yield self
            tasks.cancel_scope.cancel()

    async def ask(self, verb: str, **fields: Any) -> dict[str, Any]:
        """The row that answers."""
        asked = {
            "id": draw_operation_id(),
            "verb": verb,
            "target": "m",
            "who": "ann",
            "why": "because",
            "args": {},
        } | fields
        answer = await self.commands.operate(asked)
        row: dict[str, Any] = answer.get("operation", answer)
        return row

    async def refused(self, verb: str, **fields: Any) -> str:
        """The code of the door's no."""
        with pytest.raises(DoorError) as caught:
            await self.ask(verb, **fields)
        return caught.value.code


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with Stage().running() as stage:
        yield stage


async def test_a_command_is_done_and_on_record(stage: Stage) -> None:
    """Who asks is told the outcome; the record has who, why, what, and how it ended."""
    id = draw_operation_id()
    row = await stage.ask("add", id=id, args={"a": 1, "b": 2})
    assert (row["state"], row["outcome"], row["node"]) == ("done", {"sum": 3}, "n1")
    record = await stage.log.get(id)
    assert record is not None
    assert (record.who, record.why, record.verb) == ("ann", "because", "add")
    assert (record.state, record.args, record.outcome) == (
        "done",
        {"a": 1, "b": 2},
        {"sum": 3},
    )
    listed = await stage.commands.operations({"verb": "add"})
    assert [one["id"] for one in listed["operations"]] == [id]
    assert (await stage.commands.operations({"verb": "other"}))["operations"] == []


async def test_asking_twice_is_asking_once(stage: Stage) -> None:
    """By the same id, at the same node, at another one, and while it runs."""
    id = draw_operation_id()
    for _ in range(2):
        row = await stage.ask("add", id=id, args={"a": 1, "b": 2})
        assert row["outcome"] == {"sum": 3}
    async with Stage(stage.coordinator.store, "n2").running() as other:
        row = await other.ask("add", id=id, args={"a": 1, "b": 2})
        assert (row["outcome"], row["node"]) == ({"sum": 3}, "n1")
        assert other.works.ran == []
        waiting = draw_operation_id()
        first = await stage.ask("wait", id=waiting, wait_s=0)
        assert first["state"] == "running"
        row = await other.ask("wait", id=waiting)
        assert (row["state"], row["node"]) == ("running", "n1")
        stage.works.go_on.set()
        assert (await stage.ask("wait", id=waiting))["state"] == "done"
        assert (await other.ask("wait", id=waiting))["state"] == "done"
    assert len(stage.works.ran) == 2


async def test_an_id_is_one_command(stage: Stage) -> None:
    """Another command under it is refused, whether the first runs, has, or had."""
    id = draw_operation_id()
    await stage.ask("add", id=id, args={"a": 1, "b": 2})
    assert await stage.refused("add", id=id, args={"a": 1, "b": 3}) == "id_reused"
    async with Stage(stage.coordinator.store, "n2").running() as other:
        assert await other.refused("wait", id=id) == "id_reused"
    waiting = draw_operation_id()
    await stage.ask("wait", id=waiting, wait_s=0)
    assert await stage.refused("wait", id=waiting, target="other") == "id_reused"


async def test_how_far_it_is_can_be_asked(stage: Stage, autojump_clock: object) -> None:
    """A long command answers `running`, and tells its progress to who asks."""
    id = draw_operation_id()
    row = await stage.ask("wait", id=id)
    assert row["state"] == "running"
    row = (await stage.commands.operation({"id": id}))["operation"]
    assert row["progress"] == {"done": 1, "total": 3, "text": "half way"}
    stage.works.go_on.set()
    await trio.testing.wait_all_tasks_blocked()
    row = (await stage.commands.operation({"id": id}))["operation"]
    assert (row["state"], row["progress"]) == ("done", None)
    with pytest.raises(DoorError) as caught:
        await stage.commands.operation({"id": draw_operation_id()})
    assert caught.value.code == "unknown_operation"


async def test_a_no_and_a_fault_are_on_record(stage: Stage) -> None:
    """A verb's no has its code; a fault of ours costs this command alone."""
    no, fault = draw_operation_id(), draw_operation_id()
    row = await stage.ask("refuse", id=no)
    assert (row["state"], row["code"], row["message"]) == (
        "failed",
        "not_today",
        "Ask tomorrow.",
    )
    assert (await stage.ask("break", id=fault))["code"] == "internal_error"
    records = {id: await stage.log.get(id) for id in (no, fault)}
    assert [record.code for record in records.values() if record] == [
        "not_today",
        "internal_error",
    ]
    assert (await stage.ask("add", args={"a": 1, "b": 1}))["state"] == "done"


async def test_what_belongs_elsewhere_leaves_no_record(stage: Stage) -> None:
    """Who asks is told where; there it is a command as new."""
    id = draw_operation_id()
    assert await stage.ask("elsewhere", id=id) == {"elsewhere": "n2"}
    assert await stage.log.get(id) is None


async def test_what_is_done_in_part_stays_on_record_and_is_gone_on_with(
    stage: Stage,
) -> None:
    """Under the same id, at other nodes; until one does the rest it has failed."""
    fields: dict[str, Any] = {"id": draw_operation_id()}

    async def record() -> OperationRecord:
        found = await stage.log.get(fields["id"])
        assert found is not None
        return found

    assert await stage.ask("halves", **fields) == {"elsewhere": ""}
    left = await record()
    assert (left.state, left.code, left.node) == ("failed", "moved_on", "n1")
    assert left.outcome == {"did": "One half is done."}
    assert await stage.refused("halves", **fields | {"target": "x"}) == "id_reused"
    async with Stage(stage.coordinator.store, "n2").running() as other:
        other.works.at = 1
        assert await other.ask("halves", **fields) == {"elsewhere": ""}
        again = await record()
        assert (again.code, again.node) == ("moved_on", "n2")
        assert again.outcome == left.outcome
        other.works.at = 2
        row = await other.ask("halves", **fields)
        assert (row["state"], row["outcome"]) == (
            "done",
            {"before": left.outcome["did"]},
        )
        ended = await record()
        assert (ended.state, ended.code, ended.message) == ("done", "", "")
        assert (ended.node, ended.asked_ms) == ("n2", left.asked_ms)
    row = await stage.ask("halves", **fields)
    assert (row["state"], row["node"]) == ("done", "n2")
    assert len(stage.works.ran) == 1


async def test_what_could_not_be_gone_on_with_says_so_again(
    stage: Stage, autojump_clock: object
) -> None:
    """The coordinator goes away at that moment: nothing runs, nothing seems to."""
    fields: dict[str, Any] = {"id": draw_operation_id(), "wait_s": 20}
    assert await stage.ask("halves", **fields) == {"elsewhere": ""}
    async with Stage(stage.coordinator.store, "n2").running() as other:
        other.coordinator.faults.script.extend([CasFault.LATE] * 8)
        assert await other.refused("halves", **fields) == "coordinator_away"
        other.coordinator.land_late()
        await anyio.sleep(60)
        record = await other.log.get(fields["id"])
        assert record is not None
        assert (record.state, record.code) == ("failed", "moved_on")
        assert other.works.ran == []
        other.works.at = 2
        assert (await other.ask("halves", **fields))["state"] == "done"


async def test_secrets_are_told_and_not_written(stage: Stage) -> None:
    """Of a secret field of an outcome the record knows nothing."""
    id = draw_operation_id()
    row = await stage.ask("reveal", id=id)
    assert row["outcome"] == {"seed": "hush", "of": "m"}
    record = await stage.log.get(id)
    assert record is not None
    assert record.outcome == {"of": "m"}
    for whole, told in ((False, {"of": "m"}), (True, {"seed": "hush", "of": "m"})):
        answer = await stage.commands.operation({"id": id, "whole": whole})
        assert answer["operation"]["outcome"] == told


async def test_long_things_are_attached(stage: Stage) -> None:
    """They come in pieces before; a long outcome is told, and not put on record."""
    id, data = draw_operation_id(), b"x" * 1_000
    args = {"attached": attached_mark(data)}
    assert await stage.refused("bulk", id=id, args=args) == "attachment_missing"
    attach = stage.commands.door_operations()["attach"]
    attach({"id": id, "offset": 0, "data": data[:600]})
    attach({"id": id, "offset": 600, "data": data[600:]})
    row = await stage.ask("bulk", id=id, args=args)
    assert (row["outcome"]["bytes"], len(row["outcome"]["text"])) == (1_000, 5_000)
    record = await stage.log.get(id)
    assert record is not None
    assert record.outcome["left_out_bytes"] > 5_000
    assert await stage.refused("add", args={"a": "x" * 5_000}) == "too_large"


async def test_no_record_no_command(stage: Stage, autojump_clock: object) -> None:
    """With the coordinator away nothing is done, and the command is refused."""
    stage.coordinator.down = True
    fields: dict[str, Any] = {"id": draw_operation_id(), "args": {"a": 1, "b": 2}}
    assert await stage.refused("add", **fields) == "coordinator_away"
    assert stage.works.ran == []
    with pytest.raises(DoorError) as caught:
        await stage.commands.operations({})
    assert caught.value.code == "coordinator_away"
    stage.coordinator.down = False
    assert (await stage.ask("add", **fields))["state"] == "done"


async def test_a_refused_command_whose_record_lands_late_is_no_riddle(
    stage: Stage, autojump_clock: object
) -> None:
    """It was never run, and its record comes to say so."""
    id = draw_operation_id()
    stage.coordinator.faults.script.extend([CasFault.LATE] * 8)
    fields: dict[str, Any] = {"id": id, "args": {"a": 1, "b": 2}, "wait_s": 20}
    assert await stage.refused("add", **fields) == "coordinator_away"
    stage.coordinator.land_late()
    await anyio.sleep(60)
    record = await stage.log.get(id)
    assert record is not None
    assert (record.state, record.code) == ("failed", "coordinator_away")
    assert stage.works.ran == []
    assert stage.commands.statistics().running == 0


async def test_an_end_that_cannot_be_written_is_written_later(
    stage: Stage, autojump_clock: object
) -> None:
    """Who asks is told at once; the record follows when the coordinator is back."""
    id = draw_operation_id()
    await stage.ask("wait", id=id, wait_s=0)
    await trio.testing.wait_all_tasks_blocked()
    stage.coordinator.down = True
    stage.works.go_on.set()
    assert (await stage.ask("wait", id=id, wait_s=20))["state"] == "done"
    assert stage.commands.statistics().unrecorded == 1
    stage.coordinator.down = False
    await anyio.sleep(60)
    record = await stage.log.get(id)
    assert record is not None
    assert record.state == "done"
    assert stage.commands.statistics().unrecorded == 0


async def test_a_stopping_node_says_so_on_record(stage: Stage) -> None:
    """What runs is ended; what comes is refused."""
    id = draw_operation_id()
    await stage.ask("wait", id=id, wait_s=0)
    await trio.testing.wait_all_tasks_blocked()
    await stage.commands.stop()
    record = await stage.log.get(id)
    assert record is not None
    assert (record.state, record.code) == ("failed", "stopping")
    assert await stage.refused("add", args={"a": 1, "b": 1}) == "stopping"


async def test_what_a_dead_node_ran_is_told_as_such() -> None:
    """The record stays `running`; every node shows it as `node_gone`."""
    id = draw_operation_id()
    async with Stage().running() as dead:
        await dead.ask("wait", id=id, wait_s=0)
        await trio.testing.wait_all_tasks_blocked()
    store = dead.coordinator.store
    async with Stage(store, "n2").running() as other:
        row = (await other.commands.operation({"id": id}))["operation"]
        assert row["state"] == "running"  # by its registration it lives
        entry = (await other.coordinator.list(KEYS.node("n1"))).entries[0]
        await other.coordinator.cas_many([Write(entry.key, entry.revision, None)])
        row = (await other.commands.operation({"id": id}))["operation"]
        assert row["state"] == "node_gone"
        assert (await other.ask("wait", id=id))["state"] == "node_gone"
        listed = (await other.commands.operations({}))["operations"]
        assert [one["state"] for one in listed] == ["node_gone"]
        assert other.works.ran == []


async def test_a_node_runs_a_bounded_number(stage: Stage) -> None:
    """One more is `busy`, and can be asked for again."""
    for _ in range(COMMANDS_MAX):
        await stage.ask("wait", wait_s=0)
    id = draw_operation_id()
    assert await stage.refused("wait", id=id) == "busy"
    stage.works.go_on.set()
    await trio.testing.wait_all_tasks_blocked()
    assert (await stage.ask("wait", id=id))["state"] == "done"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"id": "x"}, "malformed_request"),
        ({"who": ""}, "malformed_request"),
        ({"who": "w" * 129}, "malformed_request"),
        ({"why": 5}, "malformed_request"),
        ({"args": [1]}, "malformed_request"),
        ({"args": {1: 1}}, "malformed_request"),
        ({"wait_s": -1}, "malformed_request"),
        ({"wait_s": 1e9}, "malformed_request"),
        ({"verb": "dance"}, "unknown_verb"),
    ],
)
async def test_what_is_no_command_gets_a_typed_no(
    stage: Stage, fields: dict[str, Any], code: str
) -> None:
    """And leaves no record."""
    assert await stage.refused(**({"verb": "add"} | fields)) == code
    assert (await stage.log.newest()).records == ()


async def test_the_list_comes_in_pages(stage: Stage) -> None:
    """The newest first; each page says where the next begins."""
    ids = []
    for number in range(5):
        ids.append(draw_operation_id(number))
        await stage.ask("add", id=ids[-1], args={"a": number, "b": 0})
    seen: list[str] = []
    after = None
    for _ in range(3):
        page = await stage.commands.operations({"limit": 2, "after": after})
        seen += [row["id"] for row in page["operations"]]
        after = page["next"]
    assert (seen, after) == (ids[::-1], None)
