"""The rig itself: what fails inside of it is heard of, and its time is not luck."""

from __future__ import annotations

import time

import anyio
import anyio.to_thread
import pytest

from ...conformance.games.rock_paper_scissors_core import game as rps
from .rig import rig


async def test_what_fails_inside_the_rig_is_heard_of(autojump_clock: object) -> None:
    """An assertion about a gateway is not lost while the gateway is put away."""
    with pytest.raises(AssertionError, match="lost"):
        async with rig([rps], gateways=2):
            raise AssertionError("lost")


async def test_no_time_passes_while_a_thread_works(autojump_clock: object) -> None:
    """However long a replay takes on a busy machine, no token expires meanwhile."""
    async with rig([rps]):
        before_s = anyio.current_time()
        await anyio.to_thread.run_sync(time.sleep, 0.05)
        assert anyio.current_time() == before_s
