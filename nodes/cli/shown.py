"""How the operator's commands print rows: tables, and lines below them.

Whatever comes from a node or a match passes `cell`, so that nothing of it steers the
terminal or is read as markup.
"""

from __future__ import annotations

import json as json_text
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from ..operator.rows import MatchRow
    from ..operator.survey_rows import AlarmRow, ClusterRow, NodeRow, ShardRow

__all__ = [
    "alarm_lines",
    "cell",
    "cluster_shown",
    "duration",
    "matches_table",
    "more_line",
    "nodes_table",
    "print_all",
    "print_json",
    "shards_table",
    "silent_lines",
    "when",
]

ALARMS_SHOWN_MAX = 20


def print_json(row: Any) -> None:
    """One object in one line."""
    from ..operator.rows import row_json

    print(json_text.dumps(row_json(row)), flush=True)


def print_all(*parts: RenderableType) -> None:
    """Each below the other. Where no terminal is, nothing is cut off."""
    import sys

    from rich.console import Console

    width = None if sys.stdout.isatty() else 200
    console = Console(width=width, highlight=False)
    for part in parts:
        console.print(part)


def cell(value: object, style: str = "") -> Text:
    """Text that neither rich nor the terminal obeys."""
    from rich.text import Text

    from ..play.show import safe

    return Text(safe(str(value)), style=style)


def duration(seconds: float) -> str:
    """In two units at most: 4.2s, 12m 3s, 5h 2m, 3d 4h."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h {minutes}m"
    return f"{hours // 24}d {hours % 24}h"


def when(at_ms: int | None) -> str:
    """A time of the wall clock, here."""
    if at_ms is None:
        return "none"
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at_ms / 1_000))


def more_line(shown: int, of: int | None, limit_flag: str = "--limit") -> list[Text]:
    """That there are more rows than are shown; nothing if there are none."""
    if of is not None and of <= shown:
        return []
    count = "more" if of is None else f"{of - shown:,} more"
    return [cell(f"there are {count}: {limit_flag} says how many are shown", "dim")]


def silent_lines(silent: dict[str, str]) -> list[Text]:
    """Which nodes do not answer."""
    return [cell(f"{node}: no answer ({code})", "red") for node, code in silent.items()]


def cluster_shown(row: ClusterRow) -> list[RenderableType]:
    """A whole cluster: totals, nodes, alarms."""
    copies = "copy" if row.copies == 1 else "copies"
    totals = (
        f"cluster {row.cluster}: {row.shards_owned} of {row.shards} shards served, "
        f"{row.shards_in_sync} with {row.copies} {copies} in sync "
        f"({row.durability}); {row.matches:,} matches go on"
    )
    lines: list[RenderableType] = [cell(totals, "bold"), nodes_table(row.nodes)]
    if row.rates is not None:
        rates = row.rates
        lines.append(
            cell(
                f"per second: {rates.records_per_s:,.1f} records, "
                f"{rates.messages_per_s:,.1f} requests, "
                f"{rates.created_per_s:,.1f} created, {rates.ended_per_s:,.1f} ended, "
                f"{rates.refused_per_s:,.1f} refused"
            )
        )
    return [*lines, *alarm_lines(row.alarms)]


def alarm_lines(alarms: Sequence[AlarmRow]) -> list[Text]:
    """A line for each kind with its places, and how many there are more."""
    if not alarms:
        return [cell("no alarms", "green")]
    from ..operator.alarm_lines import alarm_lines as grouped

    shown = grouped(alarms)[:ALARMS_SHOWN_MAX]
    lines = [
        cell(f"alarm {alarm.code} at {alarm.at}: {alarm.message}", "red")
        for alarm in shown
    ]
    more = len(alarms) - sum(alarm.count for alarm in shown)
    if more:
        lines.append(cell(f"and {more} more alarms: --json has them all", "red"))
    return lines


def nodes_table(nodes: Iterable[NodeRow]) -> Table:
    """A row for each node, those too that do not answer."""
    table = _table("node", "state", right=_NODE_NUMBERS)
    for node in nodes:
        if node.elsewhere:
            known = map(cell, (node.shards, node.following))
            table.add_row(cell(node.node), cell("elsewhere"), *known)
            continue
        if not node.reachable:
            table.add_row(cell(node.node), cell(f"no answer ({node.error})", "red"))
            continue
        state = cell("ready", "green") if node.ready else cell("not ready", "yellow")
        if node.state not in ("", "up"):
            state = cell(node.state, "yellow")
        rate = "" if node.rates is None else f"{node.rates.records_per_s:,.1f}"
        table.add_row(
            cell(node.node),
            state,
            *map(
                cell,
                (
                    node.shards,
                    node.following,
                    node.matches,
                    node.ended,
                    node.quarantined,
                    node.uncommitted,
                    node.lag,
                    rate,
                ),
            ),
        )
    return table


def shards_table(shards: Iterable[ShardRow]) -> Table:
    """A row for each shard."""
    table = _table(
        "shard",
        "owner",
        "in sync",
        "learning",
        right=("epoch", "commit", "lag", "matches", "ended"),
    )
    for shard in shards:
        owner = shard.owner or "none"
        if shard.moving_to:
            owner += f" -> {shard.moving_to}"
        in_sync = ", ".join(shard.isr)
        if shard.short:
            in_sync += f" ({shard.short} short)"
        table.add_row(
            cell(shard.shard),
            cell(owner, "" if shard.serving else "red"),
            cell(in_sync, "yellow" if shard.short or shard.degraded else ""),
            cell(", ".join(shard.learning)),
            *map(
                cell,
                (
                    shard.epoch,
                    shard.commit,
                    max(shard.lag.values(), default=0),
                    shard.matches,
                    shard.ended,
                ),
            ),
        )
    return table


def matches_table(matches: Iterable[MatchRow]) -> Table:
    """A row for each match."""
    table = _table(
        "match", "game", "state", "to act", "node", right=("shard", "records", "idle")
    )
    for match in matches:
        state = f"{match.state} ({match.code})" if match.code else match.state
        to_act = "?" if match.to_act is None else ", ".join(match.to_act)
        table.add_row(
            cell(match.match),
            cell(match.game),
            cell(state, "red" if match.code else ""),
            cell(to_act),
            cell(match.node),
            cell(match.shard),
            cell(match.records),
            cell(duration(match.idle_s)),
        )
    return table


_NODE_NUMBERS = (
    "shards",
    "following",
    "matches",
    "ended",
    "set apart",
    "uncommitted",
    "lag",
    "records/s",
)


def _table(*left: str, right: Sequence[str] = ()) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right")
    return table
