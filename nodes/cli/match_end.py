"""`hotseat match terminate|resign-seat`: a match ends, or one of its seats gives up."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import (
    As,
    Why,
    Yes,
    check_matches,
    confirm,
    perform,
    perform_each,
    print_each,
    print_outcome,
)
from .options import Cluster, Dir, Json, place

__all__ = ["resign_seat", "terminate"]


def terminate(
    *matches: Annotated[str, Parameter(name="MATCH", help="The ids of matches.")],
    yes: Yes = False,
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """End matches. Their players are told, with --why; their logs are kept.

    Exit status 0: all are ended. 1: some are not. 3: no node answers.
    """
    if not matches:
        raise OperatorError(
            "usage",
            "which match?",
            hint="hotseat match terminate MATCH... --why TEXT",
            exit_code=ExitCode.USAGE,
        )
    check_matches(matches)
    told = matches[0] if len(matches) == 1 else f"{len(matches)} matches"
    confirm(f"End {told} for good?", yes)
    where = place(dir, cluster)
    rows = perform_each(
        where, "match.terminate", matches, json=json, label="ending", who=who, why=why
    )
    return print_each(rows, json=json, done="ended")


def resign_seat(
    match: Annotated[str, Parameter(name="MATCH", help="The id of a match.")],
    seat: Annotated[str, Parameter(name="SEAT", help="The seat that gives up.")],
    /,
    *,
    yes: Yes = False,
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Let a seat give up whose player is gone, by the game's own rule for that.

    Exit status 0: done. 1: refused; a game may know no giving up. 3: no node answers.
    """
    check_matches([match])
    confirm(f"Let seat {seat} of {match} give up?", yes)
    outcome = perform(
        place(dir, cluster),
        "match.resign-seat",
        match,
        {"seat": seat},
        match=match,
        who=who,
        why=why,
    )
    revision = outcome.outcome["revision"]
    text = f"{match}: seat {seat} has given up, at revision {revision}"
    print_outcome(outcome, json=json, text=text)
    return ExitCode.OK
