"""What a block raises comes out, whatever happens while it is left."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from hotseat.nodes.block_failure import BlockFailure

Case = Callable[[], Coroutine[Any, Any, None]]


@asynccontextmanager
async def beside(task: Case) -> AsyncIterator[None]:
    """A task beside a block, as our context managers run them."""
    with BlockFailure() as failure:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(task)
            with failure.kept():
                yield
            tasks.cancel_scope.cancel()


async def crash_when_left() -> None:
    try:
        await anyio.sleep_forever()
    finally:
        raise OSError("the task's")


async def leaves_as_it_is() -> None:
    with pytest.raises(KeyError, match="the block's"):
        async with beside(anyio.sleep_forever):
            raise KeyError("the block's")


async def fail_when_cancelled() -> None:
    with anyio.CancelScope() as outer:
        async with beside(anyio.sleep_forever):
            outer.cancel()
            raise KeyError("the block's")


async def outlives_a_cancellation() -> None:
    with pytest.raises(KeyError, match="the block's") as caught:
        await fail_when_cancelled()
    assert caught.value.__context__ is None


async def leaves_with_the_tasks_error() -> None:
    with pytest.raises(ExceptionGroup) as caught:
        async with beside(crash_when_left):
            raise KeyError("the block's")
    assert [type(error) for error in caught.value.exceptions] == [KeyError, OSError]


async def cancellation_alone_passes() -> None:
    with anyio.CancelScope() as outer:
        async with beside(anyio.sleep_forever):
            outer.cancel()
            await anyio.sleep_forever()
    assert outer.cancelled_caught


CASES = [
    leaves_as_it_is,
    outlives_a_cancellation,
    leaves_with_the_tasks_error,
    cancellation_alone_passes,
]


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_what_a_block_raises(case: Case, backend: str) -> None:
    """It leaves as it is, and neither a cancellation nor another error hides it."""
    anyio.run(case, backend=backend)
