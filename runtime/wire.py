"""What an endpoint needs of a transport: pipes that carry messages in order.

A wire has one inbox, which anybody may open a pipe to, and channels, each of which
is one pipe to another's inbox. A message is some bytes, whole or not at all. When a
pipe goes down, what it held is lost; a channel never gets a second pipe.

Callbacks run in the event loop, never inside the call that caused them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, cast

import anyio
from anyio.lowlevel import current_token

__all__ = ["Channel", "Post", "Wire", "current_clock", "current_post"]

Post = Callable[[Callable[[], None]], object]


class Channel(Protocol):
    """One outgoing pipe: being dialled, up, or down for good."""

    def send(self, message: bytes) -> bool:
        """Hand over a message. False: no room now, `wait` first."""

    async def wait(self) -> None:
        """Return when `send` may succeed. Cancelled when the pipe goes down."""

    def close(self) -> None:
        """Drop the pipe and what it holds. Idempotent."""


class Wire(Protocol):
    """One process's transport."""

    def listen(
        self, opened: Callable[[int], None], closed: Callable[[int], None]
    ) -> str:
        """Open the inbox and return its address. The callbacks name pipes.

        Raises:
            LinkRefused: The inbox cannot be opened there.
        """

    def receive(self) -> tuple[int, bytes] | None:
        """Return a pipe and a message that came through it, or None for now."""

    async def wait(self) -> None:
        """Return when `receive` may have something."""

    def close_pipe(self, pipe: int) -> None:
        """Close a pipe of the inbox. Its `closed` is still called."""

    def dial(
        self, inbox: str, up: Callable[[], None], down: Callable[[], None]
    ) -> Channel:
        """Open a pipe to an inbox, trying until it is up. Each callback comes once.

        Raises:
            LinkRefused: That is no address of this transport.
        """

    def close(self) -> None:
        """Close everything. Idempotent."""


def current_post() -> Post:
    """Return how any thread makes the running event loop call something soon."""
    loop = current_token().native_token
    post = getattr(loop, "run_sync_soon", None)  # trio's token
    if post is None:
        post = loop.call_soon_threadsafe  # type: ignore[attr-defined]  # asyncio's
    return cast(Post, post)


def current_clock() -> Callable[[], float]:
    """Return the running event loop's clock, for callbacks: they run in no task."""
    loop = current_token().native_token
    return getattr(loop, "time", anyio.current_time)  # asyncio's loop has its own
