"""`hotseat match quarantine|release`: a match stands still, and goes on again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from ..operator.ask import Outcome

__all__ = ["quarantine", "release"]


def quarantine(
    *matches: Matches,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Set matches apart: they answer `quarantined` on all nodes until released.

    Exit status 0: done. 1: some are not set apart. 3: no node answers.
    """
    told = told_matches(matches, "hotseat match quarantine MATCH... --why TEXT")
    confirm(f"Set {told} apart, so that nobody can act?", yes)
    rows = order.perform_each("match.quarantine", matches, label="setting apart")
    return order.tell_each(rows, "set apart")


def release(
    match: Match,
    /,
    *,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Let a match go on that is set apart, as its log has it.

    It is refused if copies of it differ: match show tells which. Exit status 0: done.
    1: refused. 3: no node answers.
    """
    import anyio

    check_matches([match])
    confirm(f"Let {match} go on? Whatever it was set apart for can happen again.", yes)
    outcome = anyio.run(_release, order, match)
    records = outcome.outcome["records"]
    return order.tell(outcome, f"{match}: goes on, with {records} records")


async def _release(order: Order, match: str) -> Outcome:
    from ..operator.ask import operate
    from ..operator.ask_cluster import find_cluster
    from ..operator.match_search import show_match

    home = await find_cluster(order.place)
    found = await show_match(home, match)
    copies: dict[str, list[Any]] = {
        copy.node: [copy.records, copy.digest, copy.code]
        for copy in found.copies
        if copy.records and copy.role in ("owner", "follower")
    }
    args = {"copies": copies}
    return await operate(
        home,
        "match.release",
        match,
        args,
        match=match,
        who=order.who,
        why=order.why,
    )
