"""The conformance suite of a game: what every game owes to those who host it.

Random matches are played, and looked at closely:
- the game validates without errors, and may be hosted;
- its legal actions are accepted, its matches end with a result;
- no view, and no list of legal actions, ever fails, for any seat in any state;
- what is refused changes nothing: strangers, players whose turn it is not, unknown
  events, payloads that are junk;
- the same seed gives the same match, and its log replays to the same digests;
- nothing changes a G in place, behind the methods that refuse to;
- what it imagines behind a view looks like that view, with the same legal actions;
- the invariants that its author gives hold in every state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..definition import Game
from ..errors import EngineError
from ..jsonvalue import Json
from ..machine import Machine
from ..playback import replay_log
from ..refusal import Refusal
from ..session import Session, session_from_snapshot
from ..snapshot import Snapshot
from ..validate import hostable, validate
from .invariant import Invariant
from .playout import playout_seats, random_playout
from .soundness import Seals
from .states import match_states
from .supposition import supposition_faults
from .transcript import transcript

__all__ = ["GameFault", "check_game"]

STRANGER = "nobody of this name"
JUNK: tuple[Json, ...] = ("junk", -1, [[]], {"junk": {"junk": [None]}})


class GameFault(AssertionError):
    """A game does not do what it must; the message says what, and for which seed."""


def check_game(
    game: Game,
    *,
    seeds: Iterable[str] = ("a", "b", "c", "d"),
    invariants: Sequence[Invariant] = (),
) -> None:
    """Play a match for each seed and check all of it.

    `invariants` must hold at the start and after every action.

    Raises:
        GameFault: The first thing that is wrong, with the match that shows it.
    """
    unfit = hostable(game)
    if unfit is not None:
        raise GameFault(f"{unfit.message} {unfit.hint or ''}".rstrip())
    for number, seed in enumerate(seeds):
        players = playout_seats(game, number)
        try:
            for fault in _faults(game, seed, list(players), invariants):
                raise GameFault(f"{game.name}, seed {seed!r}: {fault}")
        except EngineError as error:
            raise GameFault(f"{game.name}, seed {seed!r}: {error}") from error


def _faults(
    game: Game, seed: str, players: list[str], invariants: Sequence[Invariant]
) -> Iterator[str]:
    report = validate(game, {"players": players}, seed=seed)
    yield from (
        f"{diagnostic.message} {diagnostic.hint or ''}".rstrip()
        for diagnostic in report.errors
    )
    finished = random_playout(game, seed, players=players, invariants=invariants)
    again = random_playout(game, seed, players=players)
    if finished.digest != again.digest:
        yield "the same seed gave two different matches"
    if replay_log(game, finished.log).digest != finished.digest:
        yield "its log replays to another digest"
    seals = Seals()
    for _, session in match_states(finished):
        for fault in (*_state_faults(session), *supposition_faults(session)):
            yield f"{fault}\n{transcript(session)}"
        seals.add(session.snapshot)
    yield from seals.faults()


def _state_faults(session: Session) -> Iterator[str]:
    """Look at one state through every pair of eyes, and try what must be refused."""
    snapshot, digest = session.snapshot, session.digest
    players: list[str] = snapshot.meta.match["players"]
    session.public_view()
    for seat in players:
        session.player_view(seat)
        session.legal_actions(seat)
    active = snapshot.derived.active_players
    for event in session.game.events:
        for seat in (STRANGER, *players):
            if seat in active and session.result is None:
                yield from _junk_faults(session.machine, snapshot, seat, event)
            elif not isinstance(_try(session, seat, event), Refusal):
                yield f"{event!r} was accepted from seat {seat!r}, who may not act"
    for seat in active:
        if not isinstance(_try(session, seat, "no such event"), Refusal):
            yield "an undeclared event was accepted"
    if session.snapshot is not snapshot or session.digest != digest:
        yield f"a refusal changed something at revision {snapshot.revision}"
    restored = session_from_snapshot(session.game, snapshot).snapshot
    if restored.derived != snapshot.derived:
        yield f"what derives at revision {snapshot.revision} is not of the state alone"


def _junk_faults(
    machine: Machine, snapshot: Snapshot, seat: str, event: str
) -> Iterator[str]:
    """Junk may be refused or accepted, but must not make the game fail."""
    for payload in JUNK:
        answer = machine.apply(
            snapshot, seat, event, payload, now=snapshot.meta.now, action_id="junk"
        )
        if isinstance(answer, Refusal) and answer.fault is not None:
            yield (
                f"{event!r} with {payload!r} makes the game fail with {answer.code} "
                f"({answer.fault.exception_type}: {answer.fault.message}); declare the "
                "payload's type"
            )


def _try(session: Session, seat: str, event: str) -> object:
    return session.apply(seat, event, None, now=session.snapshot.meta.now)
