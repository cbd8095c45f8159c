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
from ...runtime.profile_store import ProfileNameInvalid, check_name
from ..client.outcome import ClusterUnreachable
from ..exit_codes import ExitCode
from ..games import find_beside, find_game
from ..load.policy import Policy, RandomLegal
from ..operator.ask_cluster import cluster_unreachable
from ..operator_error import OperatorError
from ..telemetry import structured_logging
from .cluster_table import open_cluster_table
from .host import Host, Render
from .local_table import LocalTable
from .match_keeper import MatchKeeper
from .terminal import Terminal

__all__ = ["PlayOptions", "player_names", "run", "sitters"]

KINDS = ("human", "bot")


@dataclass(frozen=True, slots=True)
class PlayOptions:
    """What the command line says. Without a cluster the match is played here.

    `profiles` is the folder of what the players keep; only a match here has one.
    """

    game: str
    seats: tuple[str, ...] = ()
    seed: str | None = None
    cluster: Path | str | None = None
    profiles: Path | None = None


def run(options: PlayOptions) -> int:
    """Play a match.

    Raises:
        OperatorError: The game or a seat cannot be had, the cluster refuses, the input
            ends, or the game fails.
        InvalidGameError: The game has errors.
    """
    game = find_game(options.game)
    sits = sitters(game, options.seats)
    names = player_names(sits, options.seats)
    _check_profiles(options, names)
    if "bot" in sits.values() and game.legal_actions is None:
        raise OperatorError(
            "not_playable",
            f"{game.name} does not list its legal actions; bots choose by them",
            hint="declare legal_actions, or take every seat: "
            + " ".join(f"--seat {seat}=human" for seat in sits),
            exit_code=ExitCode.USAGE,
        )
    render = find_beside(options.game, "render")
    drawn = render if callable(render) else None
    sitting = _Sitting(game, sits, names, options, drawn)
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
        kind = kind.partition(":")[0]
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


def player_names(sits: Mapping[str, str], asked: Sequence[str]) -> Mapping[str, str]:
    """Whose profile a seat has: `--seat 0=human:ann` says it, else it is the seat's.

    Raises:
        OperatorError: invalid_seat: a name is none, or is given twice.
    """
    names = {seat: seat for seat in sits}
    for text in asked:
        seat, _, kind = text.partition("=")
        _, colon, name = kind.partition(":")
        if colon:
            names[seat] = name
    for seat, name in names.items():
        problem = ""
        try:
            check_name(name, "player")
        except ProfileNameInvalid as error:
            problem = str(error)
        if sum(name == other for other in names.values()) > 1:
            problem = f"two seats are {name}'s"
        if problem:
            raise OperatorError(
                "invalid_seat", f"seat {seat}: {problem}", exit_code=ExitCode.USAGE
            )
    return names


def _check_profiles(options: PlayOptions, names: Mapping[str, str]) -> None:
    problem = ""
    if options.profiles is not None and options.cluster is not None:
        problem = "a cluster keeps no profiles; only a match played here does"
    elif options.profiles is None and any(seat != names[seat] for seat in names):
        problem = "a seat's player is named for --profiles DIR, which is not given"
    if problem:
        raise OperatorError("usage", problem, exit_code=ExitCode.USAGE)


@dataclass(frozen=True, slots=True)
class _Sitting:
    game: Game
    sits: Mapping[str, str]
    names: Mapping[str, str]
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
            folder = self.options.profiles
            keeper = None
            if folder is not None:
                keeper = await MatchKeeper.open(folder, self.game, self.names)
            table = LocalTable(self.game, seats, seed, keeper=keeper)
            await Host(self.game, table, terminal, bots, self.render).run()
            return
        try:
            async with open_cluster_table(
                self.options.cluster, self.game.name, seats
            ) as remote:
                await Host(self.game, remote, terminal, bots, self.render).run()
        except ClusterUnreachable as error:
            raise cluster_unreachable(str(error)) from error
