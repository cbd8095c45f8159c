"""`hotseat game`: what games there are, and whether one of yours is sound."""

from __future__ import annotations

import json as json_text
import sys
from typing import Annotated, Any

from cyclopts import App, Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Json

__all__ = ["app"]

app = App(
    name="game", help="List the games there are; check a game of yours.", version=None
)


@app.command(name="list")
def list_games(*, json: Json = False) -> None:
    """List the installed games."""
    from ..games import GameError, find_game, installed_games

    rows: list[dict[str, Any]] = []
    for name, point in installed_games().items():
        row: dict[str, Any] = {"name": name, "target": point.value}
        try:
            game = find_game(name)
        except GameError as error:
            row |= {"error": error.code, "message": error.message}
        else:
            row |= {
                "version": game.version,
                "players": [game.min_players, game.max_players],
            }
        rows.append(row)
    if json:
        print(json_text.dumps({"games": rows}))
        return
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        if "error" in row:
            said = f"error[{row['error']}]: {row['message']}"
        else:
            fewest, most = row["players"]
            seats = str(most) if fewest == most else f"{fewest}-{most}"
            said = f"version {row['version']}, players {seats}"
        print(f"{row['name']:<{width}}  {said}  ({row['target']})")


@app.command
def check(
    game: Annotated[str, Parameter(help="module:attribute, or an installed name.")],
    /,
    *,
    json: Json = False,
    dot: Annotated[
        bool,
        Parameter(name="--dot", negative=(), help="Print the graph for Graphviz."),
    ] = False,
    match: Annotated[
        str | None,
        Parameter(
            name="--match",
            show_default=False,
            help="The match to derive states with, in JSON; else the fewest players.",
        ),
    ] = None,
) -> int:
    """Print every finding on a game, and its graph; exit status 1 on errors."""
    from ..game_report import (
        dot_lines,
        finding_lines,
        report_game,
        report_json,
        text_lines,
    )
    from ..games import find_game

    if json and dot:
        raise OperatorError(
            "usage",
            "--json and --dot exclude each other",
            hint="the graph is in the JSON as well",
            exit_code=ExitCode.USAGE,
        )
    report = report_game(find_game(game), _match(match))
    if json:
        print(json_text.dumps(report_json(report)))
    else:
        for line in dot_lines(report) if dot else text_lines(report):
            print(line)
    if dot:  # what is for a person must not come between
        for line in finding_lines(report):
            print(line, file=sys.stderr)
    return ExitCode.FAILED if report.errors else ExitCode.OK


def _match(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        match = json_text.loads(text)
    except ValueError as error:
        match = str(error)
    if not isinstance(match, dict):
        raise OperatorError(
            "usage",
            "--match is not a JSON object",
            hint="""such as --match '{"players": ["0", "1"]}'""",
            exit_code=ExitCode.USAGE,
        )
    return match
