"""A door on a network answers only who has the cluster's secret, each request once."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from hotseat.nodes.operator.sealed_door import (
    NONCE_S,
    SPENT_MAX,
    SealedDoor,
    is_private,
    prove,
    proved,
)

SECRET = b"s" * 32


class Clock:
    """Stands still unless told."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class Inside:
    """The door behind: counts what gets through to it."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    async def answer(self, request: bytes) -> bytes:
        self.heard.append(request)
        return b"inside: " + request


@pytest.fixture
def inside() -> Inside:
    return Inside()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def door(inside: Inside, clock: Clock) -> SealedDoor:
    return SealedDoor(inside.answer, SECRET, clock)


async def ask(door: SealedDoor, **fields: Any) -> dict[str, Any]:
    """One message to the door."""
    said: dict[str, Any] = msgpack.unpackb(await door.answer(msgpack.packb(fields)))
    return said


async def hello(door: SealedDoor) -> bytes:
    """A number for a request."""
    nonce: bytes = (await ask(door, op="hello"))["nonce"]
    return nonce


def sealed(nonce: bytes, request: bytes, secret: bytes = SECRET) -> dict[str, Any]:
    """A request that is proved."""
    proof = prove(secret, b"request", nonce, request)
    return {"op": "sealed", "nonce": nonce, "request": request, "proof": proof}


async def test_who_has_the_secret_is_answered_with_proof(
    door: SealedDoor, inside: Inside
) -> None:
    """The answer is the door's behind, and shows that it knows the secret as well."""
    nonce = await hello(door)
    answer = await ask(door, **sealed(nonce, b"status"))
    assert (answer["ok"], answer["answer"]) == (True, b"inside: status")
    assert proved(SECRET, b"answer", nonce, answer["answer"], answer["proof"])
    assert not proved(SECRET, b"answer", nonce, b"inside: other", answer["proof"])
    assert inside.heard == [b"status"]


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"",
        b"\xc1",
        b"\x91" * 20_000 + b"\xc0",
        msgpack.packb([1, 2]),
        msgpack.packb({"op": "status"}),
        msgpack.packb({"op": "operate", "verb": "match.terminate"}),
        msgpack.packb({"op": "sealed"}),
        msgpack.packb({"op": "sealed", "nonce": 1, "request": b"", "proof": b""}),
        msgpack.packb({"op": "sealed", "nonce": b"", "request": b"", "proof": b""}),
        msgpack.packb({"op": "sealed", "nonce": b"n" * 32, "request": b"x"}),
    ],
)
async def test_nothing_is_told_before_authentication(
    door: SealedDoor, inside: Inside, request_bytes: bytes
) -> None:
    """Garbage, and requests that are good elsewhere, get one and the same no."""
    answer = msgpack.unpackb(await door.answer(request_bytes))
    assert (answer["ok"], answer["code"]) == (False, "unauthenticated")
    assert inside.heard == []


async def test_a_wrong_secret_gets_no_answer(door: SealedDoor, inside: Inside) -> None:
    """Nor does a proof of another request, or a number that the door did not draw."""
    nonce = await hello(door)
    wrong = [
        sealed(nonce, b"status", b"x" * 32),
        {**sealed(nonce, b"status"), "request": b"stop"},
        {**sealed(nonce, b"status"), "proof": None},
        sealed(bytes(32), b"status"),
        sealed(nonce[:-1] + bytes([nonce[-1] ^ 1]), b"status"),
    ]
    for each in wrong:
        assert (await ask(door, **each))["code"] == "unauthenticated"
    assert inside.heard == []


async def test_what_was_overheard_cannot_be_said_again(
    door: SealedDoor, inside: Inside, clock: Clock
) -> None:
    """Not to this door, not later, and not to another one."""
    overheard = sealed(await hello(door), b"stop")
    assert (await ask(door, **overheard))["ok"]
    assert (await ask(door, **overheard))["code"] == "unauthenticated"
    clock.now_s += NONCE_S + 1
    assert (await ask(door, **overheard))["code"] == "unauthenticated"
    late = sealed(await hello(door), b"stop")
    clock.now_s += NONCE_S + 1
    assert (await ask(door, **late))["code"] == "unauthenticated"
    other = SealedDoor(inside.answer, SECRET, clock)
    fresh = sealed(await hello(door), b"stop")
    assert (await ask(other, **fresh))["code"] == "unauthenticated"
    assert inside.heard == [b"stop"]


async def test_its_memory_is_bounded_and_hellos_crowd_nobody_out(
    door: SealedDoor, inside: Inside, clock: Clock
) -> None:
    """A flood of hellos voids no number; too many requests at a time are refused."""
    mine = sealed(await hello(door), b"mine")
    for _ in range(SPENT_MAX):
        await hello(door)
    assert (await ask(door, **mine))["ok"]
    for _ in range(SPENT_MAX - 1):
        assert (await ask(door, **sealed(await hello(door), b"more")))["ok"]
    one_more = sealed(await hello(door), b"more")
    assert (await ask(door, **one_more))["code"] == "unauthenticated"
    clock.now_s += NONCE_S + 1
    assert (await ask(door, **sealed(await hello(door), b"again")))["ok"]


def test_only_a_file_of_this_machine_is_private() -> None:
    """Every other address is sealed."""
    assert is_private("ipc:///tmp/n1.door")
    assert not is_private("tcp://127.0.0.1:7000")
    assert not is_private("tls+tcp://127.0.0.1:7000")
