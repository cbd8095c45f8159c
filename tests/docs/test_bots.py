"""The bot of the page on bots does what the page says."""

from __future__ import annotations

import random

from hotseat.engine import create_session
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.bots import RandomBot

from ..gates.tree import ROOT
from ..nodes.bots.arena import ask, points
from .snippets import blocks


def test_the_bot_of_the_page_wins_where_it_can() -> None:
    """It takes a win, and so beats chance."""
    (shown,) = (
        block
        for block in blocks(ROOT / "docs" / "bots.md")
        if block.target == ("file", "my_bots.py")
    )
    names: dict[str, type] = {}
    exec(shown.text, names)
    eager = names["Eager"]()
    session = create_session(tic_tac_toe, {"players": ["0", "1"]})
    for seat, cell in [("0", 0), ("1", 3), ("0", 1), ("1", 4)]:
        session.apply(seat, "place", {"cell": cell}, now=1)
    chosen = ask(eager, session, "0", random.Random(1))
    assert chosen == ("place", {"cell": 2})
    assert points(tic_tac_toe, eager, RandomBot(), range(20)) > 12
