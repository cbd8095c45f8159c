"""`hotseat match reveal-seed`: what all chance in a match follows from."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from .operate import As, Why, Yes, check_matches, confirm, perform
from .options import Cluster, Dir, Json, place

__all__ = ["reveal_seed"]


def reveal_seed(
    match: Annotated[str, Parameter(name="MATCH", help="The id of a match.")],
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
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Print the seed of a match. That it was told is kept in the audit.

    Exit status 0: done. 1: refused. 3: no node answers.
    """
    check_matches([match])
    if running:
        confirm(f"Tell the seed of {match}, though it may go on?", yes)
    outcome = perform(
        place(dir, cluster),
        "match.reveal-seed",
        match,
        {"running": running},
        match=match,
        who=who,
        why=why,
    )
    from .shown import cell, print_all, print_json

    if json:
        print_json(outcome)
    else:
        print_all(cell(outcome.outcome["seed"]))
    return ExitCode.OK
