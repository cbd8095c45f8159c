"""The round robin."""

from __future__ import annotations

import pytest

from hotseat.engine import (
    ResolverContext,
    active_round_robin,
    create_session,
    current_player,
    state,
    transition,
    turn_of,
)

from .samples import accepted, one_state


@pytest.mark.parametrize(
    ("turn", "player"), [(1, "a"), (2, "b"), (3, "c"), (4, "a"), (0, "c"), (-2, "a")]
)
def test_turns_go_round(turn: int, player: str) -> None:
    """Turn 1 is the first player's, and the order repeats both ways."""
    assert turn_of(["a", "b", "c"], turn).current_player == player


def test_a_match_takes_turns_in_the_order_of_its_players() -> None:
    """The first of `players` begins, whatever their ids."""
    seen: list[tuple[str, int]] = []

    def note(ctx: ResolverContext) -> object:
        seen.append((ctx.turn.current_player, ctx.turn.index))
        return {}

    game = one_state(
        states={"play": state(active_players=active_round_robin)},
        transitions=[
            transition("go", "play", "play", note, turn="increment"),
        ],
        selectors={"who": current_player},
    )
    session = create_session(game, {"players": ["1", "0"]})
    for seat in ("1", "0", "1"):
        assert session.snapshot.derived.selectors["who"] == seat
        accepted(session.apply(seat, "go", now=1))
    assert seen == [("1", 0), ("0", 1), ("1", 0)]
