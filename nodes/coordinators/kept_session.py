"""A lease of a coordinator, renewed in the background while a block runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import anyio

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
    failure: Exception | None = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(renew, session)
            try:
                yield session
            except Exception as error:
                failure = error
            finally:
                tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await end(session)
    if failure is not None:
        raise failure
