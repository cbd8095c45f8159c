"""Plays a game to its end with players who choose at random.

The choices come from the engine's own generator, seeded by the playout's seed and apart
from the match's: the same seed always gives the same match.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..definition import Game
from ..errors import EngineError
from ..jsonvalue import Json
from ..refusal import Refusal
from ..rng import Rng, initial_rng, rng_from
from ..session import Session, create_session
from ..step import Batch
from .invariant import Invariant, broken_invariant
from .transcript import action_text, transcript

__all__ = ["PlayoutError", "playout_seats", "random_playout"]

ACTIONS_MAX = 10_000  # a game that takes longer is taken to be one that never ends
ACTION_EVERY_MS = 10


class PlayoutError(EngineError):
    """A playout came to no end, or broke an invariant: the message says where it
    stands, why, and how it came there.
    """

    code = "playout_failed"


def random_playout(
    game: Game,
    seed: str = "default",
    *,
    players: Sequence[str] | None = None,
    config: Json = None,
    actions_max: int = ACTIONS_MAX,
    invariants: Sequence[Invariant] = (),
) -> Session:
    """A finished match between random players.

    All seats of the pool play unless `players` names some. When nobody has a legal
    action, the deadline passes. `invariants` are checked at the start and after every
    action.

    Raises:
        PlayoutError: A legal action was refused, nobody can go on, there is no end, or
            an invariant does not hold.
        InvalidGameError, InvalidMatchError: The match cannot start.
    """
    match: dict[str, Json] = {"players": list(players or game.player_ids)}
    if config is not None:
        match["config"] = config
    session = create_session(game, match, seed=seed)
    rng = rng_from(initial_rng(f"playout {seed}"))
    for number in range(1, actions_max + 1):
        problem = broken_invariant(session, invariants)
        if problem is not None:
            raise _failed(session, problem)
        if session.result is not None:
            return session
        _advance(session, rng, now=number * ACTION_EVERY_MS)
    raise _failed(session, f"{game.name} has no result after {actions_max} actions")


def playout_seats(game: Game, number: int) -> Sequence[str]:
    """The seats of the n-th playout: every allowed number of players in turn."""
    counts = game.max_players - game.min_players + 1
    return game.player_ids[: game.min_players + number % counts]


def _advance(session: Session, rng: Rng, *, now: int) -> None:
    choices = [
        (seat, event, payload)
        for seat in session.snapshot.derived.active_players
        for event, payload in session.legal_actions(seat)
    ]
    answer: Batch | Refusal | None
    if choices:
        seat, event, payload = rng.pick(choices)
        answer = session.apply(seat, event, payload, now=now)
        what = f"the legal action {action_text(seat, event, payload)}"
    else:
        deadline = session.next_deadline
        answer = None if deadline is None else session.fire_timeout(max(deadline, now))
        what = "the timeout, for want of a legal action,"
    if answer is None:
        raise _failed(session, f"nobody can go on in state {_place(session)}")
    if isinstance(answer, Refusal):
        fault = answer.fault
        raise _failed(
            session,
            f"{what} was refused in state {_place(session)}: "
            f"{answer.reason or answer.code}: {answer.message}"
            + (f"\n{fault.traceback.rstrip()}" if fault else ""),
        )


def _failed(session: Session, problem: str) -> PlayoutError:
    return PlayoutError(f"{problem}\n{transcript(session)}")


def _place(session: Session) -> str:
    name = session.snapshot.position.name
    return f'"{name}" of {session.game.name} at revision {session.revision}'
