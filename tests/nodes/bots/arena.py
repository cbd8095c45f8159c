"""Bots against each other, in this process: no cluster, no clock."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from hotseat.engine import Game, Refusal, Session, create_session, thaw
from hotseat.nodes.bots import Bot, BotView, Mcts, rewards

__all__ = ["ask", "looking_ahead", "play", "points", "what_it_sees"]


def looking_ahead(rounds: int) -> Mcts:
    """A search of so many rounds, however long they take."""
    return Mcts(rounds_max=rounds, clock=lambda: 0.0)


def what_it_sees(session: Session, seat: str, **more: Any) -> BotView:
    """As it would come over a wire."""
    snapshot = session.snapshot
    said: dict[str, Any] = {
        "game": session.game.name,
        "version": session.game.version,
        "match": "M",
        "seat": seat,
        "players": tuple(snapshot.meta.match["players"]),
        "config": None,
        "view": thaw(session.player_view(seat)),
        "state": snapshot.position.name,
        "turn": snapshot.position.turn,
        "revision": snapshot.revision,
        "active_players": tuple(snapshot.derived.active_players),
        "deadline_ms": None,
        "now_ms": 1_000,
        "think_s": 1.0,
        "machine": session.machine,
    }
    return BotView(**{**said, **more})


def ask(bot: Bot, session: Session, seat: str, rng: random.Random) -> tuple[str, Any]:
    """What a bot chooses at a seat that may act."""
    legal = [(event, thaw(payload)) for event, payload in session.legal_actions(seat)]
    return bot.decide(what_it_sees(session, seat), legal, rng)


def play(game: Game, bots: Mapping[str, Bot], seed: int) -> Session:
    """A whole match; all its chance follows from the seed."""
    rng = random.Random(seed)
    session = create_session(game, {"players": list(bots)}, seed=str(seed))
    while session.result is None:
        active = session.snapshot.derived.active_players
        seat = next(s for s in active if session.legal_actions(s))
        answer = session.apply(seat, *ask(bots[seat], session, seat, rng), now=1)
        assert not isinstance(answer, Refusal), answer
    return session


def points(game: Game, bot: Bot, other: Bot, seeds: Sequence[int]) -> float:
    """What a bot wins of as many matches, sitting first and second in turn."""
    total = 0.0
    for seed in seeds:
        first, second = game.player_ids[:2]
        mine, its = (first, second) if seed % 2 == 0 else (second, first)
        order = (
            {first: bot, second: other}
            if mine == first
            else {first: other, second: bot}
        )
        total += rewards(play(game, order, seed).result, (mine, its))[mine]
    return total
