"""Turns: what an actor caused is handed on soon, whenever it was woken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import anyio
import pytest
from anyio.lowlevel import checkpoint

from hotseat.nodes.supervisor.turns import Turns
from hotseat.runtime.actor import MatchActor
from hotseat.runtime.lifecycle import ActorState

ROUNDS = 12
"""Of the loop: far more than a turn takes."""


class Worker:
    """An actor that writes its name down each time it works."""

    def __init__(self, name: str, wrote: list[str], worked: Callable[[], None]) -> None:
        self.match = name
        self.status = ActorState.RUNNING
        self.mailbox: list[Any] = []
        self._wrote = wrote
        self._worked = worked
        self._stirred = anyio.Event()

    def stir(self) -> None:
        self._stirred.set()

    async def run(self) -> None:
        while True:
            await self._stirred.wait()
            self._stirred = anyio.Event()
            self._wrote.append(self.match)
            self._worked()


async def _woken_apart() -> None:
    wrote: list[str] = []
    handed_on: list[str] = []

    def hand_on() -> None:
        handed_on.extend(wrote)
        wrote.clear()

    turns = Turns(lambda actor, error: None, lambda actor: None, hand_on)
    worked = turns.hand_on_soon
    actors = [cast(MatchActor, Worker(name, wrote, worked)) for name in "ab"]
    async with anyio.create_task_group() as tasks:
        turns.open(tasks)
        for actor in actors:
            turns.begin(actor)
        for apart in range(8):
            for _ in range(ROUNDS):
                await checkpoint()
            handed_on.clear()
            turns.wake(actors[0])
            for _ in range(apart):
                await checkpoint()
            turns.wake(actors[1])
            for _ in range(ROUNDS):
                await checkpoint()
            assert sorted(handed_on) == ["a", "b"], f"{apart} rounds apart"
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_was_caused_is_handed_on_however_wakes_fall_together(backend: str) -> None:
    """Nothing waits for the next wake, however late in a turn an actor was woken."""
    for _ in range(20):  # trio draws the order of tasks
        anyio.run(_woken_apart, backend=backend)
