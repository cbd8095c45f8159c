"""`hotseat match`: which matches there are, and all that is known of one.

The commands that change something have files of their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .match_apart import quarantine, release
from .match_change import edit, upgrade
from .match_create import create
from .match_end import resign_seat, terminate
from .match_explain import explain
from .match_files import export, import_match
from .match_move import move
from .match_seed import reveal_seed
from .options import Cluster, Dir, Json, Limit, place, seconds

if TYPE_CHECKING:
    from ..operator.survey_rows import FoundMatches, MatchShown

__all__ = ["app"]

app = App(
    name="match",
    help="Find matches, see all that is known of one, change what must be.",
    version=None,
)
app.command(create)
app.command(edit)
app.command(explain)
app.command(export)
app.command(import_match, name="import")
app.command(move)
app.command(quarantine)
app.command(release)
app.command(resign_seat)
app.command(reveal_seed)
app.command(terminate)
app.command(upgrade)

State = Literal["running", "waiting", "ended", "quarantined"]


@app.command(name="list")
def list_matches(
    *,
    game: Annotated[
        str | None, Parameter(help="Only those of this game.", show_default=False)
    ] = None,
    shard: Annotated[
        int | None,
        Parameter(
            help="Only those of this shard.",
            validator=Number(gte=0),
            show_default=False,
        ),
    ] = None,
    state: Annotated[
        list[State] | None,
        Parameter(
            help="Only these. May be repeated; all but ended ones if not said.",
            negative=(),
            show_default=False,
        ),
    ] = None,
    seat: Annotated[
        str | None,
        Parameter(
            help="Only those in which this seat may act, as far as it is known.",
            show_default=False,
        ),
    ] = None,
    idle: Annotated[
        str | None,
        Parameter(
            help="Only those in which nothing happened for so long: 90s, 5m, 2h.",
            show_default=False,
        ),
    ] = None,
    sort: Annotated[
        Literal["shard", "idle", "records"],
        Parameter(help="In the order of the shard, or the largest first."),
    ] = "shard",
    limit: Limit = 50,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """List the matches that the nodes serve.

    Exit status 0: done, though nodes may be silent: they are named. 3: none answers.
    """
    import anyio

    from .shown import matches_table, more_line, print_all, print_json, silent_lines

    asked: dict[str, Any] = {
        "game": game,
        "shard": shard,
        "states": [*state] if state else None,
        "to_act": seat,
        "idle_ms": None if idle is None else int(seconds(idle, "--idle") * 1_000),
    }
    asked = {name: value for name, value in asked.items() if value is not None}
    found = anyio.run(_find, place(dir, cluster), limit, sort, asked)
    if json:
        print_json(found)
    else:
        more = more_line(len(found.matches), None) if found.more else []
        rows = found.matches
        print_all(matches_table(rows), *more, *silent_lines(found.silent))
    return ExitCode.OK


@app.command
def show(
    match: Annotated[str, Parameter(name="MATCH", help="The id of a match.")],
    /,
    *,
    state: Annotated[
        bool,
        Parameter(
            help="Its state G as well, which no player may see as a whole.",
            negative=(),
        ),
    ] = False,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Show all that is known of one match: where it stands, who holds copies.

    Exit status 0: done. 1: there is no such match, or its copies differ. 3: no node
    answers.
    """
    import anyio

    from .shown import print_all, print_json

    found = anyio.run(_one, place(dir, cluster), match, state)
    if json:
        print_json(found)
    else:
        print_all(*_shown(found, state))
    return ExitCode.OK if found.agree else ExitCode.FAILED


async def _find(
    place: Path | str, limit: int, sort: str, asked: dict[str, Any]
) -> FoundMatches:
    from ..operator.ask_cluster import find_cluster
    from ..operator.match_search import find_matches
    from ..operator.survey import check_shard

    home = await find_cluster(place)
    if "shard" in asked:
        check_shard(home, asked["shard"])
    return await find_matches(home, limit, sort=sort, **asked)


async def _one(place: Path | str, match: str, state: bool) -> MatchShown:
    from ...runtime.match_id import is_match_id
    from ..operator.ask_cluster import find_cluster
    from ..operator.match_search import show_match

    if not is_match_id(match):
        raise OperatorError(
            "usage",
            f"{match} is not the id of a match",
            hint="hotseat match list shows ids: 26 characters, a-z and 2-7",
            exit_code=ExitCode.USAGE,
        )
    return await show_match(await find_cluster(place), match, state=state)


def _shown(found: MatchShown, state: bool) -> list[Any]:
    from ..play.show import pretty
    from .shown import cell, silent_lines

    lines = [cell(f"{name:>10}  {value}") for name, value in _facts(found)]
    parts = [*lines, _copies_table(found)]
    if not found.agree:
        parts.append(cell("copies of one length differ", "red"))
    parts += silent_lines(found.silent)
    if state:
        parts += [cell("G:"), *(cell(f"  {line}") for line in pretty(found.g))]
    return parts


def _facts(found: MatchShown) -> list[tuple[str, object]]:
    from .shown import duration, when

    match, play, actor = found.match, found.play, found.actor
    code = f" ({match.code})" if match.code else ""
    facts: list[tuple[str, object]] = [
        ("match", match.match),
        ("game", f"{match.game} {match.version}"),
        ("state", f"{match.state}{code}, {match.tier}"),
        ("shard", f"{match.shard} at {match.node}, epoch {found.epoch}"),
        ("log", f"{match.records} records, the last {duration(match.idle_s)} ago"),
        ("digest", match.digest),
        ("deadline", when(match.deadline_ms)),
    ]
    if play is not None:
        seats = ", ".join(
            f"{one.seat}{'' if one.taken else ' (free)'}{' *' if one.may_act else ''}"
            for one in play.seats
        )
        facts += [
            ("revision", f"{play.revision}, turn {play.turn}"),
            ("position", " > ".join(play.path)),
            ("seats", f"{seats}   (* may act)"),
            ("size", f"at most {play.bytes_at_most:,} bytes"),
        ]
    else:
        facts.append(("seats", ", ".join(match.seats)))
    if actor is not None:
        facts += [
            ("actor", f"{actor.status}, {actor.watchers} watch, {actor.faults} faults"),
            (
                "mailbox",
                f"{actor.mailbox} wait ({actor.mailbox_bytes:,} bytes), "
                f"{actor.mailbox_refused} refused; {actor.uncommitted} uncommitted",
            ),
        ]
    return facts


def _copies_table(found: MatchShown) -> Any:
    from rich.table import Table

    from .shown import cell

    table = Table(box=None, pad_edge=False)
    for name in ("copy at", "role", "records", "digest", "tier", "state"):
        table.add_column(name)
    for copy in found.copies:
        code = f" ({copy.code})" if copy.code else ""
        digest, state = copy.digest[:16], f"{copy.state}{code}"
        cells = (copy.node, copy.role, copy.records or "-", digest, copy.tier, state)
        table.add_row(*map(cell, cells))
    return table
