"""`hotseat game`: what games there are, and whether one of yours is sound."""

from __future__ import annotations

import json as json_text
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from ..exit_codes import ExitCode
from .options import Json

if TYPE_CHECKING:
    from ...engine.definition import Game
    from ...engine.diagnostic import Diagnostic

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
) -> int:
    """Validate a game: print every finding; exit status 1 if one is an error."""
    from ...engine.validate import hostable
    from ..games import find_game

    found = find_game(game)
    findings = _findings(found)
    problem = hostable(found)
    if problem is not None:
        findings.append(problem)
    errors = sum(finding.severity == "error" for finding in findings)
    if json:
        print(json_text.dumps(_as_json(found, findings, errors)))
    else:
        for finding in findings:
            print(f"{finding.severity}[{finding.code}]: {finding.message}")
            if finding.hint:
                print(f"  hint: {finding.hint}")
        warnings = len(findings) - errors
        print(
            f"{found.name} version {found.version}: "
            f"{errors} errors, {warnings} warnings"
        )
    return ExitCode.FAILED if errors else ExitCode.OK


def _findings(game: Game) -> list[Diagnostic]:
    """With a match of the fewest players where one can be made, else without."""
    from ...engine.errors import InvalidMatchError
    from ...engine.validate import validate

    fewest = list(game.player_ids[: game.min_players])
    try:
        report = validate(game, {"players": fewest})
    except InvalidMatchError:  # it needs a configuration that we cannot guess
        report = validate(game)
    return list(report.diagnostics)


def _as_json(game: Game, findings: list[Diagnostic], errors: int) -> dict[str, Any]:
    places = ("event", "source", "target", "state")
    return {
        "name": game.name,
        "version": game.version,
        "ok": errors == 0,
        "diagnostics": [
            {
                "code": finding.code,
                "severity": finding.severity,
                "message": finding.message,
                "hint": finding.hint,
                **{place: getattr(finding, place) for place in places},
            }
            for finding in findings
        ],
    }
