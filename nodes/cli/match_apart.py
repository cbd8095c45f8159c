"""`hotseat match quarantine|release`: a match stands still, and goes on again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import (
    As,
    Why,
    Yes,
    check_matches,
    confirm,
    perform_each,
    print_each,
    print_outcome,
)
from .options import Cluster, Dir, Json, place

if TYPE_CHECKING:
    from ..operator.ask import Outcome

__all__ = ["quarantine", "release"]


def quarantine(
    *matches: Annotated[str, Parameter(name="MATCH", help="The ids of matches.")],
    yes: Yes = False,
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Set matches apart: they answer `quarantined` on all nodes until released.

    Exit status 0: done. 1: some are not set apart. 3: no node answers.
    """
    if not matches:
        raise OperatorError(
            "usage",
            "which match?",
            hint="hotseat match quarantine MATCH... --why TEXT",
            exit_code=ExitCode.USAGE,
        )
    check_matches(matches)
    told = matches[0] if len(matches) == 1 else f"{len(matches)} matches"
    confirm(f"Set {told} apart, so that nobody can act?", yes)
    where = place(dir, cluster)
    rows = perform_each(
        where,
        "match.quarantine",
        matches,
        json=json,
        label="setting apart",
        who=who,
        why=why,
    )
    return print_each(rows, json=json, done="set apart")


def release(
    match: Annotated[str, Parameter(name="MATCH", help="The id of a match.")],
    /,
    *,
    yes: Yes = False,
    why: Why = "",
    who: As = "",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Let a match go on that is set apart, as its log has it.

    It is refused if copies of it differ: match show tells which. Exit status 0: done.
    1: refused. 3: no node answers.
    """
    import anyio

    check_matches([match])
    confirm(f"Let {match} go on? Whatever it was set apart for can happen again.", yes)
    outcome = anyio.run(_release, place(dir, cluster), match, who, why)
    records = outcome.outcome["records"]
    print_outcome(outcome, json=json, text=f"{match}: goes on, with {records} records")
    return ExitCode.OK


async def _release(where: Path | str, match: str, who: str, why: str) -> Outcome:
    from ..operator.ask import operate
    from ..operator.ask_cluster import find_cluster
    from ..operator.match_search import show_match

    home = await find_cluster(where)
    found = await show_match(home, match)
    copies: dict[str, list[Any]] = {
        copy.node: [copy.records, copy.digest, copy.code]
        for copy in found.copies
        if copy.records and copy.role in ("owner", "follower")
    }
    args = {"copies": copies}
    return await operate(
        home, "match.release", match, args, match=match, who=who, why=why
    )
