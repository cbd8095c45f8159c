"""Rock-paper-scissors on gamekit as games.json has it: the core game's rules."""

from __future__ import annotations

from typing import Any

from hotseat.engine.gamekit import Outcome, define_game, end_turn, phase, stay, views

from .rock_paper_scissors_core import (
    NOTHING_CHOSEN,
    PLAYERS,
    round_outcome,
    shown,
    submitted,
)

__all__ = ["game"]


def submit_choice(ctx: Any) -> Outcome:
    choices = {**ctx.G["submissions"], ctx.player: ctx.args}
    if len(submitted(choices)) < len(PLAYERS):
        return stay({"submissions": choices})
    outcome = round_outcome(choices, ctx.G["round"])
    return end_turn(
        {
            "lastOutcome": outcome,
            "lastRevealed": choices,
            "round": ctx.G["round"] + 1,
            "scores": {
                player: score + (player in outcome["winners"])
                for player, score in ctx.G["scores"].items()
            },
            "submissions": NOTHING_CHOSEN,
        }
    )


game = define_game(
    name="rock-paper-scissors",
    player_ids=PLAYERS,
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
        "scores": dict.fromkeys(ctx.players, 0),
        "submissions": NOTHING_CHOSEN,
    },
    moves={"submitChoice": submit_choice},
    phases={
        "plan": phase(
            active_players=lambda ctx: [
                player for player in PLAYERS if ctx.G["submissions"][player] is None
            ],
            label=lambda ctx: f"Round {ctx.G['round']}",
        )
    },
    computed={"submittedCount": lambda ctx: len(submitted(ctx.G["submissions"]))},
    views=views(
        public=lambda ctx: {**shown(ctx), "submittedCount": ctx.C["submittedCount"]},
        player=lambda ctx, seat: {
            **shown(ctx),
            "mySubmission": ctx.G["submissions"].get(seat),
        },
    ),
)
