"""The store of profiles in memory keeps the contract."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine import Game
from hotseat.runtime.profile_store import ProfileDocument, ProfileStore
from hotseat.runtime.testing.check_profile_store import PROFILE_STORE_CHECKS
from hotseat.runtime.testing.memory_profiles import MemoryProfiles


class MemoryRig:
    """A fresh store; see `ProfileStoreRig`."""

    def __init__(self) -> None:
        self.documents: dict[tuple[str, str], ProfileDocument] = {}

    def open(self, game: Game) -> ProfileStore:
        return MemoryProfiles(game, self.documents)


@pytest.mark.parametrize("check", PROFILE_STORE_CHECKS, ids=lambda c: c.__name__)
async def test_the_contract_holds(check: Any) -> None:
    """Every check of the suite passes."""
    await check(MemoryRig())
