"""The HTTP API: matches, tokens, replays, and what its document says of it."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import jsonschema  # type: ignore[import-untyped]
import pytest

from hotseat.config import GatewayConfig
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client import Accepted, Seat
from hotseat.nodes.gateway.openapi import openapi_document

from .hosted_games import three_in_all
from .rig import Rig, rig

NEW = {"game": "tic-tac-toe", "players": ["0", "1"]}
DOCUMENT = openapi_document("http://gw")


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def operator(gateway: Rig) -> dict[str, str]:
    return bearer(gateway.tokens.operator("ann", 600))


def fits(answer: httpx.Response, shape: str) -> Any:
    """The answer's body, which the document must have promised."""
    schema = {"$ref": f"#/components/schemas/{shape}", **DOCUMENT}
    body = answer.json()
    jsonschema.Draft202012Validator(schema).validate(body)
    return body


def refusal(answer: httpx.Response) -> tuple[int, str]:
    code: str = fits(answer, "ErrorBody")["error"]["code"]
    return answer.status_code, code


async def test_a_match_is_opened_and_played_by_its_links(
    autojump_clock: object,
) -> None:
    """Creation gives a way in for each seat and for spectators."""
    async with rig([tic_tac_toe]) as gateway, gateway.http() as http:
        answer = await http.post("/api/matches", json=NEW, headers=operator(gateway))
        assert answer.status_code == 201
        created = fits(answer, "CreatedMatch")
        assert [link["seat"] for link in created["seats"]] == ["0", "1"]
        for link in (*created["seats"], created["spectator"]):
            assert link["url"].startswith(f"ws://gw/rooms/{created['id']}?token=")
            page = gateway.open(created["id"], link["token"])
            assert (await page.hear()).get("playerID") == link.get("seat")
        place = f"/api/matches/{created['id']}"
        state = fits(
            await http.get(place, headers=bearer(created["spectator"]["token"])),
            "MatchState",
        )
        assert (state["revision"], state["activePlayers"]) == (0, ["0"])
        assert state["game"] == "tic-tac-toe"
        free = [{"seat": "0", "taken": True}, {"seat": "1", "taken": True}]
        assert state["seats"] == free
        asked = {"epoch": created["epoch"], "seat": "1", "ttlS": 60}
        answer = await http.post(
            f"{place}/tokens", json=asked, headers=operator(gateway)
        )
        link = fits(answer, "Link")
        assert gateway.tokens.read(link["token"]).seat == "1"
        by_operator = await http.get(f"{place}?epoch=1", headers=operator(gateway))
        assert fits(by_operator, "MatchState") == state


async def test_b49_one_key_is_one_match_at_all_gateways(
    autojump_clock: object,
) -> None:
    """A creation that is asked again elsewhere gives the same match; with other content
    it is refused; another operator's key is another."""
    async with rig([tic_tac_toe], gateways=2) as gateway:
        ids = []
        for number in (0, 1, 1):
            async with gateway.http(number) as http:
                headers = {**operator(gateway), "idempotency-key": "k-1"}
                answer = await http.post("/api/matches", json=NEW, headers=headers)
                ids.append(answer.json()["id"])
                other = {**NEW, "data": {"x": 1}}
                changed = await http.post("/api/matches", json=other, headers=headers)
                assert refusal(changed) == (409, "key_reused")
                headers |= bearer(gateway.tokens.operator("bob", 600))
                answer = await http.post("/api/matches", json=NEW, headers=headers)
                assert answer.json()["id"] not in ids
        assert len(set(ids)) == 1


async def test_the_token_comes_before_everything(autojump_clock: object) -> None:
    """Without one nothing is said, whether a match exists or not; a player's token
    opens no matches; a match's token is for that match."""
    async with rig([tic_tac_toe]) as gateway, gateway.http() as http:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        for path in (f"/api/matches/{match.id}", "/api/matches/nothing"):
            assert refusal(await http.get(path)) == (401, "token_missing")
        assert refusal(await http.post("/api/matches")) == (401, "token_missing")
        player = bearer(gateway.seat_token(match, "0"))
        wrong = await http.post("/api/matches", json=NEW, headers=player)
        assert refusal(wrong) == (403, "token_wrong_scope")
        wrong = await http.get("/api/matches/nothing", headers=player)
        assert refusal(wrong) == (403, "token_wrong_match")
        wrong = await http.post(
            f"/api/matches/{match.id}/tokens", json={"epoch": 1}, headers=player
        )
        assert refusal(wrong) == (403, "token_wrong_scope")
        assert (await http.get(f"/api/matches/{match.id}", headers=player)).is_success


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, "malformed_request")),
        (b"{", (400, "malformed_request")),
        (b'{"game": "tic-tac-toe"}', (400, "malformed_request")),
        (b'{"game": "chess-9", "players": ["0"]}', (422, "unknown_game")),
        (b'{"game": "tic-tac-toe", "players": ["0", "9"]}', (422, "invalid_match")),
        (
            b'{"game": "tic-tac-toe", "players": ["0", "1"], "seed": "x"}',
            (400, "malformed_request"),
        ),
        (b"[" * 90_000, (400, "malformed_request")),
        (b"x" * 200_000, (413, "too_large")),
    ],
)
# httpx leaves its own stream unread when a body is refused halfway.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_what_cannot_be_opened_is_refused(
    body: bytes, expected: tuple[int, str], autojump_clock: object
) -> None:
    """Each with a code that stays."""
    async with rig([tic_tac_toe]) as gateway, gateway.http() as http:
        answer = await http.post(
            "/api/matches", content=body, headers=operator(gateway)
        )
        assert refusal(answer) == expected


