"""What a node answers at its command door."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import msgpack
import pytest
import trio.testing

from hotseat.nodes.operator.door import WAITING_MAX, Door, DoorError


def sesame(asked: Mapping[str, Any]) -> dict[str, Any]:
    """An operation that takes a field, and says no to most."""
    if asked.get("word") != "open":
        raise DoorError("closed", "Say the word.")
    return {"inside": True}


async def ask(request: bytes) -> dict[str, Any]:
    """Ask a door that knows one operation."""
    operations = {"status": lambda asked: {"ready": True}, "sesame": sesame}
    answer = await Door(operations).answer(request)
    said: dict[str, Any] = msgpack.unpackb(answer)
    return said


async def test_an_operation_is_answered_with_its_fields() -> None:
    """`ok` tells a yes from a no."""
    assert await ask(msgpack.packb({"op": "status"})) == {"ok": True, "ready": True}


async def test_an_operation_takes_fields_and_may_say_no() -> None:
    """Its no has a code and a message, as the door's own."""
    asked = msgpack.packb({"op": "sesame", "word": "open"})
    assert await ask(asked) == {"ok": True, "inside": True}
    assert await ask(msgpack.packb({"op": "sesame"})) == {
        "ok": False,
        "code": "closed",
        "message": "Say the word.",
    }


@pytest.mark.parametrize(
    ("request_bytes", "code"),
    [
        (b"", "malformed_request"),
        (b"\xc1", "malformed_request"),
        (b"\x91" * 20_000 + b"\xc0", "malformed_request"),
        (msgpack.packb([1, 2]), "unknown_op"),
        (msgpack.packb({"op": ["status"]}), "unknown_op"),
        (msgpack.packb({"op": "reboot"}), "unknown_op"),
        (msgpack.packb({}), "unknown_op"),
    ],
)
async def test_what_is_no_request_gets_a_typed_no(
    request_bytes: bytes, code: str
) -> None:
    """Any bytes at all are answered."""
    answer = await ask(request_bytes)
    assert (answer["ok"], answer["code"]) == (False, code)


async def test_a_slow_operation_holds_nobody_up() -> None:
    """Others are answered meanwhile; too many slow ones at a time are refused."""
    begun, go_on = 0, anyio.Event()

    async def slow(asked: Mapping[str, Any]) -> dict[str, Any]:
        nonlocal begun
        begun += 1
        await go_on.wait()
        return {"waited": True}

    door = Door({"slow": slow, "quick": lambda asked: {}})
    answers: list[dict[str, Any]] = []

    async def call(op: str) -> None:
        answers.append(msgpack.unpackb(await door.answer(msgpack.packb({"op": op}))))

    async with anyio.create_task_group() as tasks:
        for _ in range(WAITING_MAX + 1):
            tasks.start_soon(call, "slow")
        await trio.testing.wait_all_tasks_blocked()
        assert begun == WAITING_MAX
        assert [answer["code"] for answer in answers] == ["busy"]
        await call("quick")
        assert answers.pop() == {"ok": True}
        go_on.set()
    assert answers[1:] == [{"ok": True, "waited": True}] * WAITING_MAX
