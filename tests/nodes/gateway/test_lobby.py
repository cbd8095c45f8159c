"""A lobby from its pages' side: the protocol of the reference implementation."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from hotseat.engine.config_schema import config_field
from hotseat.engine.definition import Game, define_game, state, transition, views
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from tests.runtime.hosting import TrioClock

from .lobby_rig import fits_protocol, lobbies, open_lobby
from .rig import Closed


def game_of(name: str) -> Game:
    """A game for one to three, with settings."""
    return define_game(
        name=name,
        max_players=3,
        min_players=1,
        events=["go"],
        initial="play",
        setup=lambda ctx: dict(ctx.match["config"]),
        states={"play": state(active_players=["0"])},
        transitions=[transition("go", "play", "play")],
        config={
            "size": config_field("number", 3, min=1, max=9, label="Size"),
            "mode": config_field("enum", "fast", options=["fast", "slow"]),
        },
        views=views(public=lambda ctx: ctx.G),
        legal_actions=lambda ctx, seat: [("go", None)],
    )


settings = game_of("settings")


async def meet() -> None:
    async with lobbies() as made:
        lobby = await open_lobby(made)
        host, guest = lobby.host(), await lobby.guest("Ada")
        first = await host.state()
        assert first["phase"] == "lobby"
        assert first["hostUserID"] == host.id
        assert [seat["kind"] for seat in first["seats"]] == ["open", "open"]
        await host.say("lobby:take_seat", seatIndex=0)
        await guest.say("lobby:take_seat", seatIndex=1)
        seat = await host.seated(1, kind="human")
        assert (seat["userID"], seat["userName"]) == (guest.id, "Ada")
        await guest.say("lobby:set_ready", ready=True)
        await host.state(canStart=True)
        await host.say("lobby:start")
        ways = [
            await host.hear_type("transition_to_game"),
            await guest.hear_type("transition_to_game"),
        ]
        assert [way["playerID"] for way in ways] == ["0", "1"]
        for way in ways:
            page = made.open(way["roomID"], way["roomToken"])
            assert (await page.hear())["playerID"] == way["playerID"]
        assert ways[0]["websocketURL"] == f"ws://gw/rooms/{ways[0]['roomID']}"
        assert fits_protocol(ways[0])["playerAssignments"] == [
            {"seatIndex": 0, "playerID": "0", "kind": "human"},
            {"seatIndex": 1, "playerID": "1", "kind": "human"},
        ]


async def test_two_people_meet_and_play(autojump_clock: object) -> None:
    """From the opening to the first move, in the words of the protocol alone."""
    await meet()


def test_two_people_meet_on_asyncio() -> None:
    """The same on the other backend."""
    anyio.run(meet)


async def test_who_lost_their_page_is_led_to_their_seat_again(
    autojump_clock: object,
) -> None:
    """The link of the lobby stays good while the match goes on."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        await host.say("lobby:start")
        way = await guest.hear_type("transition_to_game")
        await guest.page.leave()
        again = await lobby.again(guest).hear_type("transition_to_game")
        assert (again["roomID"], again["playerID"]) == (way["roomID"], "1")


async def test_what_is_refused_is_told_with_its_reason(
    autojump_clock: object,
) -> None:
    """To who asked, naming the message that asked."""
    async with lobbies([settings]) as made:
        lobby = await open_lobby(made, game="settings")
        host, guest = await lobby.seated("Ada")
        wanted: list[tuple[Any, str, str, dict[str, Any]]] = [
            (guest, "seat_taken", "lobby:take_seat", {"seatIndex": 0}),
            (guest, "not_host", "lobby:start", {}),
            (guest, "not_host", "host:set_config", {"key": "size", "value": 4}),
            (host, "seat_has_human", "lobby:clear_seat", {"seatIndex": 1}),
            (host, "seat_out_of_range", "lobby:clear_seat", {"seatIndex": 3}),
            (host, "bad_target", "lobby:set_target_capacity", {"targetCapacity": 1}),
            (
                host,
                "unknown_bot",
                "lobby:assign_bot",
                {"seatIndex": 2, "botID": "hal"},
            ),
        ]
        for person, reason, kind, more in wanted:
            if reason == "seat_taken":
                await person.say("lobby:leave_seat")
            told = await person.refused(kind, **more)
            assert told["reason"] == reason
            if reason == "seat_taken":
                await person.say("lobby:take_seat", seatIndex=1)
        assert told["reason"] == "unknown_bot"


