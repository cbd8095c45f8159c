"""Games are found by name, and whatever is wrong with one is a clear error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hotseat.engine.definition import Game, define_game, state, transition, views
from hotseat.nodes.games import GameError, Games, find_game, load_game
from hotseat.runtime.games import UnknownGame

HEADER = "from hotseat.engine.definition import *\n"

VALID = (
    HEADER
    + """
game = define_game(
    name="nim", max_players=2, events=["take"], initial="play",
    states={"play": state(active_players=["0"])}, setup=lambda ctx: {},
    transitions=[transition("take", "play", "play")],
    views=views(public=lambda ctx: ctx.G),
)
other = 3
"""
)


@pytest.fixture(autouse=True)
def author(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the author's own as the current one; its modules are forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def error_of(spec: str) -> GameError:
    with pytest.raises(GameError) as caught:
        load_game(spec)
    return caught.value


def make(name: str = "nim", version: str = "1") -> Game:
    return define_game(
        name=name,
        version=version,
        max_players=2,
        events=["take"],
        initial="play",
        states={"play": state(active_players=["0"])},
        setup=lambda ctx: {},
        transitions=[transition("take", "play", "play")],
        views=views(public=lambda ctx: ctx.G),
    )


def test_a_module_of_the_current_folder_is_found(author: Path) -> None:
    """module:attribute is searched in the current folder first."""
    (author / "my_nim.py").write_text(VALID)
    assert load_game("my_nim:game").name == "nim"


def test_an_unknown_module_says_where_it_was_looked_for(author: Path) -> None:
    """A name that leads nowhere is unknown_game, with the folder in the hint."""
    error = error_of("no_such_module_of_mine:game")
    assert error.code == "unknown_game"
    assert str(author) in error.hint


def test_an_unknown_attribute_lists_the_games_of_the_module(author: Path) -> None:
    """The author sees what there is."""
    (author / "my_nim.py").write_text(VALID)
    error = error_of("my_nim:gaem")
    assert (error.code, error.hint) == ("unknown_game", "games in it: game")


def test_an_unknown_name_lists_what_is_installed() -> None:
    """A name without a colon is an installed game, or nothing."""
    error = error_of("noughts")
    assert error.code == "unknown_game"
    assert "tic-tac-toe" in error.hint


@pytest.mark.parametrize("spec", ["my_nim", "my_nim.py", "./my_nim.py:game"])
def test_a_file_is_told_how_its_game_is_named(author: Path, spec: str) -> None:
    """Who gives a file's name reads what to write instead."""
    (author / "my_nim.py").write_text(VALID)
    error = error_of(spec)
    assert error.code == "unknown_game"
    assert error.hint == "name the game of my_nim.py as my_nim:game"


def test_what_is_no_game_is_invalid(author: Path) -> None:
    """An attribute of another type is named with its type."""
    (author / "my_nim.py").write_text(VALID)
    error = error_of("my_nim:other")
    assert error.code == "invalid_game"
    assert "int" in error.message


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("1/0\n", "ZeroDivisionError"),
        ("raise SystemExit(3)\n", "SystemExit"),
        ("def f(:\n", "SyntaxError"),
        ("import no_such_module_of_mine\n", "ModuleNotFoundError"),
    ],
)
def test_a_module_that_fails_on_import_shows_the_authors_line(
    author: Path, body: str, said: str
) -> None:
    """The author's own file and line, and no frame of ours."""
    (author / "my_broken.py").write_text(body)
    error = error_of("my_broken:game")
    assert error.code == "game_import_failed"
    assert said in error.message
    assert "my_broken.py, line 1" in error.hint
    assert "games.py" not in error.hint


def test_a_definition_that_raises_is_an_invalid_game(author: Path) -> None:
    """An author's mistake in define_game is a fault of the game, with its line."""
    (author / "my_nim.py").write_text(VALID.replace("max_players=2", "max_players=0"))
    error = error_of("my_nim:game")
    assert error.code == "invalid_game"
    assert "my_nim.py, line" in error.hint


def test_a_game_with_errors_carries_the_whole_report(author: Path) -> None:
    """Validation runs before anything is hosted; the game itself can be looked at."""
    (author / "my_nim.py").write_text(VALID.replace('initial="play"', 'initial="x"'))
    error = error_of("my_nim:game")
    assert error.code == "invalid_game"
    assert error.report is not None
    assert not error.report.ok
    assert "hotseat game check my_nim:game" in error.hint
    assert find_game("my_nim:game").initial == "x"


def test_a_game_without_views_is_not_hosted(author: Path) -> None:
    """A host never shows the whole of G by accident."""
    (author / "my_nim.py").write_text(
        VALID.replace("    views=views(public=lambda ctx: ctx.G),\n", "")
    )
    assert error_of("my_nim:game").code == "not_hostable"


def test_the_registry_answers_by_name_and_version() -> None:
    """Without a version, the one given last is the newest."""
    first, second = make(version="1"), make(version="2")
    games = Games([first, second])
    assert games.get("nim").game is second
    assert games.get("nim", "1").game is first
    assert sorted(games.names()) == [("nim", "1"), ("nim", "2")]
    with pytest.raises(UnknownGame):
        games.get("nim", "3")
    with pytest.raises(UnknownGame):
        games.get("chess")


def test_two_games_of_one_name_and_version_are_refused() -> None:
    """Nobody could tell which of them a match is played by."""
    with pytest.raises(GameError) as caught:
        Games([make(), make()])
    assert caught.value.code == "duplicate_game"


def test_one_game_named_twice_is_one_game() -> None:
    """An installed game may be named again by its module."""
    game = make()
    assert Games([game, game]).names() == (("nim", "1"),)


def test_the_installed_games_and_the_named_one_are_hosted(author: Path) -> None:
    """A named game comes beside the installed ones."""
    (author / "my_nim.py").write_text(VALID)
    games = Games.load(["my_nim:game"])
    names = {name for name, _ in games.names()}
    assert {"nim", "tic-tac-toe", "connect-four"} <= names
    assert games.broken == {}
