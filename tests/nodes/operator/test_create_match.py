"""An operator creates matches: one key is the same matches, however often."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from hotseat.nodes.client import Refusal, Seat
from hotseat.nodes.client.shell import Client
from hotseat.nodes.operator.create_match import create_match
from hotseat.nodes.operator.verb import CommandFailed, OperatorCommand
from hotseat.runtime.games import StaticGames

from ..node.node_world import NodeWorld
from .operated import DUEL


class Creator:
    """Runs the verb at a node that has the game."""

    def __init__(
        self, connect: Callable[[], AbstractAsyncContextManager[Client]]
    ) -> None:
        self.verb = create_match(StaticGames([DUEL]), connect)
        self.last: OperatorCommand | None = None

    async def create(self, game: str = "duel", **args: Any) -> dict[str, Any]:
        """What came of it."""
        self.last = OperatorCommand("0" * 19, "ann", "", "match.create", game, args)
        return dict(await self.verb.run(self.last))

    async def refused(self, game: str = "duel", **args: Any) -> str:
        """The code of its no."""
        with pytest.raises(CommandFailed) as caught:
            await self.create(game, **args)
        return caught.value.code


@pytest.fixture
def creator(world: NodeWorld) -> Creator:
    return Creator(world.client)


async def test_matches_are_there_and_can_be_played(
    autojump_clock: object, world: NodeWorld, creator: Creator
) -> None:
    """As many as asked for; with tokens, their seats are resumed by them."""
    made = await creator.create(count=5, tokens=True)
    assert (made["game"], made["version"], made["seats"]) == ("duel", "1", ["0", "1"])
    assert len(set(made["matches"])) == 5
    assert creator.last is not None
    assert creator.last.progress is not None
    assert (creator.last.progress.done, creator.last.progress.total) == (5, 5)
    assert creator.verb.secret == {"tokens"}
    match = made["matches"][3]
    async with world.client() as client:
        seat = await client.join(match, 1).take("1", made["tokens"][match]["1"])
        assert isinstance(seat, Seat)
        taken = await client.join(match, 1).take("1")
        assert isinstance(taken, Refusal)


async def test_one_key_is_the_same_matches(
    autojump_clock: object, creator: Creator
) -> None:
    """The command's id is the key, if none was given; with other content it is not."""
    first = await creator.create(count=3)
    assert "tokens" not in first
    assert await creator.create(count=3) == first
    one = await creator.create(key="final")
    assert await creator.create(key="final") == one
    assert await creator.refused(key="final", data={"round": 2}) == "key_reused"


async def test_what_cannot_be_is_refused(
    autojump_clock: object, creator: Creator
) -> None:
    """By the code that says why."""
    assert await creator.refused("checkers") == "unknown_game"
    assert await creator.refused(version="9") == "unknown_game"
    assert await creator.refused(seats=["0", "x"]) == "invalid_match"
    assert await creator.refused(count=0) == "malformed_request"
    assert await creator.refused(count=1_001) == "malformed_request"
    assert await creator.refused(seat="0") == "malformed_request"