async def test_settings_are_checked_against_the_game(autojump_clock: object) -> None:
    """What the game would refuse is refused at once; what is set is played with."""
    async with lobbies([settings]) as made:
        lobby = await open_lobby(made, game="settings", config={"mode": "slow"})
        (host,) = await lobby.seated()
        for key, value, detail in (
            ("size", 10, "above max"),
            ("size", "3", "number"),
            ("mode", "odd", "options"),
            ("other", 1, "no setting"),
        ):
            told = await host.refused("host:set_config", key=key, value=value)
            assert told["reason"] == "invalid_config_value"
            assert told["configKey"] == key
            assert detail in told["configDetail"]
        await host.say("host:set_config", key="size", value=5)
        await host.state(config={"values": {"size": 5, "mode": "slow"}})
        await host.say("lobby:start")
        way = await host.hear_type("transition_to_game")
        snapshot = await made.open(way["roomID"], way["roomToken"]).hear()
        assert snapshot["G"] == {"size": 5, "mode": "slow"}


async def test_bots_are_given_seats(autojump_clock: object) -> None:
    """The match begins with them; who they are is in everybody's assignments."""
    async with lobbies([settings]) as made:
        lobby = await open_lobby(made, game="settings", capacity=2)
        (host,) = await lobby.seated()
        await host.say("lobby:set_target_capacity", targetCapacity=3)
        await host.say("lobby:assign_bot", seatIndex=2, botID="random")
        seat = await host.seated(2, kind="bot")
        assert seat["label"]
        await host.say("lobby:start")
        way = await host.hear_type("transition_to_game")
        assert way["playerAssignments"] == [
            {"seatIndex": 0, "playerID": "0", "kind": "human"},
            {"seatIndex": 2, "playerID": "2", "kind": "bot", "botID": "random"},
        ]


async def test_a_seat_waits_for_who_has_left_and_then_is_free(
    autojump_clock: object,
) -> None:
    """Others see that they are away; they may come back, or lose it to somebody."""
    async with lobbies(clock=TrioClock()) as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        await guest.page.leave()
        await host.seated(1, connected=False)
        back = lobby.again(guest)
        await host.seated(1, connected=True)
        await back.page.leave()
        await host.seated(1, connected=False)
        began_s = anyio.current_time()
        await host.seated(1, kind="open")
        assert 30 < anyio.current_time() - began_s < 90


async def test_who_stays_keeps_their_seat(autojump_clock: object) -> None:
    """Without a word said: the gateway says that they are there."""
    async with lobbies(clock=TrioClock()) as made:
        lobby = await open_lobby(made)
        host, _ = await lobby.seated("Ada")
        await anyio.sleep(1)
        await host.hear_all()
        await anyio.sleep(400)
        assert host.page.quiet()
        await host.say("lobby:set_ready", ready=False)
        seats = (await host.state())["seats"]
        assert [seat["kind"] for seat in seats] == ["human", "human"]


async def test_two_pages_of_one_person(autojump_clock: object) -> None:
    """Leaving one of them, at whichever gateway, is not leaving."""
    async with lobbies(gateways=2, clock=TrioClock()) as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        same, other = lobby.again(guest), lobby.again(guest, gateway=1)
        await same.state()
        await other.state()
        await anyio.sleep(1)
        await host.hear_all()
        await same.page.leave()
        await anyio.sleep(1)
        assert host.page.quiet()
        await guest.page.leave()
        await host.seated(1, connected=True)
        await anyio.sleep(200)
        newest = (await other.hear_all())[-1]
        assert newest["seats"][1]["connected"]


async def test_the_host_passes_on(autojump_clock: object) -> None:
    """To who is seated, after the host was away for as long as a seat is kept."""
    async with lobbies(clock=TrioClock()) as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        await host.page.leave()
        await guest.state(hostUserID=guest.id)
        back = lobby.again(host)
        assert (await back.refused("lobby:close"))["reason"] == "not_host"
        await guest.say("lobby:close")
        assert (await back.hear_type("closed"))["reason"] == "host_close"


async def test_a_lobby_that_nobody_is_in_is_shut(autojump_clock: object) -> None:
    """Who comes too late is told so."""
    async with lobbies(clock=TrioClock()) as made:
        lobby = await open_lobby(made)
        (host,) = await lobby.seated()
        await host.page.leave()
        await anyio.sleep(1_900)
        late = lobby.again(host)
        assert (await late.state())["phase"] == "closed"
        assert (await late.hear_type("closed"))["reason"] == "host_left"
        assert await late.page.hear_end() == (1000, "closed")


