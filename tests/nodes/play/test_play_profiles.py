"""`hotseat play --profiles`: what the players of a match in a terminal keep of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hotseat.engine import Game
from hotseat.engine.gamekit import (
    MoveContext,
    Outcome,
    TimeoutContext,
    define_game,
    finish,
    phase,
    profile,
    stay,
)
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.operator_error import OperatorError
from hotseat.nodes.play.command import PlayOptions, player_names, run
from hotseat.nodes.play.local_table import LocalTable
from hotseat.nodes.play.match_keeper import MatchKeeper

SITS = {"0": "human", "1": "bot"}
NAMES = {"0": "ann", "1": "1"}


def dig(ctx: MoveContext[int]) -> Outcome:
    return stay(profile=ctx.profile.inc(ctx.player, "coins", ctx.args))


def win(ctx: MoveContext[None]) -> Outcome:
    return finish({"winner": ctx.player})


def late(ctx: TimeoutContext) -> Outcome:
    return finish({"winner": ctx.players[1]})


def commit(ctx: Any) -> Any:
    return ctx.profile.inc(ctx.result["winner"], "wins", 1)


def treasure(commit: Callable[[Any], Any] = commit) -> Game:
    return define_game(
        name="treasure",
        max_players=2,
        setup=lambda ctx: {"coins": {s: p["coins"] for s, p in ctx.profiles.items()}},
        moves=[dig, win],
        phases={"play": phase(deadline=lambda ctx: ctx.now + 100, on_timeout=late)},
        profile=profile({"coins": 0, "wins": 0}, commit=commit),
        open_information=True,
    )


class Evening:
    """Matches that are played one after the other, on a clock of the test's own."""

    def __init__(self, folder: Path, game: Game) -> None:
        self.folder = folder
        self.game = game
        self.now = 0

    async def match(self) -> LocalTable:
        keeper = await MatchKeeper.open(self.folder, self.game, NAMES)
        clock = lambda: self.now
        return LocalTable(self.game, ["0", "1"], "seed", clock, keeper)

    def kept(self, name: str) -> Any:
        file = self.folder / "treasure" / f"{name}.json"
        return json.loads(file.read_text("utf-8"))["data"] if file.exists() else None


async def test_the_next_match_starts_from_what_the_last_one_left(
    tmp_path: Path,
) -> None:
    """Moves keep at once; the result is committed once, however often one looks."""
    evening = Evening(tmp_path / "kept", treasure())
    table = await evening.match()
    assert await table.act("0", "dig", 3) is None
    assert evening.kept("ann") == {"coins": 3, "wins": 0}
    assert await table.act("0", "win", None) is None
    for _ in range(2):
        await table.look("0")
    assert evening.kept("ann") == {"coins": 3, "wins": 1}
    assert evening.kept("1") is None
    assert table.farewell().splitlines()[0] == "Profiles: ann, 1"
    again = await evening.match()
    assert (await again.look("0")).view["coins"] == {"0": 3, "1": 0}


async def test_a_match_that_a_deadline_ends_is_committed(tmp_path: Path) -> None:
    """Whoever sleeps loses, and the other one's win is kept."""
    evening = Evening(tmp_path / "kept", treasure())
    table = await evening.match()
    evening.now = 100
    assert (await table.look("0")).ended
    assert evening.kept("1") == {"coins": 0, "wins": 1}


async def test_what_was_not_kept_is_told(tmp_path: Path) -> None:
    """By the player's name, at the end."""
    taken = lambda ctx: ctx.profile.remove("0", "hat")
    evening = Evening(tmp_path / "kept", treasure(taken))
    table = await evening.match()
    await table.act("0", "win", None)
    told = table.farewell().splitlines()[0]
    assert told.startswith("The profile of ann was not changed: ")
    assert "hat" in told


async def test_a_commit_that_fails_is_the_authors_to_read(tmp_path: Path) -> None:
    """What moves have kept before stays."""
    evening = Evening(tmp_path / "kept", treasure(lambda ctx: 1 / 0))
    table = await evening.match()
    await table.act("0", "dig", 1)
    with pytest.raises(OperatorError, match="division by zero") as caught:
        await table.act("0", "win", None)
    assert caught.value.code == "profile_commit"
    assert evening.kept("ann") == {"coins": 1, "wins": 0}


async def test_a_game_that_keeps_nothing_says_so(tmp_path: Path) -> None:
    """No folder is made for it."""
    with pytest.raises(OperatorError, match="no_profiles"):
        await MatchKeeper.open(tmp_path / "kept", tic_tac_toe, NAMES)
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ([], {"0": "0", "1": "1"}),
        (["0=human:ann"], {"0": "ann", "1": "1"}),
        (["1=bot:rob", "0=human"], {"0": "0", "1": "rob"}),
        (["0=human:1", "1=bot:0"], {"0": "1", "1": "0"}),
    ],
)
def test_a_seat_may_say_whose_it_is(asked: list[str], names: dict[str, str]) -> None:
    """Else it keeps a profile of its own."""
    assert player_names(SITS, asked) == names


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["0=human:"], "1 to 64 of"),
        (["0=human:../x"], "1 to 64 of"),
        (["0=human:1"], "two seats are 1's"),
        (["0=human:ann", "1=bot:ann"], "two seats are ann's"),
    ],
)
def test_a_wrong_name_is_a_usage_error(asked: list[str], said: str) -> None:
    """It says what to write."""
    with pytest.raises(OperatorError, match="invalid_seat") as caught:
        player_names(SITS, asked)
    assert said in caught.value.message
    assert caught.value.exit_code == 2


def test_names_and_profiles_belong_together(tmp_path: Path) -> None:
    """A name that nothing is kept under is refused, and so is a cluster's profile."""
    named = PlayOptions("tic-tac-toe", seats=("0=human:ann",))
    with pytest.raises(OperatorError, match="--profiles DIR"):
        run(named)
    hosted = PlayOptions("tic-tac-toe", cluster=tmp_path, profiles=tmp_path)
    with pytest.raises(OperatorError, match="a cluster keeps no profiles"):
        run(hosted)
