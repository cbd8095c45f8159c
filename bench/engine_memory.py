"""What an idle session keeps in memory beside its G and its log."""

from __future__ import annotations

import gc
import tracemalloc

from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.engine.session import Session, create_session

from .row import Row, row_of

__all__ = ["engine_memory"]

SESSIONS = 1_000
BUDGET_BYTES = 2_560


def engine_memory() -> list[Row]:
    """Bytes of a session that waits for its third move, beyond G and log.

    Told from what becomes free when a thousand sessions go and their G and logs stay.
    """
    _sessions(10)
    gc.collect()
    tracemalloc.start()
    try:
        sessions = _sessions(SESSIONS)
        gc.collect()
        with_all = tracemalloc.get_traced_memory()[0]
        kept = [(session.snapshot.G, tuple(session.log)) for session in sessions]
        holding = tracemalloc.get_traced_memory()[0] - with_all
        sessions.clear()
        gc.collect()
        without = tracemalloc.get_traced_memory()[0] - holding
    finally:
        tracemalloc.stop()
    assert len(kept) == SESSIONS
    return [
        row_of(
            "engine_memory",
            "bytes",
            [(with_all - without) / SESSIONS],
            [BUDGET_BYTES],
            floor_is="what it may take: 2.5 KB",
            goal=1.0,
        )
    ]


def _sessions(count: int) -> list[Session]:
    """Sessions with nothing in common but the game, two moves old."""
    sessions = []
    for number in range(count):
        session = create_session(
            tic_tac_toe, {"players": ["0", "1"]}, seed=f"seed {number}", now=number
        )
        session.apply("0", "place", {"cell": 4}, now=1_000 + number)
        session.apply("1", "place", {"cell": 0}, now=2_000 + number)
        sessions.append(session)
    return sessions
