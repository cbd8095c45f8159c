"""What the engine costs: steps in CPU time, beside the same rules without an engine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from hotseat.engine.definition import Game, define_game, event, state, transition, views
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.engine.machine import Machine, compile_game
from hotseat.engine.session import Session, create_session
from hotseat.engine.snapshot import Snapshot
from hotseat.engine.step import Batch

from . import bare_tic_tac_toe as bare
from .row import Row, pairs

__all__ = [
    "engine_step_20kb",
    "engine_step_tic_tac_toe",
    "session_step_5000_moves",
    "session_step_tic_tac_toe",
]

MATCH = {"players": ["0", "1"]}
ROUNDS = 25
GAMES = 60
"""Games in one timed block."""

BOARD_ROWS, BOARD_COLUMNS = 64, 80
"""A board of about 20 KB of JSON."""


def engine_step_tic_tac_toe() -> Row:
    """One action through the pure core: matched, applied, frozen, derived."""
    machine = compile_game(tic_tac_toe)
    start = machine.start(MATCH, "seed", 0)

    def play() -> None:
        for _ in range(GAMES):
            _play(machine, start)

    return pairs(
        "engine_step_tic_tac_toe",
        "us",
        lambda: _cpu_us(play, GAMES * len(bare.MOVES)),
        _bare_step_us,
        floor_is="the same rules by hand, without an engine",
        rounds=ROUNDS,
        goal=10.0,
    )


def session_step_tic_tac_toe() -> Row:
    """One action of a session: the core's step, its record and its digest."""

    def measure() -> float:
        sessions = [create_session(tic_tac_toe, MATCH) for _ in range(GAMES)]

        def play() -> None:
            for session in sessions:
                for number, cell in enumerate(bare.MOVES):
                    session.apply(str(number % 2), "place", {"cell": cell}, now=number)

        spent = _cpu_us(play, GAMES * len(bare.MOVES))
        assert all(session.result is not None for session in sessions)
        return spent

    return pairs(
        "session_step_tic_tac_toe",
        "us",
        measure,
        _bare_step_us,
        floor_is="the same rules by hand, without an engine",
        rounds=ROUNDS,
        goal=18.0,
    )


def engine_step_20kb() -> Row:
    """A step of a 20 KB match costs what it changes, not what G holds."""
    small, large = (_bumping(rows) for rows in (1, BOARD_ROWS))
    return pairs(
        "engine_step_20kb",
        "us",
        lambda: _bump_us(large),
        lambda: _bump_us(small),
        floor_is="the same step with a G of one row",
        rounds=ROUNDS,
        goal=1.5,
    )


def session_step_5000_moves() -> Row:
    """The 5,000th action of a match costs what the first ones did."""
    game = _bumping(1)
    old = create_session(game, MATCH)
    for number in range(5_000):
        _bump(old, number)
    steps = range(200)

    def measure(session: Session) -> float:
        def play() -> None:
            for number in steps:
                _bump(session, number)

        return _cpu_us(play, len(steps))

    return pairs(
        "session_step_5000_moves",
        "us",
        lambda: measure(old),
        lambda: measure(create_session(game, MATCH)),
        floor_is="the same step in a new match",
        rounds=ROUNDS,
        goal=1.2,
    )


def _play(machine: Machine, snapshot: Snapshot) -> None:
    for number, cell in enumerate(bare.MOVES):
        batch = machine.apply(
            snapshot,
            str(number % 2),
            "place",
            {"cell": cell},
            now=number,
            action_id="action",
        )
        assert isinstance(batch, Batch), batch
        snapshot = batch.snapshot
    assert snapshot.meta.result is not None


def _bare_step_us() -> float:
    def play() -> None:
        for _ in range(GAMES):
            match = bare.new_match()
            for number, cell in enumerate(bare.MOVES):
                after = bare.place(match, str(number % 2), cell)
                assert not isinstance(after, str)
                match = after
            assert match["result"] is not None

    return _cpu_us(play, GAMES * len(bare.MOVES))


def _bumping(rows: int) -> Game:
    """A game of one endless move: add one to a cell of a board."""
    return define_game(
        name=f"bumping-{rows}",
        max_players=2,
        events={"bump": event(int)},
        initial="play",
        setup=lambda ctx: {"rows": [[100] * BOARD_COLUMNS for _ in range(rows)]},
        states={"play": state(active_players=["0"])},
        transitions=[
            transition(
                "bump",
                "play",
                "play",
                lambda ctx: {"G": _bumped(ctx.G, ctx.event.payload)},
            )
        ],
        views=views(public=lambda ctx: None),
    )


def _bumped(G: Any, number: int) -> dict[str, Any]:
    rows = [*G["rows"]]
    row = rows[number % len(rows)] = [*rows[number % len(rows)]]
    row[number % BOARD_COLUMNS] += 1
    return {**G, "rows": rows}


def _bump(session: Session, number: int) -> None:
    batch = session.apply("0", "bump", number, now=number)
    assert isinstance(batch, Batch), batch


def _bump_us(game: Game) -> float:
    session = create_session(game, MATCH)
    machine, snapshot = session.machine, session.snapshot
    steps = range(300)

    def play() -> None:
        after = snapshot
        for number in steps:
            batch = machine.apply(
                after, "0", "bump", number, now=number, action_id="action"
            )
            assert isinstance(batch, Batch), batch
            after = batch.snapshot

    return _cpu_us(play, len(steps))


def _cpu_us(run: Callable[[], object], steps: int) -> float:
    """CPU time of one step in microseconds, without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        began = time.process_time_ns()
        run()
        return (time.process_time_ns() - began) / steps / 1000
    finally:
        gc.enable()
