"""An ended match, moment by moment, as a seat or everybody could see it."""

from __future__ import annotations

import json
from typing import Any

from hotseat.engine.games.rock_paper_scissors import game as rock_paper_scissors
from hotseat.nodes.client import Accepted, Seat

from .rig import Rig, rig

SECRET = [("rock", "scissors"), ("paper", "rock")]


async def played(gateway: Rig) -> Any:
    """A match of two rounds, which seat 0 has won."""
    match = await gateway.create("rock-paper-scissors", ["0", "1"])
    seats = [await match.take(seat) for seat in match.seats]
    for hands in SECRET:
        for seat, hand in zip(seats, hands, strict=True):
            assert isinstance(seat, Seat)
            done = await seat.dispatch("choose", {"hand": hand})
            assert isinstance(done, Accepted)
    return match


async def test_an_ended_match_is_shown_from_its_beginning(
    autojump_clock: object,
) -> None:
    """Each revision is there once, with the step that led to it; the last has the
    result."""
    async with rig([rock_paper_scissors]) as gateway, gateway.http() as http:
        match = await played(gateway)
        path = f"/api/matches/{match.id}/film"
        token = gateway.seat_token(match, "0")
        film = (await http.get(path, params={"token": token})).json()
    frames = film["frames"]
    assert film["game"] == "rock-paper-scissors"
    assert [frame["snapshot"]["revision"] for frame in frames] == [0, 1, 2, 3, 4]
    assert frames[0]["step"] is None
    assert frames[1]["step"]["event"]["payload"] == {"hand": "rock"}
    assert frames[1]["snapshot"]["G"]["myChoice"] == "rock"
    assert frames[4]["snapshot"]["result"] == {"winner": "0"}


async def test_a_film_shows_no_secret_of_others(autojump_clock: object) -> None:
    """What was hidden from a place when it happened is hidden in its film."""
    async with rig([rock_paper_scissors]) as gateway, gateway.http() as http:
        match = await played(gateway)
        path = f"/api/matches/{match.id}/film"
        for token in (gateway.watch_token(match), gateway.seat_token(match, "1")):
            frames = (await http.get(path, params={"token": token})).json()["frames"]
            assert "rock" not in json.dumps(frames[1])  # the first one's, in secret
            assert "rock" in json.dumps(frames[2])  # both are shown


async def test_a_match_that_goes_on_is_not_shown(autojump_clock: object) -> None:
    """Its log is open once it has ended."""
    async with rig([rock_paper_scissors]) as gateway, gateway.http() as http:
        match = await gateway.create("rock-paper-scissors", ["0", "1"])
        token = gateway.watch_token(match)
        answer = await http.get(
            f"/api/matches/{match.id}/film", params={"token": token}
        )
    assert answer.status_code == 409
    assert answer.json()["error"]["code"] == "match_running"
