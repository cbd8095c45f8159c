"""A lease of a coordinator, renewed in the background while a block runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio

from ..block_failure import BlockFailure

__all__ = ["kept_session"]

S = TypeVar("S")


@asynccontextmanager
async def kept_session(
    session: S,
    renew: Callable[[S], Coroutine[Any, Any, None]],
    end: Callable[[S], Awaitable[None]],
) -> AsyncIterator[S]:
    """Run `renew` beside the block, and `end` after it, whatever happened.

    An error of the block leaves as it is, not in a group: the task group is ours.
    """
    with BlockFailure() as failure:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(renew, session)
                with failure.kept():
                    yield session
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await end(session)
