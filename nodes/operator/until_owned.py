"""Reads a match's log once, though its shard is just between two owners.

Who follows a match asks again anyway. Who reads its log once should not be told of a
hand-over that is past before the message is read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio

from .match_feed import NOBODY_ANSWERS, FeedBroken

__all__ = ["TAKEOVER_S", "until_owned"]

TAKEOVER_S = 10.0
"""A shard has another owner well before, even if the last one hung. No try begins
later; one may take some seconds by itself."""

PAUSE_S_MIN: Final = 0.05
PAUSE_S_MAX: Final = 0.5

T = TypeVar("T")


async def until_owned(fetch: Callable[[], Awaitable[T]]) -> T:
    """What a `MatchFeed` fetches; asked for again while nobody owns the match.

    That no node answers at all is told at once: no hand-over looks like that.

    Raises:
        OperatorError: What `fetch` raises, once it is not for a moment only.
    """
    until_s = anyio.current_time() + TAKEOVER_S
    pause_s = PAUSE_S_MIN
    while True:
        try:
            return await fetch()
        except FeedBroken as error:
            left_s = until_s - anyio.current_time()
            if error.code == NOBODY_ANSWERS or left_s <= 0:
                raise
        await anyio.sleep(min(pause_s, left_s))
        pause_s = min(2 * pause_s, PAUSE_S_MAX)
