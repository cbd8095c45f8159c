"""The HTTP API of lobbies: who may open one, come in, and see it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from hotseat.config import GatewayConfig
from hotseat.engine.games.chess import game as chess
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.lobby.room_game import ROOM_GAME

from .lobby_rig import OPEN, lobbies, open_lobby
from .rig import Rig
from .test_api import bearer, fits, operator, refusal
from .test_lobby import settings

NEW = {"game": "tic-tac-toe", "name": "Ann"}
SHUT = GatewayConfig()


async def post(
    made: Rig, path: str, body: Any, headers: dict[str, str] | None = None
) -> httpx.Response:
    async with made.http() as http:
        return await http.post(path, json=body, headers=headers)


async def test_what_can_be_played(autojump_clock: object) -> None:
    """Every game with what a page needs to offer it, and rooms are none."""
    async with lobbies([settings, chess]) as made, made.http() as http:
        games = fits(await http.get("/api/games"), "OfferedGames")["games"]
        assert [game["name"] for game in games] == ["chess", "settings"]
        played = games[1]
        assert (played["minPlayers"], played["maxPlayers"]) == (1, 3)
        assert played["seats"] == ["0", "1", "2"]
        assert played["config"] == {
            "size": {
                "type": "number",
                "default": 3,
                "min": 1,
                "max": 9,
                "label": "Size",
            },
            "mode": {"type": "enum", "default": "fast", "options": ["fast", "slow"]},
        }
        assert games[0]["config"] is None
        assert "random" in [bot["botID"] for bot in games[0]["bots"]]


async def test_lobbies_are_opened_by_operators_unless_by_anybody(
    autojump_clock: object,
) -> None:
    """A gateway that says nothing is shut; wrong tokens are never better than none."""
    async with lobbies(options=SHUT) as made:
        async with made.http() as http:
            assert refusal(await http.get("/api/games")) == (401, "token_missing")
        assert refusal(await post(made, "/api/lobbies", NEW)) == (401, "token_missing")
        answer = await post(made, "/api/lobbies", NEW, operator(made))
        assert answer.status_code == 201
        body = fits(answer, "CreatedLobby")
        assert body["page"] == f"http://gw/#t={body['user']['token']}"
        assert body["invite"]["page"] == f"http://gw/#t={body['invite']['token']}"
        assert body["url"].startswith(f"ws://gw/lobbies/{body['id']}?token=")
        guest = bearer(body["user"]["token"])
        answer = await post(made, "/api/lobbies", NEW, guest)
        assert refusal(answer) == (403, "token_wrong_scope")
    async with lobbies() as made:
        answer = await post(made, "/api/lobbies", NEW, bearer("wrong"))
        assert refusal(answer) == (401, "token_malformed")


async def test_pages_elsewhere_open_no_lobbies(autojump_clock: object) -> None:
    """With nobody's token: who visits them does not know of it. Ours may, and who has
    an operator's token."""
    async with lobbies([tic_tac_toe], options=OPEN) as made:
        elsewhere = {"origin": "https://elsewhere.example"}
        refused = await post(made, "/api/lobbies", NEW, elsewhere)
        assert refusal(refused) == (403, "wrong_origin")
        headers = {**elsewhere, **operator(made)}
        assert (await post(made, "/api/lobbies", NEW, headers)).status_code == 201


async def test_keys_of_operators_and_of_anybody_are_apart(
    autojump_clock: object,
) -> None:
    """The same text is another lobby for each of them."""
    key = {"idempotency-key": "0123456789abcdef"}
    async with lobbies() as made:
        ids = set()
        for who in ("ann", "bob", ""):
            token = made.tokens.operator(who, 60)
            answer = await post(made, "/api/lobbies", NEW, {**key, **bearer(token)})
            ids.add(answer.json()["id"])
        ids.add((await post(made, "/api/lobbies", NEW, key)).json()["id"])
        assert len(ids) == 4