async def test_a_replay_is_there_once_the_match_has_ended(
    autojump_clock: object,
) -> None:
    """Before that it is refused; a gateway without the game says that it has none."""
    async with rig([three_in_all], gateways=1) as gateway, gateway.http() as http:
        match = await gateway.create("three-in-all", ["0", "1"])
        path = f"/api/matches/{match.id}/replay"
        headers = bearer(gateway.watch_token(match))
        assert refusal(await http.get(path, headers=headers)) == (409, "match_running")
        seats = [await match.take(seat) for seat in match.seats]
        for number in range(3):
            await seats[number % 2].dispatch("place", {})  # type: ignore[union-attr]
        for _ in range(2):  # made, and kept
            answer = await http.get(path, headers=headers)
            assert answer.json()["gameID"] == "three-in-all"
    async with rig([three_in_all], known=[]) as gateway, gateway.http() as http:
        match = await gateway.create("three-in-all", ["0", "1"])
        seats = [await match.take(seat) for seat in match.seats]
        for number in range(3):
            await seats[number % 2].dispatch("place", {})  # type: ignore[union-attr]
        answer = await http.get(
            f"/api/matches/{match.id}/replay?token={gateway.watch_token(match)}"
        )
        assert refusal(answer) == (501, "missing_game")


async def test_requests_are_slowed_down(autojump_clock: object) -> None:
    """One token may ask so often; wrong tokens are not looked at for long."""
    options = GatewayConfig(messages_per_s=1, messages_burst=3)
    async with rig([tic_tac_toe], options=options) as gateway, gateway.http() as http:
        headers = operator(gateway)
        answers = [
            await http.post("/api/matches", json=NEW, headers=headers) for _ in range(4)
        ]
        assert [answer.status_code for answer in answers] == [201, 201, 201, 429]
        assert answers[-1].headers["retry-after"] == "1"
        await anyio.sleep(1)
        again = await http.post("/api/matches", json=NEW, headers=headers)
        assert again.status_code == 201
        for _ in range(12):
            wrong = await http.get("/api/matches/x", headers=bearer("wrong"))
        assert refusal(wrong) == (429, "rate_limited")


async def test_probes_and_the_document_need_no_token(autojump_clock: object) -> None:
    """healthz, readyz and openapi.json are for everybody; the document is whole."""
    async with rig([tic_tac_toe]) as gateway, gateway.http() as http:
        assert (await http.get("/healthz")).text == "ok\n"
        assert (await http.get("/readyz")).status_code == 200
        document = (await http.get("/openapi.json")).json()
        assert document == DOCUMENT
        refs = str(document).count("$ref")
        assert refs > 10
        for name in document["components"]["schemas"]:
            schema = {"$ref": f"#/components/schemas/{name}", **document}
            jsonschema.Draft202012Validator(schema).is_valid({})
        await gateway.gateways[0].stop()
        assert (await http.get("/readyz")).status_code == 503
        assert (await http.get("/healthz")).status_code == 200


async def test_asking_how_a_match_stands_takes_nothing_from_who_watches(
    autojump_clock: object,
) -> None:
    """A page at the same gateway goes on to be told all that it draws."""
    async with rig([tic_tac_toe]) as gateway, gateway.http() as http:
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        watcher = gateway.open(match.id, gateway.watch_token(match))
        first = await watcher.hear()
        headers = bearer(gateway.watch_token(match))
        assert (await http.get(f"/api/matches/{match.id}", headers=headers)).is_success
        player = await match.take("0")
        assert isinstance(player, Seat)
        assert isinstance(await player.dispatch("place", {"cell": 4}), Accepted)
        told = await watcher.hear()
        assert told["type"] == "batch_applied"
        assert told["snapshot"]["position"]["path"] == first["position"]["path"]
        assert told["steps"][0]["event"]["event"] == "place"
