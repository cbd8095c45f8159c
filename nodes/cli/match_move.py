"""`hotseat match move`: another node serves these matches, each alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from .operate import PLAIN, Matches, Order, Yes, confirm, told_matches

if TYPE_CHECKING:
    from ..operator.survey_rows import OutcomeRows

__all__ = ["move"]


def move(
    *matches: Matches,
    to: Annotated[str, Parameter(help="The node that shall serve them.")],
    timeout: Annotated[
        float,
        Parameter(help="Seconds that each may take.", validator=Number(gt=0, lte=3600)),
    ] = 20.0,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Let another node serve matches, while they are played.

    Each gets a shard of its own, which that node is given. It pauses for some
    milliseconds; no action is refused. If it does not come off in time, the match goes
    on where it was, and this says why.

    Exit status 0: all are moved. 1: some are not. 3: no node answers.
    """
    told = told_matches(matches, "hotseat match move MATCH... --to NODE")
    confirm(f"Move {told} to {to}?", yes)
    rows = order.perform_each(
        "match.move",
        matches,
        {"to": to, "timeout_s": timeout},
        label="moving",
        timeout_s=timeout + 30.0,
    )
    status = order.tell_each(rows, f"served by {to}")
    if not order.json:
        _print_pauses(rows)
    return status


def _print_pauses(rows: OutcomeRows) -> None:
    """How long they paused: of one, and a histogram of several."""
    from ..operator.pauses import pauses_told
    from .node_drain import pause_lines
    from .shown import cell, print_all

    found = [row.outcome.get("pause_ms") for row in rows.done]
    pauses = [(pause, 1) for pause in found if isinstance(pause, int)]
    if len(pauses) == 1:
        print_all(cell(f"it paused for {pauses[0][0]} ms"))
    elif pauses:
        print_all(*map(cell, pause_lines(pauses_told(pauses))))
