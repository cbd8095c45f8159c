"""`hotseat inspect`: look at a match in the terminal, revision by revision."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import Order, Who, Why
from .options import Also, Cluster, Dir, Rules

if TYPE_CHECKING:
    from ..inspect.model import InspectModel
    from ..operator.match_feed import MatchFeed

__all__ = ["inspect"]


def inspect(
    target: Annotated[
        str,
        Parameter(name="FILE|MATCH", help="A file, or the id of a match in a cluster."),
    ],
    /,
    *,
    frame: Annotated[
        int | None,
        Parameter(help="Begin at this revision.", show_default=False),
    ] = None,
    game: Rules = None,
    also: Also = None,
    light: Annotated[
        bool, Parameter(negative=(), help="Colours for a light terminal.")
    ] = False,
    why: Why = "",
    who: Who = "",
    dir: Dir = None,
    cluster: Cluster = None,
) -> int:
    """Look at a match, revision by revision: what happened, and why.

    FILE is an exported log or an envelope. MATCH is the id of a match in a cluster,
    finished or not: one that is played is followed, and does not notice. That somebody
    looked at it while it went on is kept in the audit: what its players hide from each
    other is seen.
    """
    feed: MatchFeed | None = None
    if Path(target).exists():
        model, title = _from_file(Path(target), game, also or [], frame)
    else:
        order = Order(why=why, who=who, dir=dir, cluster=cluster)
        feed = _feed(target, order.place)
        model, title = _from_cluster(feed, game, also or [], frame)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise OperatorError(
            "no_terminal",
            "the inspector needs a terminal",
            hint="hotseat replay show FILE prints a saved match as text",
            exit_code=ExitCode.USAGE,
        )
    if feed is not None and not feed.ended:
        order.perform("match.inspect", feed.match, match=feed.match)
    from ..inspect.app import InspectApp

    app = InspectApp(model, title, feed, light=light)
    app.run()
    return ExitCode.OK if app.return_code in (0, None) else ExitCode.FAILED


def _from_file(
    file: Path, game: str | None, also: list[str], frame: int | None
) -> tuple[InspectModel, str]:
    from ..inspect.model import InspectModel
    from ..replay.saved_match import read_saved

    saved = read_saved(file)
    model = InspectModel(saved.open(game, also), revision=frame)
    return model, f"{saved.game} {file.name}"


def _feed(match: str, cluster: Path | str) -> MatchFeed:
    from ...runtime.match_id import is_match_id
    from ..operator.match_feed import MatchFeed

    if not is_match_id(match):
        raise OperatorError(
            "no_such_match",
            f"there is no file {match}, and it is not the id of a match",
            exit_code=ExitCode.USAGE,
        )
    return MatchFeed(cluster, match)


def _from_cluster(
    feed: MatchFeed, game: str | None, also: list[str], frame: int | None
) -> tuple[InspectModel, str]:
    import anyio

    from ...engine.replay.late_records import LateRecords
    from ..inspect.model import InspectModel
    from ..operator.until_owned import until_owned
    from ..replay.saved_match import saved_log

    revisions, unread = anyio.run(until_owned, feed.fetch_unread)
    records = LateRecords(unread)
    marks, upgrades = feed.take_marks(), feed.upgrades
    saved = saved_log(feed.match, records, marks, revisions, upgrades)
    timeline = saved.open(game, also)
    model = InspectModel(timeline, growing=not feed.ended, revision=frame)
    return model, f"{saved.game} {feed.match}"
