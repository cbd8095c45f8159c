"""The rig itself: a test that fails inside of it fails."""

from __future__ import annotations

import pytest

from ...conformance.games.rock_paper_scissors_core import game as rps
from .rig import rig


async def test_what_fails_inside_the_rig_is_heard_of(autojump_clock: object) -> None:
    """An assertion about a gateway is not lost while the gateway is put away."""
    with pytest.raises(AssertionError, match="lost"):
        async with rig([rps], gateways=2):
            raise AssertionError("lost")
