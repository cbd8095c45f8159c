"""What the engine costs: CPU time of whole steps, sessions included.

Each game is played by a session, by hand without an engine (the floor), and by the
rival on Node and on bun, all in turn in one run. By hand means: the same calls, rules
and refusals, a state copied on write, and moves kept in a list, but
nothing that is protected, checked, explained or digested.

The rival's rows are in steps per second of CPU time, so that their ratio says how many
times faster the engine is. The garbage collectors of all run as they like.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Literal, NamedTuple

from hotseat.engine.definition import Game
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.engine.machine import compile_game
from hotseat.engine.session import Session, create_session
from hotseat.engine.snapshot import Snapshot
from hotseat.engine.step import Batch

from . import bare_tic_tac_toe as bare
from .board import SIDE_2KB, SIDE_20KB, SIDE_LOG, BareBoard, board
from .rival import Absent, Rival, Runtime, find_rival
from .row import Row, pairs, row_of, take_turns

__all__ = [
    "engine_20kb",
    "engine_2kb",
    "engine_core",
    "engine_create",
    "engine_g_size",
    "engine_log_10",
    "engine_log_1000",
    "engine_log_10000",
    "engine_log_length",
    "engine_tic_tac_toe",
]

MATCH = {"players": ["0", "1"]}
ROUNDS = 15
ROUNDS_ALONE = 25
"""Where no rival takes its time."""

GAMES = 100
STEPS = 300
SESSIONS = 300
"""In one timed block."""

FLOOR_GOAL = 10.0
NODE_GOAL, NODE_STRETCH = 4.0, 6.0
BUN_STRETCH = 2.0
BY_HAND = "the same by hand, without an engine"


class _Asked(NamedTuple):
    """What a rival is asked for: to warm up, and in each block."""

    scenario: str
    warm: int
    block: int


def engine_tic_tac_toe() -> list[Row]:
    """A whole step of tic-tac-toe: matched, applied, frozen, derived, recorded."""
    return _compared(
        "engine_tic_tac_toe",
        _tic_tac_toe_us,
        _bare_tic_tac_toe_us,
        _Asked("tic_tac_toe", 400, 100),
        goal=FLOOR_GOAL,
    )


def engine_core() -> list[Row]:
    """The same step in the pure core alone: no session, no record, no digest."""
    machine = compile_game(tic_tac_toe)
    start = machine.start(MATCH, "seed", 0)

    def play() -> None:
        for _ in range(GAMES):
            snapshot: Snapshot = start
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

    def by_hand() -> None:
        for _ in range(GAMES):
            match: Any = bare.new_match()
            for number, cell in enumerate(bare.MOVES):
                match = bare.place(match, str(number % 2), cell)
            assert match["result"] is not None

    return [
        pairs(
            "engine_core",
            "us",
            lambda: _cpu_us(play, GAMES * len(bare.MOVES)),
            lambda: _cpu_us(by_hand, GAMES * len(bare.MOVES)),
            floor_is="the same by hand, moves not kept",
            rounds=ROUNDS_ALONE,
            goal=FLOOR_GOAL,
        )
    ]


def engine_2kb() -> list[Row]:
    """A step of a match whose G is 2 KB of JSON, returned anew and through a draft."""
    return _board_rows("2kb", SIDE_2KB, 200)


def engine_20kb() -> list[Row]:
    """A step of a match whose G is 20 KB of JSON."""
    return _board_rows("20kb", SIDE_20KB, 60)


def engine_g_size() -> list[Row]:
    """A step on 20 KB beside one on 2 KB: the cost of what changes, not of all of G."""
    rows = []
    for name, drafts in (("engine_g_size", False), ("engine_g_size_draft", True)):
        small, large = board(SIDE_2KB, drafts=drafts), board(SIDE_20KB, drafts=drafts)
        rows.append(
            pairs(
                name,
                "us",
                _board_us(large, SIDE_20KB),
                _board_us(small, SIDE_2KB),
                floor_is="the same step with a G of 2 KB",
                rounds=ROUNDS_ALONE,
                goal=1.5,
            )
        )
    return rows


def engine_log_10() -> list[Row]:
    """A step of a match that has a log of 10 records."""
    return _log_rows(10, 200)


def engine_log_1000() -> list[Row]:
    """A step of a match that has a log of 1,000 records."""
    return _log_rows(1_000, 200)


def engine_log_10000() -> list[Row]:
    """A step of a match that has a log of 10,000 records."""
    return _log_rows(10_000, 100)


def engine_log_length() -> list[Row]:
    """A step at log length 10,000 beside one at 10."""
    game = board(SIDE_LOG)
    old = _played(game, SIDE_LOG, 10_000)
    return [
        pairs(
            "engine_log_length",
            "us",
            lambda: _bumps_us(old, SIDE_LOG),
            lambda: _bumps_us(_played(game, SIDE_LOG, 10), SIDE_LOG),
            floor_is="the same step with a log of 10 records",
            rounds=ROUNDS_ALONE,
            goal=1.25,
        )
    ]


def engine_create() -> list[Row]:
    """Creating a session: match checked, every state probed, first record sealed."""

    def create() -> float:
        kept: list[Session] = []

        def run() -> None:
            for _ in range(SESSIONS):
                kept.append(create_session(tic_tac_toe, MATCH))

        return _cpu_us(run, SESSIONS)

    def by_hand() -> float:
        kept: list[object] = []

        def run() -> None:
            for _ in range(SESSIONS):
                match = bare.BareMatch()
                match.log.append({"match": dict(MATCH)})
                kept.append(match)

        return _cpu_us(run, SESSIONS)

    asked = _Asked("create", 1_000, SESSIONS)
    return _compared("engine_create", create, by_hand, asked, goal=None)


def _compared(
    name: str,
    measure: Callable[[], float],
    floor: Callable[[], float],
    asked: _Asked,
    *,
    goal: float | None,
    variants: dict[str, Callable[[], float]] | None = None,
) -> list[Row]:
    """A row beside the floor for it and each variant, and one beside each rival."""
    ours = {name: measure, **(variants or {})}
    measures = {**ours, BY_HAND: floor}
    absent: dict[Runtime, str] = {}
    runtimes: tuple[Runtime, ...] = ("node", "bun")
    with ExitStack() as stack:
        for runtime in runtimes:
            try:
                rival = stack.enter_context(find_rival(runtime))
                rival.step_us(asked.scenario, asked.warm)
            except Absent as why:
                absent[runtime] = f"rival absent: {why}"
            else:
                measures[runtime] = _asking(rival, asked)
        taken = take_turns(measures, ROUNDS)
    rows = [
        row_of(each, "us", taken[each], taken[BY_HAND], floor_is=BY_HAND, goal=goal)
        for each in ours
    ]
    for runtime in runtimes:
        rivals = taken.get(runtime)
        rows.append(
            row_of(
                f"{name}_vs_{runtime}",
                "steps/s",
                _per_second(taken[name]),
                None if rivals is None else _per_second(rivals),
                floor_is=absent.get(runtime, f"boardgame.io on {runtime}"),
                better="higher",
                goal=NODE_GOAL if runtime == "node" else None,
                stretch=NODE_STRETCH if runtime == "node" else BUN_STRETCH,
            )
        )
    return rows


def _asking(rival: Rival, asked: _Asked) -> Callable[[], float]:
    return lambda: rival.step_us(asked.scenario, asked.block)


def _per_second(step_us: list[float]) -> list[float]:
    return [1_000_000 / each for each in step_us]


def _board_rows(size: Literal["2kb", "20kb"], side: int, count: int) -> list[Row]:
    return _compared(
        f"engine_{size}",
        _board_us(board(side), side),
        _bare_board_us(side, 10),
        _Asked(size, 4 * count, count),
        goal=None,
        variants={f"engine_{size}_draft": _board_us(board(side, drafts=True), side)},
    )


def _log_rows(length: int, count: int) -> list[Row]:
    game = board(SIDE_LOG)
    kept = None if length == 10 else _played(game, SIDE_LOG, length)

    def measure() -> float:
        return _bumps_us(kept or _played(game, SIDE_LOG, length), SIDE_LOG)

    floor = _bare_board_us(SIDE_LOG, length)
    asked = _Asked(f"log_{length}", 4 * count, count)
    return _compared(f"engine_log_{length}", measure, floor, asked, goal=None)


def _tic_tac_toe_us() -> float:
    sessions = [create_session(tic_tac_toe, MATCH) for _ in range(GAMES)]

    def play() -> None:
        for session in sessions:
            for number, cell in enumerate(bare.MOVES):
                session.apply(str(number % 2), "place", {"cell": cell}, now=number)

    spent = _cpu_us(play, GAMES * len(bare.MOVES))
    assert all(session.result is not None for session in sessions)
    return spent


def _bare_tic_tac_toe_us() -> float:
    matches = [bare.BareMatch() for _ in range(GAMES)]

    def play() -> None:
        for match in matches:
            for number, cell in enumerate(bare.MOVES):
                match.apply(str(number % 2), "place", {"cell": cell}, now=number)

    spent = _cpu_us(play, GAMES * len(bare.MOVES))
    assert all(match.state["result"] is not None for match in matches)
    return spent


def _board_us(game: Game, side: int) -> Callable[[], float]:
    return lambda: _bumps_us(_played(game, side, 10), side)


def _played(game: Game, side: int, length: int) -> Session:
    session = create_session(game, MATCH)
    _bump(session, side, length)
    return session


def _bumps_us(match: Session | BareBoard, side: int) -> float:
    return _cpu_us(lambda: _bump(match, side, STEPS), STEPS)


def _bump(match: Session | BareBoard, side: int, steps: int) -> None:
    for number in range(steps):
        answer = match.apply(
            str(number % 2),
            "bump",
            {"row": number % side, "column": 7 * number % side},
            now=number,
        )
        assert isinstance(answer, (Batch, dict)), answer


def _bare_board_us(side: int, length: int) -> Callable[[], float]:
    match = BareBoard(side)
    _bump(match, side, length)
    return lambda: _bumps_us(match, side)


def _cpu_us(run: Callable[[], object], steps: int) -> float:
    """CPU time of one step in microseconds."""
    gc.collect()
    began = time.process_time_ns()
    run()
    return (time.process_time_ns() - began) / steps / 1000
