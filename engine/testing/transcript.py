"""Writes a match down for people: what a failed test shows.

match so far (nim, seed 'default', players 0, 1):
      start       -> play, turn 1, to act: 0
   1  0: take 3   -> play, turn 2, to act: 1
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ..jsonvalue import Json
from ..record import Record
from ..session import Session
from ..snapshot import Snapshot
from .states import match_states

__all__ = [
    "action_text",
    "json_text",
    "place_text",
    "record_text",
    "transcript",
    "transcript_of",
]

LINES_MAX = 40  # of a long match, the last ones
TEXT_CHARS_MAX = 200


def transcript(session: Session) -> str:
    """The match of a session, one line for each record. It is played again for that."""
    lines = [
        (record_text(record), place_text(state.snapshot))
        for record, state in match_states(session)
    ]
    return transcript_of(session, lines)


def transcript_of(session: Session, lines: Sequence[tuple[str, str]]) -> str:
    """The same, from what was noted of each step: what was done, where that led."""
    meta = session.snapshot.meta
    players = ", ".join(meta.match["players"])
    width = max((len(done) for done, _ in lines), default=0)
    shown = [
        f"{number or '':>4}  {done:<{width}}  -> {place}"
        for number, (done, place) in enumerate(lines)
    ]
    if len(shown) > LINES_MAX:
        left_out = len(shown) - LINES_MAX
        shown = [f"      ({left_out} lines left out)", *shown[-LINES_MAX:]]
    head = f"match so far ({session.game.name}, seed {meta.seed!r}, players {players}):"
    return "\n".join([head, *shown])


def action_text(seat: str, event: str, payload: Json) -> str:
    """An action, as `0: take 3`."""
    return f"{seat}: {event}" + ("" if payload is None else f" {json_text(payload)}")


def place_text(snapshot: Snapshot) -> str:
    """Where a match stands, as `play, turn 2, to act: 1`."""
    position = snapshot.position
    if snapshot.meta.result is not None:
        said = f"result {json_text(snapshot.meta.result)}"
    else:
        said = f"to act: {_names(snapshot.derived.active_players)}"
    return f"{position.name}, turn {position.turn}, {said}"


def record_text(record: Record) -> str:
    """What a record did, as `0: take 3`, `start` or `timeout at 60000`."""
    given = record.input
    if record.index == 0:
        return "start"
    if "seat" in given:
        return action_text(given["seat"], given["event"], given["payload"])
    return f"timeout at {record.time_ms}"


def json_text(value: object) -> str:
    """A value in one line, cut when it is long. Works for what is not JSON, too."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= TEXT_CHARS_MAX else text[:TEXT_CHARS_MAX] + "..."


def _names(seats: Iterable[str]) -> str:
    return ", ".join(seats) or "nobody"
