"""Lobbies at several gateways at once, and gateways that die in the middle."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from hotseat.nodes.client import RemoteMatch
from hotseat.nodes.client.shell import Client
from tests.runtime.hosting import TrioClock

from .lobby_rig import Lobby, Person, lobbies, open_lobby


async def test_b47_of_two_who_want_one_seat_one_has_it(
    autojump_clock: object,
) -> None:
    """At two gateways in one moment, again and again: the other is told so."""
    async with lobbies(gateways=2) as made:
        lobby = await open_lobby(made)
        one = await lobby.guest("One", gateway=0)
        two = await lobby.guest("Two", gateway=1)
        for person in (one, two):
            await person.state()
        for _ in range(8):
            for person in (one, two):
                await person.say("lobby:take_seat", seatIndex=0)
            holder: Person | None = None
            refused: list[str] = []
            for person in (one, two):
                while True:
                    told = await person.hear()
                    if told["type"] == "lobby:rejected":
                        refused.append(told["reason"])
                        break
                    seat = told["seats"][0]
                    if seat["kind"] == "human" and seat["userID"] == person.id:
                        holder = person
                        break
            assert refused == ["seat_taken"]
            assert holder is not None
            await holder.say("lobby:leave_seat")
            for person in (one, two):
                await person.seated(0, kind="open")
            await anyio.sleep(1)
            for person in (one, two):
                await person.hear_all()


async def test_b49_one_key_is_one_lobby(autojump_clock: object) -> None:
    """Whichever gateway is asked again, and with the same host; other content under the
    same key is refused."""
    key = {"idempotency-key": "drawn-at-random-0001"}
    new = {"game": "tic-tac-toe", "name": "Ann"}
    async with lobbies(gateways=2) as made:
        opened = []
        for number in (0, 1, 1):
            async with made.http(number) as http:
                answer = await http.post("/api/lobbies", json=new, headers=key)
            assert answer.status_code == 201
            body = answer.json()
            opened.append((body["id"], body["user"]["id"]))
        assert len(set(opened)) == 1
        async with made.http(1) as http:
            other = {**new, "name": "Bob"}
            answer = await http.post("/api/lobbies", json=other, headers=key)
            assert answer.status_code == 409
            assert answer.json()["error"]["code"] == "key_reused"
            weak = {"idempotency-key": "1"}
            answer = await http.post("/api/lobbies", json=new, headers=weak)
            assert answer.status_code == 400


async def test_b49_a_lobby_starts_one_match(autojump_clock: object) -> None:
    """Two gateways see it start, and both open the match: it is one."""
    async with lobbies(gateways=2) as made:
        lobby = await open_lobby(made)
        host = lobby.host(gateway=0)
        guest = await lobby.guest("Ada", gateway=1)
        for index, person in enumerate((host, guest)):
            await person.say("lobby:take_seat", seatIndex=index)
            await person.say("lobby:set_ready", ready=True)
        await host.state(canStart=True)
        await host.say("lobby:start")
        ways = [await one.hear_type("transition_to_game") for one in (host, guest)]
        assert ways[0]["roomID"] == ways[1]["roomID"]
        assert made.node.supervisor.statistics().created == 2


async def test_b50_wrong_tokens_are_refused_and_the_owner_comes_in(
    autojump_clock: object,
) -> None:
    """A hundred times; after some it is not even said why."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        host = lobby.host()
        await host.state()
        forged = host.token[:-4] + "AAAA"
        reasons = []
        for _ in range(100):
            page = made.open(lobby.id, forged, under="lobbies")
            reasons.append((await page.hear_end())[1])
        assert set(reasons) == {"token_invalid", "rate_limited"}
        assert reasons.count("rate_limited") >= 80
        again = lobby.again(host)
        await again.state()
        await again.say("lobby:take_seat", seatIndex=0)
        assert (await again.seated(0, kind="human"))["userID"] == host.id


class Stuck:
    """A gateway's client that dies at the creation of a match: before, or after."""

    def __init__(self, client: Client, *, created: bool) -> None:
        self._create = client.create
        self._first = created
        self.reached = anyio.Event()

    async def create(self, game: str, **asked: Any) -> Any:
        made = await self._create(game, **asked) if self._first else None
        assert made is None or isinstance(made, RemoteMatch)
        self.reached.set()
        await anyio.sleep_forever()


@pytest.mark.parametrize("created", [False, True], ids=["before", "after"])
async def test_a_gateway_dies_while_a_lobby_starts(
    created: bool, autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before or after it has opened the match: the next gateway that looks goes on, and
    it is one match."""
    async with lobbies(gateways=2) as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        stuck = Stuck(made.client, created=created)
        monkeypatch.setattr(made.client, "create", stuck.create)
        await host.say("lobby:start")
        await guest.state(phase="starting")
        await stuck.reached.wait()
        for person in (host, guest):
            await person.page.leave()
        await anyio.sleep(60)
        back = lobby.again(guest, gateway=1)
        way = await back.hear_type("transition_to_game")
        assert way["playerID"] == "1"
        assert made.node.supervisor.statistics().created == 2


async def test_more_gateways_than_the_door_has_room_for(
    autojump_clock: object,
) -> None:
    """Each takes the door again when it has to: what people want is done."""
    async with lobbies(gateways=6, clock=TrioClock()) as made:
        lobby = await open_lobby(made)
        people = [await lobby.guest(str(number), number) for number in range(6)]
        for _ in range(2):
            for person in people:
                await person.say("lobby:take_seat", seatIndex=0)
                await person.seated(0, userID=person.id)
                await person.say("lobby:leave_seat")
                await person.seated(0, kind="open")


async def test_links_that_drop_lose_nothing(autojump_clock: object) -> None:
    """What was asked while the node was away is done once when it is there."""
    async with lobbies(clock=TrioClock()) as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        await anyio.sleep(1)
        await host.hear_all()
        for _ in range(6):
            for ready in (False, True):
                await guest.say("lobby:set_ready", ready=ready)
                made.node.network.drop("n1", "g0")
                await host.seated(1, ready=ready)
        await host.say("lobby:start")
        made.node.network.drop("n1", "g0")
        await host.hear_type("transition_to_game")


async def test_a_gateway_that_stops_keeps_everybodys_seat(
    autojump_clock: object,
) -> None:
    """They come back to another one, and nobody saw them leave."""
    async with lobbies(gateways=2, clock=TrioClock()) as made:
        lobby: Lobby = await open_lobby(made)
        watcher = await lobby.guest("Eve", gateway=1)
        host, guest = await lobby.seated("Ada")
        await anyio.sleep(1)
        await watcher.hear_all()
        await made.gateways[0].stop()
        for person in (host, guest):
            assert await person.page.hear_end() == (1012, "stopping")
        back = lobby.again(guest, gateway=1)
        assert (await back.seated(1))["userID"] == guest.id
        assert watcher.page.quiet()
