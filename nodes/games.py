"""Finds games by name, and holds those that a node hosts.

A game is named as `module:attribute`, where the current folder is searched first as
by `python -m`, or by the name of an installed entry point (group `hotseat.games`).
Whatever the author's module does on import is answered with one clear `GameError`:
a game that cannot be had never takes the process down.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.definition import Game
from ..engine.errors import DefinitionError, InvalidGameError
from ..engine.validate import hostable, validate
from ..runtime.games import StaticGames
from .lobby.room_game import game as room_game
from .operator_error import OperatorError

if TYPE_CHECKING:
    from ..engine.validate import Report

__all__ = [
    "ENTRY_POINT_GROUP",
    "GameError",
    "Games",
    "find_beside",
    "find_game",
    "installed_games",
    "load_game",
]

ENTRY_POINT_GROUP = "hotseat.games"

TRACEBACK_FRAMES_MAX = 4
"""Of the author's own frames, the innermost ones; the import system's are dropped."""


class GameError(OperatorError):
    """A game cannot be had.

    Codes: unknown_game (there is nothing of that name), game_import_failed (the
    author's module raised), invalid_game (the definition has errors; `report` has
    all of them when validation found them), duplicate_game.
    """

    def __init__(
        self, code: str, message: str, *, hint: str = "", report: Report | None = None
    ) -> None:
        super().__init__(code, message, hint=hint)
        self.report = report


class Games(StaticGames):
    """The games of one node, by name and version.

    `broken` holds the installed ones that could not be had, by entry point name:
    they are left out, for the node to report. What was asked for must be there.
    """

    def __init__(
        self, games: Iterable[Game], broken: Mapping[str, GameError] | None = None
    ) -> None:
        self.broken = dict(broken or {})
        held = list(dict.fromkeys(games))  # one game may be named twice
        keys = Counter((game.name, game.version) for game in held)
        for (name, version), count in keys.items():
            if count > 1:
                raise GameError(
                    "duplicate_game",
                    f"{count} games are called {name!r} version {version!r}",
                    hint="give each another name or version",
                )
        super().__init__(held)

    @classmethod
    def load(cls, specs: Iterable[str] = ()) -> Games:
        """Take every installed game, and those that `specs` names beside them.

        The game of rooms is always there: every node can host a lobby.

        Raises:
            GameError: One of `specs` cannot be had, or two games share a name and
                version.
        """
        games: list[Game] = [room_game]
        broken: dict[str, GameError] = {}
        for name in installed_games():
            try:
                games.append(load_game(name))
            except GameError as error:
                broken[name] = error
        games += [load_game(spec) for spec in specs]
        return cls(games, broken)


@dataclass(frozen=True, slots=True)
class _Target:
    """A module, and the way from it to the game."""

    module: str
    attribute: str
    spec: str


def installed_games() -> Mapping[str, EntryPoint]:
    """The installed games by entry point name, sorted."""
    found = entry_points(group=ENTRY_POINT_GROUP)
    return {point.name: point for point in sorted(found, key=lambda point: point.name)}


def find_game(spec: str) -> Game:
    """Import the game that `spec` names, valid or not.

    Raises:
        GameError: unknown_game, game_import_failed or invalid_game.
    """
    target = _target(spec)
    module = _import(target)
    value: object = module
    for part in target.attribute.split("."):
        value = getattr(value, part, None)
    if isinstance(value, Game):
        return value
    if value is None:
        there = sorted(n for n, v in vars(module).items() if isinstance(v, Game))
        raise GameError(
            "unknown_game",
            f"{target.module} has no attribute {target.attribute!r}",
            hint=f"games in it: {', '.join(there) or 'none'}",
        )
    raise GameError(
        "invalid_game",
        f"{spec} is of type {type(value).__name__}, not a game",
        hint="a game is what define_game(...) returns",
    )


def find_beside(spec: str, name: str) -> object | None:
    """What the module of the game that `spec` names holds under another name.

    Raises:
        GameError: unknown_game, game_import_failed or invalid_game.
    """
    return getattr(_import(_target(spec)), name, None)


def load_game(spec: str) -> Game:
    """Import the game that `spec` names and make sure that it can be hosted.

    Raises:
        GameError: unknown_game, game_import_failed, invalid_game or not_hostable.
    """
    game = find_game(spec)
    report = validate(game)
    if not report.ok:
        raise GameError(
            "invalid_game",
            f"{spec}: {InvalidGameError(report)}",
            hint=f"hotseat game check {spec}",
            report=report,
        )
    problem = hostable(game)
    if problem is not None:
        raise GameError(
            "not_hostable", f"{spec}: {problem.message}", hint=problem.hint or ""
        )
    return game


def _target(spec: str) -> _Target:
    module, _, attribute = spec.partition(":")
    is_path = "/" in module or module.endswith(".py")
    if module and attribute and not is_path:
        return _Target(module, attribute, spec)
    installed = installed_games()
    if spec in installed:
        point = installed[spec]
        return _Target(point.module, point.attr, spec)
    file = Path(f"{module.removesuffix('.py')}.py")
    if file.is_file():
        hint = f"name the game of {file} as {file.stem}:{attribute or 'game'}"
        if file.parent != Path():
            hint += f", from its folder {file.parent}"
    else:
        hint = f"installed: {', '.join(installed) or 'none'}; "
        hint += "or name one as module:attribute"
    raise GameError("unknown_game", f"there is no game {spec!r}", hint=hint)


def _import(target: _Target) -> object:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)  # as `python -m` would
    try:
        return importlib.import_module(target.module)
    except DefinitionError as error:
        raise GameError(
            "invalid_game", f"{target.spec}: {error}", hint=_author_lines(error)
        ) from error
    except ModuleNotFoundError as error:
        if error.name is not None and f"{target.module}.".startswith(f"{error.name}."):
            raise GameError(
                "unknown_game",
                f"there is no module {error.name!r}",
                hint=f"looked in {folder} and among what is installed",
            ) from error
        raise _import_failed(target, error) from error
    except (Exception, SystemExit) as error:
        raise _import_failed(target, error) from error


def _import_failed(target: _Target, error: BaseException) -> GameError:
    return GameError(
        "game_import_failed",
        f"importing {target.module} raised {type(error).__name__}: {error}",
        hint=_author_lines(error),
    )


def _author_lines(error: BaseException) -> str:
    """Where it went wrong: the frames that are neither ours nor the import system's."""
    if isinstance(error, SyntaxError):
        return f"{error.filename}, line {error.lineno}"
    ours = str(Path(__file__).parent.parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<frozen importlib", ours))
        and Path(frame.filename).parent.name != "importlib"
    ]
    return "; ".join(
        f"{frame.filename}, line {frame.lineno}: {frame.line}"
        for frame in frames[-TRACEBACK_FRAMES_MAX:]
    )
