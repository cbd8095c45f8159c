"""The door answers each request once, whatever the others do."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from hotseat.nodes.door_client import (
    DOOR_MESSAGE_BYTES_MAX,
    DoorTimeout,
    DoorUnreachable,
    door_request,
)
from hotseat.nodes.nng_door import DoorServer
from hotseat.runtime.errors import LinkRefused

pytestmark = pytest.mark.system

Scene = Callable[[str], Coroutine[Any, Any, None]]
scenes: list[Scene] = []


def scene(function: Scene) -> Scene:
    scenes.append(function)
    return function


async def echo(request: bytes) -> bytes:
    return b"you said " + request


@scene
async def answers(place: str) -> None:
    """A request gets its answer."""
    async with DoorServer(place, echo) as door:
        assert await door_request(door.address, b"hi", 5) == b"you said hi"


@scene
async def answers_many_at_once(place: str) -> None:
    """More askers than contexts are all answered, each with its own answer."""
    async with DoorServer(place, echo) as door, anyio.create_task_group() as group:

        async def ask(number: int) -> None:
            text = str(number).encode()
            assert await door_request(door.address, text, 10) == b"you said " + text

        for number in range(30):
            group.start_soon(ask, number)


@scene
async def a_slow_request_does_not_hold_the_door(place: str) -> None:
    """Others are answered while one hangs; the hanging one times out by name."""

    async def answer(request: bytes) -> bytes:
        if request == b"slow":
            await anyio.sleep_forever()
        return request

    async with DoorServer(place, answer) as door:
        with pytest.raises(DoorTimeout) as caught:
            await door_request(door.address, b"slow", 0.2)
        assert caught.value.code == "door_timeout"
        assert await door_request(door.address, b"quick", 5) == b"quick"


@scene
async def a_request_that_takes_too_long_is_ended(place: str) -> None:
    """The server gives up on an answer after its own time."""

    async def answer(request: bytes) -> bytes:
        await anyio.sleep_forever()
        return request

    async with DoorServer(place, answer, answer_s=0.1) as door:
        with pytest.raises(DoorUnreachable, match="failed on this request"):
            await door_request(door.address, b"x", 5)


@scene
async def a_request_that_raises_costs_only_itself(place: str) -> None:
    """An exception is logged; the asker is told at once; the door stays open."""

    async def answer(request: bytes) -> bytes:
        if request == b"bad":
            raise KeyError("oops")
        return request

    async with DoorServer(place, answer) as door:
        for _ in range(20):
            with pytest.raises(DoorUnreachable, match="failed on this request"):
                await door_request(door.address, b"bad", 5)
        assert await door_request(door.address, b"good", 5) == b"good"


@scene
async def an_oversize_request_costs_only_its_connection(place: str) -> None:
    """A request above the limit ends its connection at once, and no other."""
    async with DoorServer(place, echo) as door:
        with pytest.raises(DoorUnreachable):
            await door_request(door.address, bytes(DOOR_MESSAGE_BYTES_MAX + 1), 5)
        assert await door_request(door.address, b"hi", 5) == b"you said hi"


@scene
async def nobody_there_is_said_at_once(place: str) -> None:
    """A door that was closed is unreachable, without waiting for the timeout."""
    async with DoorServer(place, echo) as door:
        address = door.address
    with anyio.fail_after(5), pytest.raises(DoorUnreachable) as caught:
        await door_request(address, b"hi", 60)
    assert caught.value.code == "door_unreachable"


@scene
async def a_door_that_closes_ends_what_waits(place: str) -> None:
    """Closing ends the requests under way; the asker is told at once."""
    started = anyio.Event()

    async def answer(request: bytes) -> bytes:
        started.set()
        await anyio.sleep_forever()
        return request

    async def ask(address: str) -> None:
        with anyio.fail_after(5), pytest.raises(DoorUnreachable):
            await door_request(address, b"hi", 60)

    async with (
        anyio.create_task_group() as group,
        DoorServer(place, answer) as door,
    ):
        group.start_soon(ask, door.address)
        await started.wait()


@scene
async def a_door_in_a_cancelled_scope_closes(place: str) -> None:
    """Cancelling what is around a door ends it, its answers too, without a trace."""
    with anyio.CancelScope() as scope:
        async with DoorServer(place, echo) as door:
            assert await door_request(door.address, b"hi", 5) == b"you said hi"
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught


@scene
async def a_second_door_is_refused(place: str) -> None:
    """Two doors cannot be at one address (ipc: the file would be taken over)."""
    async with DoorServer(place, echo) as door:
        with pytest.raises(LinkRefused):
            async with DoorServer(door.address, echo):
                pass


@scene
async def an_asker_may_be_cancelled(place: str) -> None:
    """A cancelled request leaves nothing behind that hurts the next."""

    async def answer(request: bytes) -> bytes:
        await anyio.sleep(0.05)
        return request

    async with DoorServer(place, answer) as door:
        for _ in range(10):
            with anyio.move_on_after(0.02):
                await door_request(door.address, b"gone", 5)
        assert await door_request(door.address, b"here", 5) == b"here"


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("play", scenes, ids=lambda play: play.__name__)
def test_the_door(play: Scene, transport: str, backend: str, tmp_path: Path) -> None:
    """What the scene's docstring says holds on tcp and ipc, trio and asyncio."""
    place = "tcp://127.0.0.1:0" if transport == "tcp" else f"ipc://{tmp_path}/door"
    anyio.run(partial(play, place), backend=backend)


def test_what_is_no_address_is_unreachable() -> None:
    """A mistyped address is an error by name."""
    with pytest.raises(DoorUnreachable):
        anyio.run(partial(door_request, "nonsense", b"hi", 1))
