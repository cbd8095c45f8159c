"""The row of gamekit compares like with like."""

from __future__ import annotations

from bench.gamekit import on_gamekit
from hotseat.engine import Batch, Refusal, create_session
from hotseat.engine.games.tic_tac_toe import game as on_core
from hotseat.engine.testing import random_playout


def test_both_games_are_the_same_one() -> None:
    """The same moves lead to the same boards, refusals and results."""
    for seed in ("a", "b", "c", "d"):
        core = random_playout(on_core, seed)
        kit = create_session(on_gamekit, {"players": ["0", "1"]})
        taken = 0
        for record in core.log[1:]:
            given = record.input
            answer = kit.apply(given["seat"], given["event"], given["payload"], now=1)
            assert isinstance(answer, Batch)
            other = str(1 - int(given["seat"]))
            again = kit.apply(other, "place", given["payload"], now=1)
            assert isinstance(again, Refusal)
            taken += again.reason == "cell_taken"
        assert taken == len(core.log) - 2  # after the last one the game is over
        assert kit.result == core.result
        assert kit.public_view()["board"] == core.snapshot.G["board"]
