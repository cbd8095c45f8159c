"""Profiles of players: given to a match at its creation, and what it leaves to them."""

from __future__ import annotations

from typing import Any

import httpx

from hotseat.engine.definition import (
    define_game,
    event,
    profile,
    state,
    transition,
)
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.client import Seat

from .rig import Rig, rig
from .test_api import bearer, fits, operator, refusal


def commit(ctx: Any) -> Any:
    return ctx.profile.inc(ctx.result["winner"], "wins", 1)


def grab(ctx: Any) -> object:
    return {"profile": ctx.profile.inc(ctx.player_id, "coins", 3)}


coins = define_game(
    name="coins",
    player_ids=["0", "1"],
    events={"grab": event(public=True), "win": event(public=True)},
    initial="play",
    setup=lambda ctx: {"rich": [s for s, p in ctx.profiles.items() if p["coins"] > 5]},
    states={
        "play": state(active_players=["0", "1"]),
        "over": state(active_players=[]),
    },
    transitions=[
        transition(
            "grab",
            "play",
            "play",
            grab,
        ),
        transition(
            "win", "play", "over", lambda ctx: {"result": {"winner": ctx.player_id}}
        ),
    ],
    profile=profile({"coins": 0, "wins": 0}, commit=commit),
    open_information=True,
)


async def opened(gateway: Rig, http: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    asked = {"game": "coins", "players": ["0", "1"], **more}
    answer = await http.post("/api/matches", json=asked, headers=operator(gateway))
    assert answer.status_code == 201, answer.text
    created: dict[str, Any] = answer.json()
    return created


async def play(gateway: Rig, created: dict[str, Any]) -> None:
    match = gateway.client.join(created["id"], created["epoch"])
    first, second = [await match.take(seat) for seat in ("0", "1")]
    assert isinstance(first, Seat)
    assert isinstance(second, Seat)
    for seat, event_name in (
        (first, "grab"),
        (second, "grab"),
        (first, "grab"),
        (second, "win"),
    ):
        await seat.dispatch(event_name)


async def test_a_match_leaves_to_its_players_what_they_kept(
    autojump_clock: object,
) -> None:
    """The profiles that were given are what the game sees; after the end there is what
    each became, and the deltas that lead there, moves' first and the result's last."""
    async with rig([coins]) as gateway, gateway.http() as http:
        created = await opened(gateway, http, profiles={"0": {"coins": 9, "wins": 2}})
        path = f"/api/matches/{created['id']}/profiles"
        all_of_them = {"headers": operator(gateway), "params": {"epoch": "1"}}
        early = await http.get(path, **all_of_them)  # type: ignore[arg-type]
        assert refusal(early) == (409, "match_running")
        watcher = gateway.open(created["id"], created["spectator"]["token"])
        assert (await watcher.hear())["G"] == {"rich": ["0"]}
        await play(gateway, created)
        answer = await http.get(path, **all_of_them)  # type: ignore[arg-type]
        kept = fits(answer, "KeptProfiles")
        assert (kept["match"], kept["game"]) == (created["id"], "coins")
        coin = [{"op": "inc", "path": ["coins"], "value": 3}]
        win = [{"op": "inc", "path": ["wins"], "value": 1}]
        zero, one = kept["profiles"]
        assert zero == {
            "seat": "0",
            "before": {"coins": 9, "wins": 2},
            "deltas": [coin, coin],
            "after": {"coins": 15, "wins": 2},
            "problem": None,
        }
        assert (one["deltas"], one["after"]) == ([coin, win], {"coins": 3, "wins": 1})
        own = await http.get(path, headers=bearer(created["seats"][1]["token"]))
        assert fits(own, "KeptProfiles")["profiles"] == [one]


async def test_profiles_are_not_for_everybody(autojump_clock: object) -> None:
    """Spectators have none; a game may keep none; what is no profile is refused."""
    async with rig([coins, tic_tac_toe]) as gateway, gateway.http() as http:
        created = await opened(gateway, http)
        await play(gateway, created)
        path = f"/api/matches/{created['id']}/profiles"
        spectator = bearer(created["spectator"]["token"])
        assert refusal(await http.get(path, headers=spectator)) == (403, "forbidden")
        assert refusal(await http.get(path)) == (401, "token_missing")
        asked = {"game": "coins", "players": ["0", "1"], "profiles": [1]}
        bad = await http.post("/api/matches", json=asked, headers=operator(gateway))
        assert refusal(bad) == (400, "malformed_request")
        match = await gateway.create("tic-tac-toe", ["0", "1"])
        seats = [await match.take(seat) for seat in match.seats]
        for number, cell in enumerate((0, 3, 1, 4, 2)):
            await seats[number % 2].dispatch("place", {"cell": cell})  # type: ignore[union-attr]
        path = f"/api/matches/{match.id}/profiles"
        seat = bearer(gateway.seat_token(match, "0"))
        assert refusal(await http.get(path, headers=seat)) == (422, "no_profiles")
