"""`hotseat match terminate|resign-seat`: a match ends, or one of its seats gives up."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .operate import (
    PLAIN,
    Match,
    Matches,
    Order,
    Yes,
    check_matches,
    confirm,
    told_matches,
)

__all__ = ["resign_seat", "terminate"]


def terminate(
    *matches: Matches,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """End matches. Their players are told, with --why; their logs are kept.

    Exit status 0: all are ended. 1: some are not. 3: no node answers.
    """
    told = told_matches(matches, "hotseat match terminate MATCH... --why TEXT")
    confirm(f"End {told} for good?", yes)
    rows = order.perform_each("match.terminate", matches, label="ending")
    return order.tell_each(rows, "ended")


def resign_seat(
    match: Match,
    seat: Annotated[str, Parameter(name="SEAT", help="The seat that gives up.")],
    /,
    *,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Let a seat give up whose player is gone, by the game's own rule for that.

    Exit status 0: done. 1: refused; a game may know no giving up. 3: no node answers.
    """
    check_matches([match])
    confirm(f"Let seat {seat} of {match} give up?", yes)
    outcome = order.perform("match.resign-seat", match, {"seat": seat}, match=match)
    revision = outcome.outcome["revision"]
    text = f"{match}: seat {seat} has given up, at revision {revision}"
    return order.tell(outcome, text)
