"""Wakes one task, again and again; what was signalled before it waits is not lost."""

from __future__ import annotations

import anyio

__all__ = ["Signal"]


class Signal:
    """For one waiter. Any number of calls before it looks are one.

    It holds an event only while somebody waits: there are some for each player.
    """

    __slots__ = ("_event", "_is_set")

    def __init__(self) -> None:
        self._is_set = False
        self._event: anyio.Event | None = None

    def set(self) -> None:
        self._is_set = True
        if self._event is not None:
            self._event.set()

    async def wait(self) -> None:
        """Wait for the next call, or take the one that came already."""
        if not self._is_set:
            self._event = anyio.Event()
            try:
                await self._event.wait()
            finally:
                self._event = None
        self._is_set = False
