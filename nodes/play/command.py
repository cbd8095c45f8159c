"""`hotseat play`, without its command line: who sits where, and where it is played."""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio

from ...engine.definition import Game
from ...engine.validate import hostable
from ..client_outcome import ClusterUnreachable
from ..exit_codes import ExitCode
from ..games import find_beside, find_game
from ..load.policy import Policy, RandomLegal
from ..operator_error import OperatorError
from ..telemetry import structured_logging
from .cluster_table import open_cluster_table
from .host import Host, Render
from .local_table import LocalTable
from .terminal import Terminal

__all__ = ["PlayOptions", "run", "sitters"]

KINDS = ("human", "bot")


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """What the command line says. Without a cluster the match is played here."""

    game: str
    seats: tuple[str, ...] = ()
    seed: str | None = None
    cluster: Path | str | None = None


def run(options: PlayOptions) -> int:
    """Play a match.

    Raises:
        OperatorError: The game or a seat cannot be had, the cluster refuses, the input
            ends, or the game fails.
        InvalidGameError: The game has errors.
    """
    game = find_game(options.game)
    sits = sitters(game, options.seats)
    if "bot" in sits.values() and game.legal_actions is None:
        raise OperatorError(
            "not_playable",
            f"{game.name} does not list its legal actions; bots choose by them",
            hint="declare legal_actions, or take every seat: "
            + " ".join(f"--seat {seat}=human" for seat in sits),
            exit_code=ExitCode.USAGE,
        )
    render = find_beside(options.game, "render")
    sitting = _Sitting(game, sits, options, render if callable(render) else None)
    with structured_logging(level="error"):
        anyio.run(sitting.play, backend="asyncio")
    return ExitCode.OK


def sitters(game: Game, asked: Sequence[str]) -> Mapping[str, str]:
    """Who sits where, in the order of the game's seats.

    Seats that nobody asks for are filled up to the game's minimum; the game's first
    seat is a person's unless it is said otherwise, every other one a bot's.

    Raises:
        OperatorError: invalid_seat.
    """
    said: dict[str, str] = {}
    for text in asked:
        seat, _, kind = text.partition("=")
        if seat not in game.player_ids:
            problem = f"{game.name} has the seats {', '.join(game.player_ids)}"
        elif kind not in KINDS:
            problem = f"write --seat {seat}=human or --seat {seat}=bot"
        elif seat in said:
            problem = f"seat {seat} is given twice"
        else:
            said[seat] = kind
            continue
        raise OperatorError(
            "invalid_seat", f"--seat {text}: {problem}", exit_code=ExitCode.USAGE
        )
    chosen = set(said)
    for seat in game.player_ids:
        if len(chosen) < game.min_players:
            chosen.add(seat)
    first = game.player_ids[0]
    default = {seat: "human" if seat == first else "bot" for seat in chosen}
    return {seat: (default | said)[seat] for seat in game.player_ids if seat in chosen}


@dataclass(frozen=True, slots=True)
class _Sitting:
    game: Game
    sits: Mapping[str, str]
    options: PlayOptions
    render: Render | None

    async def play(self) -> None:
        seed = self.options.seed or secrets.token_hex(8)
        seats = list(self.sits)
        terminal = Terminal()
        bots: dict[str, Policy] = {
            seat: RandomLegal(random.Random(f"{seed} bot {seat}"))
            for seat, kind in self.sits.items()
            if kind == "bot"
        }
        if self.options.cluster is None:
            if hostable(self.game) is not None:
                terminal.say(
                    "The game declares no views yet: all see all of G.", "warn"
                )
            table = LocalTable(self.game, seats, seed)
            await Host(self.game, table, terminal, bots, self.render).run()
            return
        try:
            async with open_cluster_table(
                self.options.cluster, self.game.name, seats
            ) as remote:
                await Host(self.game, remote, terminal, bots, self.render).run()
        except ClusterUnreachable as error:
            raise OperatorError(
                error.code,
                str(error),
                hint="hotseat up --detach starts a cluster; --dir names one",
                exit_code=ExitCode.UNREACHABLE,
            ) from error
