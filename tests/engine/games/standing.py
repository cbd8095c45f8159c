"""A match that stands in the midst of things: at a G of the test's own."""

from __future__ import annotations

from typing import Any

from hotseat.engine import (
    Game,
    create_session,
    session_from_snapshot,
    snapshot_from_json,
    snapshot_to_json,
)
from hotseat.engine.testing import ScriptedMatch


def standing(game: Game, G: Any, *, state: str, turn: int = 1) -> ScriptedMatch:
    """A scripted match of the first two seats, in that state, turn and G."""
    fresh = create_session(game, {"players": game.player_ids[:2]})
    told = snapshot_to_json(fresh.snapshot)
    told["position"] = {"name": state, "path": [state], "turn": turn}
    told["G"] = G
    return ScriptedMatch(session_from_snapshot(game, snapshot_from_json(told)), 0)