async def test_closing_sends_all_away(autojump_clock: object) -> None:
    """With the reason, and a good close code."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        await host.say("lobby:close")
        for person in (host, guest):
            assert (await person.hear_type("closed"))["reason"] == "host_close"
            assert await person.page.hear_end() == (1000, "closed")


async def test_a_start_that_fails_is_told_to_the_host(autojump_clock: object) -> None:
    """And the lobby is open again."""
    async with lobbies([], known=[tic_tac_toe]) as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        await host.say("lobby:start")
        told = await host.hear_type("rejected")
        assert told["echoType"] == "lobby:start"
        assert "tic-tac-toe" in told["message"]
        await guest.state(phase="starting")
        assert (await guest.state(phase="lobby"))["canStart"]


async def test_extended_pages_are_told_more(autojump_clock: object) -> None:
    """What there is to set, how to invite, signs of life, and a way to watch."""
    async with lobbies([settings]) as made:
        lobby = await open_lobby(made, game="settings", capacity=1)
        (host,) = await lobby.seated()
        watcher = await lobby.guest("Eve", hotseat="1")
        welcome = await watcher.hear_type("welcome")
        assert welcome["userID"] == watcher.id
        assert welcome["configFields"]["mode"]["options"] == ["fast", "slow"]
        invited = made.tokens.read(welcome["invite"]["token"])
        assert (invited.kind, invited.match) == ("invite", lobby.id)
        assert welcome["invite"]["page"].startswith("http://gw/#t=")
        await watcher.state()
        beat = await watcher.page.hear_type("heartbeat")
        await watcher.page.say(type="heartbeat", id=beat["id"])
        assert (await watcher.page.hear_type("heartbeat"))["roundTripMs"] is not None
        await host.say("lobby:start")
        way = await watcher.hear_type("watch_game")
        page = made.open(way["roomID"], way["roomToken"])
        assert "playerID" not in await page.hear()


async def test_nothing_secret_is_in_a_lobby(autojump_clock: object) -> None:
    """B42: no token in what anybody is shown of it."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        host, guest = await lobby.seated("Ada")
        await host.say("lobby:start")
        await guest.hear_type("transition_to_game")
        headers = {"authorization": f"Bearer {guest.token}"}
        async with made.http() as http:
            shown = await http.get(f"/api/lobbies/{lobby.id}", headers=headers)
        room = made.client.join(lobby.id, lobby.epoch).watch()
        view = await room.resync()
        text = shown.text + repr(view) + json.dumps(guest.page.heard[:-1])
        for token in (host.token, guest.token, lobby.body["invite"]["token"]):
            assert token.rpartition(".")[2] not in text


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("{", (4400, "malformed_message")),
        ('{"type":"lobby:dance"}', (4400, "malformed_message")),
        ('{"type":"lobby:take_seat","seatIndex":-1}', (4400, "malformed_message")),
        ('{"type":"lobby:take_seat","seatIndex":1.5}', (4400, "malformed_message")),
        ('{"type":"host:set_config","key":"a"}', (4400, "malformed_message")),
        ("[" * 9_000, (4400, "malformed_message")),
    ],
)
async def test_what_is_no_message_ends_the_connection(
    text: str, end: tuple[int, str], autojump_clock: object
) -> None:
    """As everywhere at a gateway."""
    async with lobbies() as made:
        host = (await open_lobby(made)).host()
        await host.page.say_text(text)
        assert await host.page.hear_end() == end


async def test_a_flood_is_refused(autojump_clock: object) -> None:
    """Before the room hears of it, and who goes on is let go."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        host, guest = lobby.host(), await lobby.guest()
        await guest.state()
        for _ in range(400):
            await host.page.say(type="lobby:set_ready", ready=True)
        assert await host.page.hear_end() == (4429, "rate_limited")
        assert guest.page.quiet()


@pytest.mark.parametrize("kind", ["seat", "spectator", "operator", "invite", "wrong"])
async def test_other_tokens_lead_nowhere(kind: str, autojump_clock: object) -> None:
    """A lobby is for its guests."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        tokens = {
            "seat": made.tokens.seat(lobby.id, lobby.epoch, "0", 60),
            "spectator": made.tokens.spectator(lobby.id, lobby.epoch, 60),
            "operator": made.tokens.operator("ann", 60),
            "invite": lobby.body["invite"]["token"],
            "wrong": made.tokens.guest("another", lobby.epoch, "u", "", 60),
        }
        page = made.open(lobby.id, tokens[kind], under="lobbies")
        with pytest.raises(Closed) as closed:
            await page.hear()
        assert closed.value.code == 4403


async def test_a_match_that_is_no_lobby(autojump_clock: object) -> None:
    """A guest of it, whoever made such a token, gets nowhere."""
    async with lobbies() as made:
        match = await made.create("tic-tac-toe", ["0", "1"])
        token = made.tokens.guest(match.id, match.epoch, "u", "", 60)
        page = made.open(match.id, token, under="lobbies")
        assert await page.hear_end() == (4404, "unknown_lobby")
