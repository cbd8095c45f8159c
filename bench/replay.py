"""What looking at a saved match costs, beside playing it."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from functools import partial

from hotseat.engine.inspector.inspector import Inspector
from hotseat.engine.machine import compile_game
from hotseat.engine.replay.envelope import read_envelope, write_envelope
from hotseat.engine.replay.log_file import read_log_file, write_log_file
from hotseat.engine.replay.save import save_session
from hotseat.engine.replay.timeline import Timeline, materialize, open_timeline
from hotseat.engine.session import Session, create_session
from hotseat.engine.step import Batch

from .board import SIDE_LOG, board
from .row import Row, pairs

__all__ = [
    "replay_envelope_jump",
    "replay_envelope_open",
    "replay_jump",
    "replay_materialize",
    "replay_open",
]

MATCH = {"players": ["0", "1"]}
SHORT, LONG = 1_000, 10_000
"""Actions."""

ROUNDS = 9
JUMPS = 20

GAME = board(SIDE_LOG)


def replay_materialize() -> list[Row]:
    """Play a saved match back and look at every frame."""
    log = _played(SHORT).log

    def look() -> None:
        assert sum(1 for _ in open_timeline(GAME, log).frames()) == SHORT + 1

    return [
        pairs(
            "replay_materialize",
            "ms",
            lambda: _cpu_ms(look),
            lambda: _cpu_ms(lambda: _played(SHORT)),
            floor_is=f"playing the match of {SHORT:,} actions",
            rounds=ROUNDS,
            goal=1.2,
        )
    ]


def replay_open() -> list[Row]:
    """Open an exported log in the inspector, and look at its first and last frame."""
    data = _exported()

    def look() -> None:
        inspector = Inspector(_opened(data))
        inspector.frame(0)
        inspector.frame(inspector.head)

    return [_beside_materialize("replay_open", data, lambda: _cpu_ms(look))]


def replay_jump() -> list[Row]:
    """Jump to any frame of a match that was just opened."""
    data = _exported()
    rng = random.Random("jump")

    def jumps() -> float:
        spent = 0.0
        for _ in range(JUMPS):
            timeline, wanted = _opened(data), rng.randint(0, LONG)
            spent += _cpu_ms(partial(timeline.frame, wanted))
        return spent / JUMPS

    return [_beside_materialize("replay_jump", data, jumps)]


def replay_envelope_open() -> list[Row]:
    """The same from an envelope, JSON text: its first frame."""
    text = _saved()

    def look() -> None:
        Inspector(open_timeline(GAME, read_envelope(text))).frame(0)

    return [_beside_envelope("replay_envelope_open", text, lambda: _cpu_ms(look))]


def replay_envelope_jump() -> list[Row]:
    """Jump to any frame of an envelope that was just opened."""
    text = _saved()
    rng = random.Random("jump")

    def jumps() -> float:
        spent = 0.0
        for _ in range(JUMPS):
            timeline = open_timeline(GAME, read_envelope(text))
            wanted = rng.randint(0, LONG)
            spent += _cpu_ms(partial(timeline.frame, wanted))
        return spent / JUMPS

    return [_beside_envelope("replay_envelope_jump", text, jumps)]


def _beside_envelope(name: str, text: str, measure: Callable[[], float]) -> Row:
    def floor() -> None:
        materialize(GAME, read_envelope(text))

    return _beside(name, measure, floor)


def _beside_materialize(name: str, data: bytes, measure: Callable[[], float]) -> Row:
    def floor() -> None:
        materialize(GAME, read_log_file(data).recording())

    return _beside(name, measure, floor)


def _beside(name: str, measure: Callable[[], float], floor: Callable[[], None]) -> Row:

    return pairs(
        name,
        "ms",
        measure,
        lambda: _cpu_ms(floor),
        floor_is=f"materializing the match of {LONG:,} actions",
        rounds=ROUNDS,
        goal=0.1,
    )


def _played(actions: int) -> Session:
    session = create_session(GAME, MATCH)
    for number in range(actions):
        cell = {"row": number % SIDE_LOG, "column": 7 * number % SIDE_LOG}
        batch = session.apply(str(number % 2), "bump", cell, now=number)
        assert isinstance(batch, Batch), batch
    return session


def _exported() -> bytes:
    return write_log_file(_played(LONG).log, compile_game(GAME))


def _saved() -> str:
    return write_envelope(save_session(_played(LONG)))


def _opened(data: bytes) -> Timeline:
    return open_timeline(GAME, read_log_file(data).recording())


def _cpu_ms(run: Callable[[], object]) -> float:
    gc.collect()
    began = time.process_time_ns()
    run()
    return (time.process_time_ns() - began) / 1e6
