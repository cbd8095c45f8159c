"""What tests of an operator's commands have, unless they say otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ..node.node_world import NodeWorld, node_world
from .operated import DUEL_SPEC, Operated


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[NodeWorld]:
    """Two nodes with the game of `operated`."""
    async with node_world(tmp_path / "c", "n1", "n2", games=[DUEL_SPEC]) as world:
        yield world


@pytest.fixture
def operator(world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> Operated:
    """Who asks its doors."""
    return Operated(world, monkeypatch)
