"""The format of games.json: whole games, played move by move from a seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from hotseat.engine.definition import Game
from hotseat.engine.refusal import Refusal
from hotseat.engine.session import Session, create_session

from .encode import derived_json, plain, position_json, refusal_json, snapshot_json
from .games import GAMES
from .outcome import Outcome, difference, judge, skipped

__all__ = ["check"]

Json = Any

ATTEMPT_EVERY_MS = 10  # every attempt advances the clock, refused ones too


def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
    """One outcome for each playout."""
    for entry in document["games"]:
        for index, playout in enumerate(entry["playouts"]):
            name = f"{entry['id']}[{index}] seed {playout.get('seed')!r}"
            game = GAMES.get(entry["id"])
            if game is None:
                yield skipped(name, f"no game {entry['id']!r} here yet")
            else:
                yield judge(name, partial(_first_problem, game, playout))


def _first_problem(game: Game, playout: Mapping[str, Json]) -> Iterator[str]:
    """After the first difference a playout tells another story."""
    return islice(filter(None, _problems(game, playout)), 1)


def _problems(game: Game, playout: Mapping[str, Json]) -> Iterator[str]:
    session = create_session(
        game, {"players": playout["players"]}, seed=playout["seed"]
    )
    if "initial" in playout:
        actual: Json = {
            "public": plain(session.public_view()),
            "state": snapshot_json(session.snapshot, []),
        }
        expected = playout["initial"]
        actual = {key: actual[key] for key in expected if key in actual}
        yield difference(expected, actual, "initial")
    accepted = 0
    for index, (player, event, payload, expected) in enumerate(playout["actions"]):
        now = ATTEMPT_EVERY_MS * (index + 1)
        answer = session.apply(player, event, payload, now=now)
        if isinstance(answer, Refusal):
            actual = refusal_json(answer)
            del actual["ok"]
        else:
            accepted += 1
            actual = True
        yield difference(expected, actual, f"action {index} {player} {event}")
    expected = playout["final"]
    actual = {**_final(session, playout["players"]), "logLength": accepted}
    actual = {key: actual[key] for key in expected if key in actual}
    yield difference(expected, actual, "final")


def _final(session: Session, players: list[str]) -> dict[str, Json]:
    snapshot = session.snapshot
    derived = derived_json(snapshot.derived)
    return {
        "result": plain(session.result),
        "position": position_json(snapshot.position),
        "activePlayers": derived["activePlayers"],
        "control": derived["control"],
        "controlMeta": derived["controlMeta"],
        "selectors": derived["selectors"],
        "publicView": plain(session.public_view()),
        "playerViews": {seat: plain(session.player_view(seat)) for seat in players},
    }
