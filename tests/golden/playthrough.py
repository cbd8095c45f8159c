"""Plays one match of a game and tells all of it: what an engine's change would change.

For each record: what was done, who was asked and what they answered, where that led,
what changed in the views of each seat, and the digest. A seat's view is told beside
the spectator's, so that what is secret stands out.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hotseat.engine import Batch, Game, Session, Snapshot, create_session, redact_step
from hotseat.engine import games as shipped
from hotseat.engine.machine import Machine
from hotseat.engine.playback import Played, verify_records
from hotseat.engine.step import Candidate, Step
from hotseat.engine.testing import random_playout
from hotseat.engine.testing.transcript import place_text, record_text

__all__ = ["FOLDER", "GAMES", "playthrough"]

FOLDER = Path(__file__).parent
GAMES = sorted(
    path.stem
    for path in Path(shipped.__path__[0]).glob("*.py")
    if path.stem != "__init__"
)

# Matches of random players: by seed, and by the number of players if not all play.
SEED = "golden"
SEEDS = {"crazy_eights": "golden 1"}
PLAYERS = {"crazy_eights": 3, "liars_dice": 2, "sealed_auction": 3}

# Random players of chess wander about; this is Morphy's match at the opera, of 1858.
OPERA = """
    e2e4 e7e5 g1f3 d7d6 d2d4 c8g4 d4e5 g4f3 d1f3 d6e5 f1c4 g8f6 f3b3 d8e7 b1c3 c7c6 c1g5
    b7b5 c3b5 c6b5 c4b5 b8d7 e1c1 a8d8 d1d7 d8d7 h1d1 e7e6 b5d7 f6d7 b3b8 d7b8 d1d8
"""

WHOLE_LIST_MAX = 12  # items of a list that is told whole when one of them changes


def playthrough(name: str) -> str:
    """The transcript of the game in the module of that name."""
    session = _play(name, importlib.import_module(f"hotseat.engine.games.{name}").game)
    return "\n".join([*_lines(session), ""])


def _play(name: str, game: Game) -> Session:
    if name == "chess":
        session = create_session(game, {"players": game.player_ids}, seed=SEED)
        for number, uci in enumerate(OPERA.split()):
            seat = game.player_ids[number % 2]
            done = session.apply(seat, "move", {"uci": uci}, now=10 * (number + 1))
            assert isinstance(done, Batch), done
        return session
    seats = game.player_ids[: PLAYERS.get(name)]
    return random_playout(game, SEEDS.get(name, SEED), players=seats)


def _lines(session: Session) -> Iterator[str]:
    game, meta = session.game, session.snapshot.meta
    seats: list[str] = meta.match["players"]
    yield f"# {game.name}, version {game.version}"
    yield "# Written by `python -m tests.golden`. A diff here is a change of behaviour."
    yield f"players {', '.join(seats)}; seed {_text(meta.seed)}"
    machine = session.machine
    views = {seat: {} for seat in (None, *seats)}  # type: dict[str | None, Any]
    for played in verify_records(machine, session.log):
        record = played.record
        yield ""
        yield f"[{record.index}] {record_text(record)} at {record.time_ms}"
        if played.before is None:
            yield from _setup(played)
        for step in () if played.batch is None else played.batch.steps:
            yield from _step(game, step, seats)
        yield f"    {place_text(played.snapshot)}; {_words(played.snapshot)}"
        yield from _views(machine, played.snapshot, views)
        yield f"    digest {record.digest.hex()}"


def _setup(played: Played) -> Iterator[str]:
    for key, value in played.snapshot.G.items():
        yield f"    G.{key} = {_text(value)}"


def _step(game: Game, step: Step, seats: Sequence[str]) -> Iterator[str]:
    taken = step.transition
    if step.kind != "action":
        yield f"    then {step.kind} {step.event.event} {_text(step.event.payload)}"
    for evaluation in taken.evaluations:
        asked = ", ".join(map(_candidate, evaluation.candidates))
        yield f"    {evaluation.event} in {evaluation.source}: {asked}"
    if taken.rng is not None:
        yield f"    {taken.rng.draws} random numbers"
    shown = {seat: redact_step(game, step, seat) for seat in (None, *seats)}
    know = [seat or "all" for seat, told in shown.items() if "payload" in told["event"]]
    if "all" not in know:
        yield f"    the payload is seen by {', '.join(know) or 'nobody'}"


def _candidate(candidate: Candidate) -> str:
    name = (candidate.resolver or "no resolver").removeprefix("resolver:")
    if candidate.matched:
        return f"{name} -> {candidate.target}"
    return f"not {name}" + (f" ({candidate.reason})" if candidate.reason else "")


def _words(snapshot: Snapshot) -> str:
    words = snapshot.derived.control_meta
    deadline = "" if words.deadline is None else f", deadline {words.deadline}"
    return f"{_text(words.label)}{deadline}"


def _views(
    machine: Machine, snapshot: Snapshot, views: dict[str | None, Any]
) -> Iterator[str]:
    """What changed in each view since the last time, which is kept in `views`."""
    told: set[str] = set()
    for seat, old in views.items():
        if seat is None:
            new = machine.public_view(snapshot)
        else:
            new = machine.player_view(snapshot, seat)
        changed = dict(_changes(old, new))
        for path, value in changed.items():
            line = f"{path} = {value}"
            if seat is None or line not in told:
                yield f"    {'all' if seat is None else seat}: {line}"
            if seat is None:
                told.add(line)
        views[seat] = new


def _changes(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every place that changed, and what is there now."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in (*old, *(key for key in new if key not in old)):
            there = f"{path}.{key}" if path else key
            if key not in new:
                yield there, "gone"
            elif key not in old:
                yield there, _text(new[key])
            else:
                yield from _changes(old[key], new[key], there)
    elif isinstance(old, list) and isinstance(new, list) and not _is_short(new):
        for place, (was, now) in enumerate(zip(old, new, strict=False)):
            yield from _changes(was, now, f"{path}[{place}]")
        for place in range(len(old), len(new)):
            yield f"{path}[{place}]", _text(new[place])
        if len(new) < len(old):
            yield f"the length of {path}", str(len(new))
    elif type(old) is not type(new) or old != new:
        yield path, _text(new)


def _is_short(value: list[Any]) -> bool:
    scalars = not any(isinstance(item, (dict, list)) for item in value)
    return scalars and len(value) <= WHOLE_LIST_MAX


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
