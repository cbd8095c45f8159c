"""`hotseat match reveal-seed`: what all chance in a match follows from."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .operate import PLAIN, Match, Order, Yes, check_matches, confirm

__all__ = ["reveal_seed"]


def reveal_seed(
    match: Match,
    /,
    *,
    running: Annotated[
        bool,
        Parameter(
            help="Of a match that goes on, too: its seed tells what will be drawn.",
            negative=(),
        ),
    ] = False,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Print the seed of a match. That it was told is kept in the audit.

    Exit status 0: done. 1: refused. 3: no node answers.
    """
    check_matches([match])
    if running:
        confirm(f"Tell the seed of {match}, though it may go on?", yes)
    args = {"running": running}
    outcome = order.perform("match.reveal-seed", match, args, match=match)
    return order.tell(outcome, outcome.outcome["seed"])
