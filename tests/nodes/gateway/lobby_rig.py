"""A gateway with lobbies: people in them, and what the lobby protocol allows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from hotseat.config import GatewayConfig
from hotseat.engine.definition import Game
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.lobby.room_game import game as room_game
from hotseat.runtime.clock import Clock

from .rig import Message, Page, Rig, rig

__all__ = ["OPEN", "Lobby", "Person", "fits_protocol", "lobbies", "open_lobby"]

OPEN = GatewayConfig(open_lobbies=True)

SCHEMAS = json.loads(
    (Path(__file__).parent / "vectors" / "hosted.json").read_text("utf-8")
)["schemas"]
SERVER = jsonschema.Draft202012Validator(SCHEMAS["lobby_server"])
CLIENT = jsonschema.Draft202012Validator(SCHEMAS["lobby_client"])


def fits_protocol(message: Message) -> Message:
    """A message that the reference implementation's own client accepts."""
    SERVER.validate(message)
    return message


@dataclass
class Person:
    """Somebody in a lobby, on one page."""

    id: str
    name: str
    token: str
    page: Page
    extended: bool = False

    async def say(self, type: str, **more: Any) -> None:
        message = {"type": type, **more}
        CLIENT.validate(message)
        await self.page.say(**message)

    async def hear(self) -> Message:
        message = await self.page.hear()
        return message if self.extended else fits_protocol(message)

    async def hear_all(self) -> list[Message]:
        """What was said before now."""
        heard = []
        while not self.page.quiet():
            heard.append(await self.hear())
        return heard

    async def hear_type(self, kind: str) -> Message:
        while (message := await self.hear())["type"] != f"lobby:{kind}":
            pass
        return message

    async def state(self, **wanted: Any) -> Message:
        """The first state with these fields."""
        while True:
            state = await self.hear_type("state")
            if all(state[key] == value for key, value in wanted.items()):
                return state

    async def seated(self, index: int, **wanted: Any) -> Message:
        """The first state in which a seat has these fields."""
        while True:
            seat: Message = (await self.hear_type("state"))["seats"][index]
            if all(seat.get(key) == value for key, value in wanted.items()):
                return seat

    async def refused(self, type: str, **more: Any) -> Message:
        """What is said to that, which must be no."""
        await self.say(type, **more)
        told = await self.hear_type("rejected")
        assert told["echoType"] == type
        return told


class Lobby:
    """One lobby, as it was opened."""

    def __init__(self, made: Rig, body: dict[str, Any]) -> None:
        self.rig, self.body = made, body
        self.id: str = body["id"]
        self.epoch: int = body["epoch"]

    def host(self, gateway: int = 0, **query: Any) -> Person:
        user = self.body["user"]
        return self.come(user["id"], user["name"], user["token"], gateway, **query)

    async def seated(self, *names: str, gateway: int = 0) -> list[Person]:
        """The host and guests of these names, all seated and ready."""
        people = [self.host(), *[await self.guest(name, gateway) for name in names]]
        for index, person in enumerate(people):
            await person.say("lobby:take_seat", seatIndex=index)
            await person.say("lobby:set_ready", ready=True)
            await person.seated(index, ready=True)
        return people

    async def guest(
        self, name: str = "Guest", gateway: int = 0, **query: Any
    ) -> Person:
        """Come in by the invitation."""
        headers = {"authorization": f"Bearer {self.body['invite']['token']}"}
        async with self.rig.http(gateway) as http:
            answer = await http.post(
                f"/api/lobbies/{self.id}/guests", json={"name": name}, headers=headers
            )
        assert answer.status_code == 201, answer.text
        user = answer.json()["user"]
        return self.come(user["id"], user["name"], user["token"], gateway, **query)

    def come(
        self, id: str, name: str, token: str, gateway: int = 0, **query: Any
    ) -> Person:
        page = self.rig.open(self.id, token, gateway=gateway, under="lobbies", **query)
        return Person(id, name, token, page, query.get("hotseat") == "1")

    def again(self, person: Person, gateway: int = 0) -> Person:
        """The same person on another page."""
        return self.come(person.id, person.name, person.token, gateway)


@asynccontextmanager
async def lobbies(
    games: Sequence[Game] = (tic_tac_toe,),
    *,
    gateways: int = 1,
    clock: Clock | None = None,
    options: GatewayConfig = OPEN,
    known: Sequence[Game] = (),
) -> AsyncIterator[Rig]:
    """`known`: games that gateways have beside those of the node."""
    held = [room_game, *games]
    async with rig(
        held, known=[*held, *known], gateways=gateways, clock=clock, options=options
    ) as made:
        yield made


async def open_lobby(made: Rig, gateway: int = 0, **asked: Any) -> Lobby:
    """Open one, as anybody may."""
    body = {"game": "tic-tac-toe", "name": "Host", **asked}
    async with made.http(gateway) as http:
        answer = await http.post("/api/lobbies", json=body)
    assert answer.status_code == 201, answer.text
    return Lobby(made, answer.json())
