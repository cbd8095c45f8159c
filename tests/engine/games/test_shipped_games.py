"""Every game that ships: it ends, and its legal actions are exactly what it takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import msgspec
import pytest

from hotseat.engine import Game, Refusal, Session, canonical_bytes, freeze
from hotseat.engine.games import (
    battleship,
    chess,
    connect_four,
    crazy_eights,
    liars_dice,
    pig_dice,
    reversi,
    rock_paper_scissors,
    sealed_auction,
    tic_tac_toe,
)
from hotseat.engine.testing import check_game, random_playout

GAMES = [
    pytest.param(module.game, id=module.game.name)
    for module in (
        tic_tac_toe,
        connect_four,
        rock_paper_scissors,
        pig_dice,
        reversi,
        sealed_auction,
        battleship,
        crazy_eights,
        liars_dice,
    )
]
SLOW = [pytest.param(chess.game, id="chess", marks=pytest.mark.slow)]

SQUARES = [file + rank for file in "abcdefgh" for rank in "12345678"]

# Every payload of the right shape, by game, and more.
SHAPED: dict[str, list[Any]] = {
    "tic-tac-toe": [{"cell": cell} for cell in range(-1, 10)],
    "connect-four": [{"column": column} for column in range(-1, 8)],
    "rock-paper-scissors": [
        {"hand": hand} for hand in ("rock", "paper", "scissors", "well", None)
    ],
    "pig-dice": [],
    "reversi": [{"cell": cell} for cell in range(-1, 65)],
    "sealed-auction": [{"amount": amount} for amount in range(-1, 14)],
    "battleship": [
        *({"cell": cell} for cell in range(-1, 65)),
        *({"cell": c, "across": a} for c in range(-1, 65) for a in (True, False)),
    ],
    "crazy-eights": [
        {"card": rank + suit, "suit": named}
        for rank in "23456789TJQKA1"
        for suit in "CDHSX"
        for named in ("C", "D", "H", "S", "X", None)
    ],
    "liars-dice": [
        {"count": count, "face": face} for count in range(32) for face in range(8)
    ],
    "chess": [
        {"uci": a + b + more}
        for a in SQUARES
        for b in SQUARES
        for more in (("", *"nbrqk") if b[1] in "18" else ("",))
    ],
}

# Payloads of no game's shape.
SHAPELESS: list[Any] = [
    None,
    {},
    "rock",
    0,
    {"cell": True},
    {"cell": "1"},
    {"cell": 1.5},
    {"cell": 4, "more": 1},
    {"column": [3]},
]


@pytest.mark.parametrize("game", [*GAMES, *SLOW])
def test_game_conforms(game: Game) -> None:
    """The game keeps what every game owes to its hosts."""
    check_game(game, seeds=map(str, range(1 if game is chess.game else 4)))


@pytest.mark.parametrize("game", [*GAMES, *SLOW])
def test_random_matches_end(game: Game) -> None:
    """Random players always come to a result: a winner who sits there, or a draw."""
    for seed in range(3 if game is chess.game else 25):
        finished = random_playout(game, str(seed))
        winner = finished.result.get("winner")
        assert finished.result in ({"draw": True}, {"winner": winner})
        assert winner is None or winner in game.player_ids
        assert finished.snapshot.position.name in ("over", "__gamekit_finished")
        assert finished.snapshot.derived.active_players == []


@pytest.mark.parametrize("game", GAMES)
def test_legal_actions_are_what_is_accepted(game: Game) -> None:
    """An action is legal if and only if it is accepted; looked at here and there."""
    for seed in "ab":
        for session in some_states_of(game, seed):
            for seat in session.snapshot.derived.active_players:
                assert accepted(session, seat) == legal(session, seat)


@pytest.mark.slow
def test_legal_moves_of_chess_are_what_is_accepted() -> None:
    """Of all the moves that can be written down."""
    for session in some_states_of(chess.game, "moves", every=100):
        for seat in session.snapshot.derived.active_players:
            assert accepted(session, seat) == legal(session, seat)


@pytest.mark.parametrize("game", GAMES)
def test_refused_moves_have_a_reason(game: Game) -> None:
    """Every move of the right shape that is refused in turn says why."""
    for session in some_states_of(game, "reasons"):
        for seat in session.snapshot.derived.active_players:
            for event in events_of(session):
                for payload in (*SHAPELESS, *SHAPED[game.name]):
                    answer = attempt(session, seat, event, payload)
                    if isinstance(answer, Refusal) and answer.code == "invalid_event":
                        assert answer.reason, (seat, event, payload)


@pytest.mark.parametrize("game", GAMES)
def test_label_says_what_happens(game: Game) -> None:
    """Every state has a label for people."""
    for session in states_of(game, "labels"):
        assert session.snapshot.derived.control_meta.label


def states_of(game: Game, seed: str) -> Iterator[Session]:
    """One session, standing at every action of a random match in turn."""
    finished = random_playout(game, seed)
    session = Session(finished.machine, finished.machine.start(match(game), seed, 0))
    yield session
    for record in finished.log[1:]:
        given = record.input
        session.apply(
            given["seat"], given["event"], given["payload"], now=record.time_ms
        )
        yield session
    assert session.result == finished.result


def some_states_of(game: Game, seed: str, every: int = 16) -> Iterator[Session]:
    """As `states_of`, at one state in `every`: the payloads to try are many."""
    return islice(states_of(game, seed), 0, None, every)


def events_of(session: Session) -> set[str]:
    """The events that the state knows at all."""
    name = session.snapshot.position.name
    edges = session.game.transitions
    return {edge.event for edge in edges if edge.event and edge.source == name}


def match(game: Game) -> dict[str, Any]:
    return {"players": list(game.player_ids)}


def attempt(session: Session, seat: str, event: str, payload: Any) -> Any:
    """What the pure core answers; the session itself stays where it is."""
    return session.machine.apply(
        session.snapshot, seat, event, payload, now=0, action_id="try"
    )


def accepted(session: Session, seat: str) -> set[tuple[str, bytes]]:
    return {
        (event, encoded(payload))
        for event in session.game.events
        for payload in (*SHAPELESS, *SHAPED[session.game.name])
        if not isinstance(attempt(session, seat, event, payload), Refusal)
    }


def legal(session: Session, seat: str) -> set[tuple[str, bytes]]:
    return {(event, encoded(p)) for event, p in session.legal_actions(seat)}


def encoded(payload: Any) -> bytes:
    return canonical_bytes(freeze(payload))


def test_payloads_are_typed() -> None:
    """A payload of the wrong shape is refused before the game sees it."""
    session = next(states_of(tic_tac_toe.game, "typed"))
    answer = attempt(session, "0", "place", {"cell": 9})
    assert isinstance(answer, Refusal)
    assert answer.code == "invalid_payload"
    assert "cell" in answer.message
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"cell": 4, "more": 1}, tic_tac_toe.Place)
