"""Battleship: hidden fleets, placed at once, and shots that the rules answer."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine.games.battleship import game, render
from hotseat.engine.testing import ScriptedMatch, script

ROWS = {"0": (0, 1, 2), "1": (5, 6, 7)}  # each ship lies at the left of one row
FLEETS = {
    "0": [[0, 1, 2, 3], [8, 9, 10], [16, 17]],
    "1": [[40, 41, 42, 43], [48, 49, 50], [56, 57]],
}


def place(match: ScriptedMatch, seat: str) -> ScriptedMatch:
    for row in ROWS[seat]:
        match.play(seat, "place", {"cell": 8 * row, "across": True})
    return match


def battle() -> ScriptedMatch:
    return place(place(script(game), "0"), "1")


def test_both_place_at_once_in_any_order() -> None:
    """Whoever has ships left may place them; then the first player shoots."""
    match = script(game).expect(state="placing", active=["0", "1"])
    place(match, "1").expect(state="placing", active=["0"])
    match.refused("1", "place", {"cell": 30, "across": True}, code="inactive_player")
    place(match, "0").expect(state="battle", active=["0"], G={"fleets": FLEETS})


@pytest.mark.parametrize(
    ("cell", "across", "reason"),
    [
        (5, True, "leaves_the_sea"),
        (48, False, "leaves_the_sea"),
        (3, False, "ships_overlap"),
    ],
)
def test_a_ship_needs_its_place(cell: int, across: bool, reason: str) -> None:
    """Within the sea, and beside one's other ships."""
    match = script(game).play("0", "place", {"cell": 0, "across": True})
    if reason == "leaves_the_sea":
        cell += across  # the second ship is shorter than the first
        cell += 8 * (not across)
    match.refused("0", "place", {"cell": cell, "across": across}, reason=reason)


def test_shots_are_answered() -> None:
    """A miss, a hit, and the shot that sinks the ship; in turn, and once at a cell."""
    match = battle().play("0", "shoot", {"cell": 0}).expect(active=["1"])
    match.play("1", "shoot", {"cell": 16}).play("0", "shoot", {"cell": 56})
    match.play("1", "shoot", {"cell": 17})
    match.refused("0", "shoot", {"cell": 56}, reason="already_shot_there")
    shots = {
        "0": [{"cell": 0, "answer": "miss"}, {"cell": 56, "answer": "hit"}],
        "1": [{"cell": 16, "answer": "hit"}, {"cell": 17, "answer": "sunk"}],
    }
    match.sees("0", {"shots": shots}).sees(None, {"shots": shots, "toMove": "0"})


def test_a_fleet_is_its_owners_until_the_end() -> None:
    """Then all may see what was where."""
    match = battle()
    match.sees("0", {"myFleet": FLEETS["0"], "fleets": None})
    match.sees("1", {"myFleet": FLEETS["1"], "fleets": None})
    assert "myFleet" not in match.view()
    targets = [cell for ship in FLEETS["1"] for cell in ship]
    for number, cell in enumerate(targets):
        match.play("0", "shoot", {"cell": cell})
        if number < len(targets) - 1:
            match.play("1", "shoot", {"cell": 63 - number})
    match.expect(state="over", result={"winner": "0"}, label="Player 0 has won")
    match.sees(None, {"fleets": FLEETS})


def test_the_seas_are_drawn() -> None:
    """One's own ships, and only the shots at the other's."""
    match = battle().play("0", "shoot", {"cell": 40}).play("1", "shoot", {"cell": 4})

    def drawn(seat: str | None) -> Any:
        return [row.split() for row in render(match.view(seat)).splitlines()]

    mine = drawn("0")
    assert mine[6] == ["x", *"......."]  # the cell 40 of the other's sea
    assert mine[10] == [*"####", "o", *"..."]
    assert "#" not in str(drawn(None))
