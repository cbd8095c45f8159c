"""Rock-paper-scissors for three as games.json has it. It never ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hotseat.engine.definition import define_game, state, transition, views

__all__ = ["game"]

Choices = Mapping[str, str | None]

PLAYERS = ("0", "1", "2")
BEATS = {"rock": "scissors", "scissors": "paper", "paper": "rock"}
NOTHING_CHOSEN: Choices = dict.fromkeys(PLAYERS)


def submitted(choices: Choices) -> list[str]:
    return [player for player in PLAYERS if choices[player] is not None]


def with_submission(ctx: Any) -> dict[str, str | None]:
    return {**ctx.G["submissions"], ctx.player_id: ctx.event.payload}


def submit_pending(ctx: Any) -> object:
    choices = with_submission(ctx)
    if len(submitted(choices)) == len(PLAYERS):
        return None
    return {"G": {**ctx.G, "submissions": choices}}


def submit_resolved(ctx: Any) -> object:
    choices = with_submission(ctx)
    if len(submitted(choices)) < len(PLAYERS):
        return None
    G = ctx.G
    outcome = round_outcome(choices, G["round"])
    return {
        "G": {
            "lastOutcome": outcome,
            "lastRevealed": choices,
            "round": G["round"] + 1,
            "scores": {
                player: score + (player in outcome["winners"])
                for player, score in G["scores"].items()
            },
            "submissions": NOTHING_CHOSEN,
        },
        "turn": "increment",
    }


def round_outcome(choices: Choices, round_number: int) -> dict[str, Any]:
    """Two distinct choices: the better one wins. Otherwise a draw."""
    distinct = {choice for choice in choices.values() if choice is not None}
    best = next((c for c in distinct if {c, BEATS.get(c)} == distinct), None)
    winners = [player for player in PLAYERS if choices[player] == best]
    return {
        "kind": "draw" if best is None else "win",
        "round": round_number,
        "submittedPlayers": submitted(choices),
        "winners": [] if best is None else winners,
        "winningChoice": best,
    }


def shown(ctx: Any) -> dict[str, Any]:
    return {
        key: ctx.G[key] for key in ("lastOutcome", "lastRevealed", "round", "scores")
    }


game = define_game(
    name="rock-paper-scissors-core",
    player_ids=PLAYERS,
    events=["submitChoice"],
    initial="plan",
    setup=lambda ctx: {
        "lastOutcome": {
            "kind": "pending",
            "round": 0,
            "submittedPlayers": [],
            "winners": [],
            "winningChoice": None,
        },
        "lastRevealed": NOTHING_CHOSEN,
        "round": 1,
        "scores": dict.fromkeys(ctx.match["players"], 0),
        "submissions": NOTHING_CHOSEN,
    },
    selectors={"submittedCount": lambda ctx: len(submitted(ctx.G["submissions"]))},
    states={
        "plan": state(
            active_players=lambda ctx: [
                player for player in PLAYERS if ctx.G["submissions"][player] is None
            ],
            label=lambda ctx: f"Round {ctx.G['round']}",
        )
    },
    transitions=[
        transition("submitChoice", "plan", "plan", submit_pending, label="pending"),
        transition("submitChoice", "plan", "plan", submit_resolved, label="resolved"),
    ],
    views=views(
        public=lambda ctx: {
            **shown(ctx),
            "submittedCount": len(submitted(ctx.G["submissions"])),
        },
        player=lambda ctx, seat: {
            **shown(ctx),
            "mySubmission": ctx.G["submissions"].get(seat),
        },
    ),
)
