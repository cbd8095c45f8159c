"""`hotseat match move`: another node serves these matches, each alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import As, Why, Yes, check_matches, confirm, perform_each, print_each
from .options import Cluster, Dir, Json, place

if TYPE_CHECKING:
    from ..operator.survey_rows import OutcomeRows

__all__ = ["move"]


def move(
    *matches: Annotated[str, Parameter(name="MATCH", help="The ids of matches.")],
    to: Annotated[str, Parameter(help="The node that shall serve them.")],
    timeout: Annotated[
        float,
        Parameter(help="Seconds that each may take.", validator=Number(gt=0, lte=3600)),
    ] = 20.0,
    yes: Yes = False,
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Let another node serve matches, while they are played.

    Each gets a shard of its own, which that node is given. It pauses for some
    milliseconds; no action is refused. If it does not come off in time, the match goes
    on where it was, and this says why.

    Exit status 0: all are moved. 1: some are not. 3: no node answers.
    """
    if not matches:
        raise OperatorError(
            "usage",
            "which match?",
            hint="hotseat match move MATCH... --to NODE",
            exit_code=ExitCode.USAGE,
        )
    check_matches(matches)
    told = matches[0] if len(matches) == 1 else f"{len(matches)} matches"
    confirm(f"Move {told} to {to}?", yes)
    rows = perform_each(
        place(dir, cluster),
        "match.move",
        matches,
        {"to": to, "timeout_s": timeout},
        json=json,
        label="moving",
        who=who,
        why=why,
        timeout_s=timeout + 30.0,
    )
    status = print_each(rows, json=json, done=f"served by {to}")
    if not json:
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
