"""Wakes one task, again and again; what was signalled before it waits is not lost."""

from __future__ import annotations

import anyio

__all__ = ["Signal"]


class Signal:
    """For one waiter. Any number of calls before it looks are one."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self) -> None:
        """Wait for the next call, or take the one that came already."""
        await self._event.wait()
        self._event = anyio.Event()
