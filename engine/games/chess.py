"""Chess: rules that come from a library, kept in G as text.

The rules are those of the `chess` package (python-chess), which is pure: it reads no
clock and does no I/O. G holds the position as FEN, and the positions since the last
move that cannot be taken back, for repetitions. A board is made anew for each question
and never kept.

The match ends by mate, stalemate, dead material, the fifth repetition or 75 moves
without a capture or a pawn's move; from the third repetition or 50 moves on, whoever is
to move may claim a draw. What players settle between them, to resign or to agree on a
draw, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct

from ..context import ImagineContext, ResolverContext, StateContext
from ..definition import (
    Rejected,
    define_game,
    event,
    reject,
    state,
    transition,
    views,
)
from ..jsonvalue import Json
from ..turn import active_round_robin, current_player

try:
    import chess
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "the game of chess needs the package of the same name: "
        "pip install 'hotseat[chess]'",
        name=error.name,
    ) from None

__all__ = ["Move", "game", "render"]

REPEATED_TO_CLAIM, REPEATED_TO_END = 3, 5
IDLE_TO_CLAIM, IDLE_TO_END = 100, 150  # moves of either side


class Move(Struct, frozen=True, forbid_unknown_fields=True):
    """A move as UCI writes it: e2e4, e1g1 to castle, e7e8q to promote."""

    uci: Annotated[str, Meta(pattern="^[a-h][1-8][a-h][1-8][nbrq]?$")]


class Moved(NamedTuple):
    """What a move leads to."""

    board: chess.Board
    G: dict[str, Json]


def setup(position: chess.Board) -> dict[str, Json]:
    """G at a position before which nothing counts."""
    fen = position.fen()
    return {"fen": fen, "seen": [repetition_key(fen)], "last": None, "claimed": False}


def repetition_key(fen: str) -> str:
    """What must be alike for two positions to be one: all but the counts of moves."""
    return " ".join(fen.split()[:4])


def moved(ctx: ResolverContext[Move]) -> Moved | Rejected:
    """The board after the move."""
    board = chess.Board(ctx.G["fen"])
    uci = ctx.event.payload.uci
    if uci[:2] == uci[2:4]:
        return reject("illegal_move")  # the library raises where nothing moves
    move = chess.Move.from_uci(uci)
    if not board.is_legal(move):
        bare = board.is_pseudo_legal(move)
        return reject("leaves_the_king_in_check" if bare else "illegal_move")
    seen: Sequence[str] = [] if board.is_irreversible(move) else ctx.G["seen"]
    board.push(move)
    fen = board.fen()
    G = {
        "fen": fen,
        "seen": [*seen, repetition_key(fen)],
        "last": move.uci(),
        "claimed": False,
    }
    return Moved(board, G)


def ending(board: chess.Board, G: Mapping[str, Json]) -> dict[str, Json] | None:
    """The result that stands on the board, if it does."""
    if board.is_checkmate():
        return {"winner": "black" if board.turn else "white"}
    if (
        board.is_stalemate()
        or board.is_insufficient_material()
        or times_seen(G) >= REPEATED_TO_END
        or board.halfmove_clock >= IDLE_TO_END
    ):
        return {"draw": True}
    return None


def times_seen(G: Mapping[str, Json]) -> int:
    """How often the position has stood on the board."""
    seen: Sequence[str] = G["seen"]
    return seen.count(seen[-1])


def go_on(ctx: ResolverContext[Move]) -> object:
    """A move after which the other is to move."""
    made = moved(ctx)
    if isinstance(made, Rejected):
        return made
    return None if ending(made.board, made.G) else {"G": made.G}


def finish(ctx: ResolverContext[Move]) -> object:
    """A move that ends the match."""
    made = moved(ctx)
    if isinstance(made, Rejected):
        return None
    result = ending(made.board, made.G)
    return None if result is None else {"G": made.G, "result": result}


def may_claim(G: Mapping[str, Json]) -> bool:
    """Whether whoever is to move may claim a draw."""
    idle = int(G["fen"].split()[4])
    return times_seen(G) >= REPEATED_TO_CLAIM or idle >= IDLE_TO_CLAIM


def claim_draw(ctx: ResolverContext) -> object:
    """A draw by the third repetition, or by fifty moves of both."""
    if not may_claim(ctx.G):
        return reject("nothing_to_claim")
    return {"G": {**ctx.G, "claimed": True}, "result": {"draw": True}}


def legal_actions(ctx: StateContext, seat: str) -> Iterator[tuple[str, Json]]:
    """Every legal move, and a draw if it may be claimed."""
    for move in chess.Board(ctx.G["fen"]).legal_moves:
        yield "move", {"uci": move.uci()}
    if may_claim(ctx.G):
        yield "claim_draw", None


def public_view(ctx: StateContext) -> Json:
    """The position, the last move, and who is to move."""
    return {
        "fen": ctx.G["fen"],
        "lastMove": ctx.G["last"],
        "timesSeen": times_seen(ctx.G),
        "toMove": None if ctx.position.name == "over" else current_player(ctx),
    }


def render(view: Mapping[str, Json]) -> str:
    """The board for a terminal, with its coordinates."""
    rows = str(chess.Board(view["fen"])).splitlines()
    numbered = [f"{8 - n} {row}" for n, row in enumerate(rows)]
    return "\n".join([*numbered, "  a b c d e f g h"])


def imagine(ctx: ImagineContext) -> Json:
    """How often the position was seen is known; what else was seen is not."""
    fen, times = ctx.view["fen"], ctx.view["timesSeen"]
    seen = [repetition_key(fen)] * times
    return {"fen": fen, "seen": seen, "last": ctx.view["lastMove"], "claimed": False}


def play_label(ctx: StateContext) -> str:
    """Who is to move, and whether in check."""
    check = ", in check" if chess.Board(ctx.G["fen"]).is_check() else ""
    return f"{current_player(ctx)} to move{check}"


def over_label(ctx: StateContext) -> str:
    """How it ended."""
    result = ending(chess.Board(ctx.G["fen"]), ctx.G)
    winner = None if result is None else result.get("winner")
    return "Draw" if winner is None else f"{winner} has won"


game = define_game(
    name="chess",
    player_ids=["white", "black"],
    events={
        "move": event(Move, public=True),
        "claim_draw": event(NoneType, public=True),
    },
    initial="play",
    setup=lambda ctx: setup(chess.Board()),
    states={
        "play": state(active_players=active_round_robin, label=play_label),
        "over": state(active_players=[], label=over_label),
    },
    transitions=[
        transition("move", "play", "play", go_on, turn="increment"),
        transition("move", "play", "over", finish, turn="increment"),
        transition("claim_draw", "play", "over", claim_draw),
    ],
    views=views(
        public=public_view,
        player=lambda ctx, seat: {**public_view(ctx), "myPlayerID": seat},
    ),
    legal_actions=legal_actions,
    imagine=imagine,
)
