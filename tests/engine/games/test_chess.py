"""Chess: the rules are the library's; G is text, and remembers repetitions."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from hotseat.engine.games.chess import IDLE_TO_CLAIM, IDLE_TO_END, game, render
from hotseat.engine.testing import ScriptedMatch, script

from .standing import standing

SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")  # leads back to where it began


def moved(match: ScriptedMatch, *moves: str) -> ScriptedMatch:
    for uci in moves:
        (seat,) = match.session.snapshot.derived.active_players
        match.play(seat, "move", {"uci": uci})
    return match


def at(fen: str) -> ScriptedMatch:
    G = {"fen": fen, "seen": [fen[:-4]], "last": None, "claimed": False}
    return standing(game, G, state="play", turn=1 if " w " in fen else 2)


def test_mate_wins() -> None:
    """The shortest of all matches."""
    match = moved(script(game), "f2f3", "e7e5", "g2g4", "d8h4")
    match.expect(state="over", result={"winner": "black"}, label="black has won")
    match.sees(None, {"toMove": None, "lastMove": "d8h4"})


@pytest.mark.parametrize(
    ("fen", "uci", "after"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1c1", "2KR3R b kq"),
        ("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 2", "e5d6", "4k3/8/3P4/8/"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8n", "N3k3/8/"),
    ],
    ids=["castling", "en passant", "promotion"],
)
def test_special_moves_are_played(fen: str, uci: str, after: str) -> None:
    """All that the library knows."""
    assert after in moved(at(fen), uci).view()["fen"]


@pytest.mark.parametrize(
    ("fen", "uci", "reason"),
    [
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "e1e3", "illegal_move"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "e1e1", "illegal_move"),
        ("4k3/8/8/8/8/8/8/4K3 w - - 0 1", "e8e7", "illegal_move"),
        ("4k3/P7/8/8/8/8/8/4K3 w - - 0 1", "a7a8", "illegal_move"),
        ("4k3/4r3/8/8/8/8/4R3/4K3 w - - 0 1", "e2d2", "leaves_the_king_in_check"),
    ],
)
def test_illegal_moves_are_refused(fen: str, uci: str, reason: str) -> None:
    """With a reason."""
    at(fen).refused("white", "move", {"uci": uci}, reason=reason)


@pytest.mark.parametrize(
    ("fen", "uci"),
    [
        ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "f1f7"),
        ("4k3/8/8/8/8/8/3p4/4K3 w - - 0 1", "e1d2"),
        ("4k3/8/8/8/8/8/8/R3K3 w - - 149 100", "a1a2"),
    ],
    ids=["stalemate", "dead material", "75 moves"],
)
def test_what_cannot_go_on_is_a_draw(fen: str, uci: str) -> None:
    """By itself."""
    moved(at(fen), uci).expect(state="over", result={"draw": True}, label="Draw")


def test_a_third_repetition_may_be_claimed() -> None:
    """By whoever is to move; the fifth ends the match."""
    match = moved(script(game), *SHUFFLE).sees(None, {"timesSeen": 2})
    match.refused("white", "claim_draw", reason="nothing_to_claim")
    moved(match, *SHUFFLE).sees(None, {"timesSeen": 3})
    assert ("claim_draw", None) in match.session.legal_actions("white")
    moved(match, *SHUFFLE, *SHUFFLE).expect(result={"draw": True})
    claimed = moved(script(game), *SHUFFLE, *SHUFFLE).play("white", "claim_draw")
    claimed.expect(state="over", result={"draw": True}, label="Draw")


def test_positions_before_a_pawn_moved_are_forgotten() -> None:
    """They cannot come again, and G stays small."""
    match = moved(script(game), *SHUFFLE, "e2e4")
    assert len(match.session.snapshot.G["seen"]) == 1
    assert IDLE_TO_END == 150  # so many positions at most, and this one


def test_fifty_idle_moves_may_be_claimed() -> None:
    """Of both sides together a hundred."""
    match = at(f"4k3/8/8/8/8/8/8/R3K3 w - - {IDLE_TO_CLAIM - 1} 80")
    match.refused("white", "claim_draw", reason="nothing_to_claim")
    moved(match, "a1a2").play("black", "claim_draw").expect(result={"draw": True})


def test_a_check_is_said() -> None:
    """In the label."""
    match = moved(at("4k3/8/8/8/8/8/8/R3K3 w - - 0 1"), "a1a8")
    match.expect(label="black to move, in check")


def test_the_board_is_drawn() -> None:
    """From the view alone."""
    rows = render(script(game).view("white")).splitlines()
    assert rows[0] == "8 r n b q k b n r"
    assert rows[-1] == "  a b c d e f g h"


def test_without_the_package_one_error_says_what_to_install() -> None:
    """Importing the game fails; nothing else of the engine needs the package."""
    hidden = "import sys; sys.modules['chess'] = None; import hotseat.engine.games."

    def imported(name: str) -> Any:
        return subprocess.run(
            [sys.executable, "-c", hidden + name],
            capture_output=True,
            text=True,
            check=False,
        )

    assert imported("reversi").returncode == 0
    *_, error = imported("chess").stderr.splitlines()
    assert error == (
        "ModuleNotFoundError: the game of chess needs the package of the same name: "
        "pip install 'hotseat[chess]'"
    )
