"""What a node answers at its command door."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from hotseat.nodes.door import Door


async def ask(request: bytes) -> dict[str, Any]:
    """Ask a door that knows one operation."""
    answer = await Door({"status": lambda: {"ready": True}}).answer(request)
    said: dict[str, Any] = msgpack.unpackb(answer)
    return said


async def test_an_operation_is_answered_with_its_fields() -> None:
    """`ok` tells a yes from a no."""
    assert await ask(msgpack.packb({"op": "status"})) == {"ok": True, "ready": True}


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
