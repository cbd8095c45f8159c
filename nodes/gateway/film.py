"""An ended match as one place could see it, moment by moment: for pages that show it.

Each moment is a snapshot of the room protocol, with the step that led there. A seat
sees what it saw while it played, everybody else what was public; nothing of the others
is in it. Pure but for the game, which is played back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ...engine.errors import EngineError
from ...engine.machine import Machine
from ...engine.record import Record
from ...engine.replay import Frame, open_timeline
from ...engine.shown import shown_derived, shown_step
from ..client import Refusal
from .hosted import Message, told_frame

__all__ = ["BYTES_MAX", "FRAMES_MAX", "film"]

FRAMES_MAX = 2_000
"""Moments of one film; of a longer match there is only the replay."""

BYTES_MAX = 8 * 1024 * 1024

TOO_LONG = "That match is too long to be shown: fetch its replay."
IMPOSSIBLE = "That match cannot be played back."


def film(
    machine: Machine, records: list[Record], match: str, seat: str
) -> bytes | Refusal:
    """`{"game", "version", "frames": [{"snapshot", "step"}]}` in JSON. `seat` "" is a
    spectator.

    Refusals: too_large; replay_impossible: the game does not play its log back.
    """
    frames: list[Message] = []
    size = 0
    try:
        timeline = open_timeline(machine, records)
        if timeline.head >= FRAMES_MAX:
            return Refusal("too_large", TOO_LONG)
        for frame in timeline.frames():
            frames.append(told_frame(match, seat, _shown(machine, frame, seat)))
            size += len(msgspec.json.encode(frames[-1]))
            if size > BYTES_MAX:
                return Refusal("too_large", TOO_LONG)
    except EngineError:
        return Refusal("replay_impossible", IMPOSSIBLE)
    game = machine.game
    return msgspec.json.encode(
        {"game": game.name, "version": game.version, "frames": frames}
    )


def _shown(machine: Machine, frame: Frame, seat: str) -> Mapping[str, Any]:
    """
    Raises:
        EngineError: The game's view or `redact` failed.
    """
    machine = frame.machine or machine
    snapshot = frame.snapshot
    view = (
        machine.player_view(snapshot, seat) if seat else machine.public_view(snapshot)
    )
    if frame.step is not None:
        return shown_step(machine.game, frame.step, seat or None, view)
    return {
        "revision": snapshot.revision,
        "kind": "initial",
        "state": snapshot.position.name,
        "turn": snapshot.position.turn,
        "active_players": snapshot.derived.active_players,
        "deadline": snapshot.derived.control_meta.deadline,
        "result": snapshot.meta.result,
        "told": None,
        "view": view,
        "shown": shown_derived(machine.game, snapshot),
    }
