"""A cluster in one process, and an operator who gives commands to it."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from hotseat.engine.definition import define_game, event, state, transition, views
from hotseat.nodes.client import Accepted, RemoteMatch, Seat
from hotseat.nodes.client.shell import Client
from hotseat.nodes.operator import ask, ask_cluster, doors
from hotseat.nodes.operator.ask import Outcome, operate
from hotseat.nodes.operator.ask_door import DoorRefused, DoorUnreachable
from hotseat.nodes.operator.doors import Doors
from hotseat.nodes.operator_error import OperatorError

from ..node.node_world import NodeWorld

__all__ = ["DUEL", "DUEL_SPEC", "Operated", "play"]

DUEL = define_game(
    name="duel",
    version="1",
    player_ids=["0", "1"],
    min_players=2,
    events={"add": event(int, public=True), "resign": event()},
    initial="play",
    setup=lambda ctx: {"total": 0},
    states={"play": state(active_players=lambda ctx: ["0", "1"])},
    transitions=[
        transition(
            "add",
            "play",
            "play",
            lambda ctx: {"G": {"total": ctx.G["total"] + ctx.event.payload}},
        ),
        transition(
            "resign", "play", "play", lambda ctx: {"result": {"lost": ctx.player_id}}
        ),
    ],
    views=views(public=lambda ctx: {"total": ctx.G["total"]}),
)
"""Both add; who resigns has lost."""

DUEL_SPEC = f"{__name__}:DUEL"


class Operated:
    """Asks the doors of a world's nodes, as the commands do.

    `lose`: so many answers of `operate` get lost, after the node has given them.
    """

    def __init__(self, world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world = world
        self.lose = 0
        self.asked: list[tuple[str, str]] = []
        for module in (ask, ask_cluster, doors):
            monkeypatch.setattr(module, "ask_door", self.ask_door)
        for module in (ask, ask_cluster):
            monkeypatch.setattr(module, "find_doors", self.find_doors)

    async def find_doors(self, home: object) -> Doors:
        """Every node that runs is reached, by its name."""
        return Doors({name: name for name in self.world.nodes}, {})

    async def ask_door(self, address: str, op: str, **fields: Any) -> dict[str, Any]:
        """In place of `ask_door`."""
        fields.pop("timeout_s", None)
        self.asked.append((address, op))
        node = self.world.nodes.get(address)
        if node is None:
            raise DoorUnreachable(f"nobody answers at {address}")
        request = msgpack.packb({"op": op, **fields})
        answer: dict[str, Any] = msgpack.unpackb(await node.door(request))
        if op == "operate" and self.lose:
            self.lose -= 1
            raise DoorUnreachable("it got lost", code="door_timeout")
        if not answer.pop("ok"):
            raise DoorRefused(answer["code"], answer["message"])
        return answer

    async def operate(
        self, verb: str, target: str, args: dict[str, Any] | None = None, **how: Any
    ) -> Outcome:
        """Give a command."""
        how = {"who": "ann", "why": "because"} | how
        return await operate(self.world.home, verb, target, args, **how)

    async def about(self, verb: str, match: str, **args: Any) -> dict[str, Any]:
        """Give one about a match; what came of it."""
        return (await self.operate(verb, match, args, match=match)).outcome

    async def refused(self, verb: str, match: str, **args: Any) -> str:
        """Give one about a match; the code of the no."""
        with pytest.raises(OperatorError) as caught:
            await self.about(verb, match, **args)
        return caught.value.code

    async def audit(self) -> list[dict[str, Any]]:
        """The records, the newest first."""
        node = next(iter(self.world.nodes))
        rows: list[dict[str, Any]] = (await self.ask_door(node, "operations"))[
            "operations"
        ]
        return rows

    async def owner(self, match: str) -> str:
        """Who serves the match."""
        node = next(iter(self.world.nodes))
        return str((await self.ask_door(node, "locate", match=match))["owner"])


async def play(client: Client) -> tuple[str, Seat]:
    """Begin a duel and add 4: its id, and the seat."""
    match = await client.create("duel", players=["0", "1"])
    assert isinstance(match, RemoteMatch)
    seat = await match.take("0")
    assert isinstance(seat, Seat)
    assert isinstance(await seat.dispatch("add", 4), Accepted)
    return match.id, seat
