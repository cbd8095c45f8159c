"""What a load test will do, decided before it begins.

Pure, and drawn from one seed: the same options give the same games, players, arrival
times and choices. What the cluster draws itself (a match's own seed) is not in it.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...engine.definition import Game

__all__ = ["LoadOptions", "MatchPlan", "plan_matches"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadOptions:
    """What the user of `hotseat loadtest` chooses.

    cluster: The cluster's folder, or the address of a node's command door.
    matches: How many matches are played.
    games: Installed names or `module:attribute`; empty: all installed, in turn.
    seed: Of every choice that is made here; None draws one, and the report names it.
    rate: Matches that begin per second, on average, however many still run.
    clients: Endpoints that the players are spread over.
    timeout_s: A match that has not ended by then counts as unfinished.
    json: Print one JSON object, and nothing else, on stdout.
    loop: The async library to run on: "trio" or "asyncio".
    """

    cluster: Path | str
    matches: int = 200
    games: Sequence[str] = ()
    seed: str | None = None
    rate: float = 40.0
    clients: int = 4
    timeout_s: float = 60.0
    json: bool = False
    loop: str = "asyncio"


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """One match: what is played, by how many, from when on."""

    number: int
    game: Game
    players: tuple[str, ...]
    key: str
    start_s: float
    seed: str = field(repr=False)

    def choices(self, seat: str) -> random.Random:
        """The source of everything that the player of `seat` chooses."""
        return random.Random(f"{self.seed}/{seat}")


def plan_matches(
    games: Sequence[Game], *, matches: int, rate: float, seed: str, run: str = ""
) -> list[MatchPlan]:
    """Draw all matches of a run. `run` keeps the creation keys of two runs apart.

    Arrivals are open-loop: the times between them are exponential, and nothing that
    the cluster does delays them.

    Raises:
        ValueError: No games, no matches, or a rate that is not positive.
    """
    if not games:
        raise ValueError("there is no game to play")
    if matches < 1:
        raise ValueError(f"there must be at least one match, not {matches}")
    if not rate > 0:
        raise ValueError(f"the rate must be positive, not {rate:g}")
    run = run or secrets.token_hex(8)
    draw = random.Random(seed)
    plans = []
    start_s = 0.0
    for number in range(matches):
        game = games[number % len(games)]
        seats = draw.randint(game.min_players, game.max_players)
        plans.append(
            MatchPlan(
                number=number,
                game=game,
                players=game.player_ids[:seats],
                key=f"load-{run}-{number}",
                start_s=start_s,
                seed=f"{seed}/{number}",
            )
        )
        start_s += draw.expovariate(rate)
    return plans