async def test_one_address_opens_only_so_many(autojump_clock: object) -> None:
    """Without a token; what is refused for another reason does not count."""
    async with lobbies() as made:
        for _ in range(20):
            wrong = await post(made, "/api/lobbies", {"game": "none"})
            assert refusal(wrong) == (422, "unknown_game")
        codes = [(await post(made, "/api/lobbies", NEW)).status_code for _ in range(12)]
        assert codes == [201] * 10 + [429] * 2
        answer = await post(made, "/api/lobbies", NEW, operator(made))
        assert answer.status_code == 201


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"game": "tic-tac-toe", "version": "99"}, "unknown_game"),
        ({"game": ROOM_GAME}, "unknown_game"),
        ({"game": "tic-tac-toe", "capacity": 3}, "bad_capacity"),
        ({"game": "settings", "capacity": 65}, "malformed_request"),
        ({"game": "settings", "config": {"size": 0}}, "invalid_config_value"),
        ({"game": "settings", "config": {"odd": 0}}, "unknown_config_key"),
        ({"game": "tic-tac-toe", "config": {}}, "unexpected_config"),
        ({"game": "tic-tac-toe", "name": 3}, "malformed_request"),
    ],
)
async def test_lobbies_that_cannot_be(
    body: dict[str, Any], code: str, autojump_clock: object
) -> None:
    """They are refused at once, with what is wrong."""
    async with lobbies([settings, tic_tac_toe]) as made:
        assert refusal(await post(made, "/api/lobbies", body))[1] == code


async def test_rooms_are_not_opened_as_matches(autojump_clock: object) -> None:
    """Their door is not handed out as a seat."""
    async with lobbies() as made:
        body = {"game": ROOM_GAME, "players": ["door"]}
        answer = await post(made, "/api/matches", body, operator(made))
        assert refusal(answer) == (422, "unknown_game")


async def test_an_invitation_makes_guests(autojump_clock: object) -> None:
    """As many as come, each somebody else; their names are made fit to be shown."""
    async with lobbies() as made:
        lobby = await open_lobby(made)
        invite = bearer(lobby.body["invite"]["token"])
        path = f"/api/lobbies/{lobby.id}/guests"
        ids = set()
        for name in ("Ada", "Ada", " \u202eB\x00o\nb "):
            answer = await post(made, path, {"name": name}, invite)
            user = fits(answer, "CreatedGuest")["user"]
            ids.add(user["id"])
        assert user["name"] == "Bo b"
        assert len(ids) == 3
        answer = await post(made, "/api/lobbies/x/guests", {}, invite)
        assert refusal(answer) == (403, "token_wrong_match")
        answer = await post(made, path, {}, bearer(user["token"]))
        assert refusal(answer) == (403, "token_wrong_scope")
        answer = await post(made, path, {}, operator(made))
        assert refusal(answer) == (403, "token_wrong_scope")


async def test_how_a_lobby_stands(autojump_clock: object) -> None:
    """Whoever has a token of it may see it; an operator says its epoch."""
    async with lobbies([settings], options=OPEN) as made:
        lobby = await open_lobby(made, game="settings")
        (host,) = await lobby.seated()
        match = await made.create("settings", ["0"])
        path = f"/api/lobbies/{lobby.id}"
        async with made.http() as http:
            for token in (host.token, lobby.body["invite"]["token"]):
                shown = fits(await http.get(path, headers=bearer(token)), "LobbyState")
                assert shown["game"] == "settings"
                assert shown["config"] == {"values": {"size": 3, "mode": "fast"}}
                assert shown["seats"][0]["userID"] == host.id
            place = f"{path}?epoch={lobby.epoch}"
            assert (await http.get(place, headers=operator(made))).status_code == 200
            answer = await http.get(path, headers=operator(made))
            assert refusal(answer) == (400, "malformed_request")
            seat = bearer(made.seat_token(match, "0"))
            answer = await http.get(f"/api/lobbies/{match.id}", headers=seat)
            assert refusal(answer) == (403, "token_wrong_scope")
            none = f"/api/lobbies/{match.id}?epoch={match.epoch}"
            answer = await http.get(none, headers=operator(made))
            assert refusal(answer) == (404, "unknown_match")
