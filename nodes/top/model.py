"""What `hotseat top` shows: two looks at a cluster, and the reader's wishes. Pure.

Rates are differences of two looks: how much a match's log has grown, how much more a
node has counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ..inspect.lines import Line, Tone, line
from ..operator.alarm_lines import alarm_lines
from ..operator.rows import MatchRow
from ..operator.survey import with_rates
from ..operator.survey_rows import NodeRow, ShardRow
from .look import Look

__all__ = ["PANELS", "PERIODS_S", "SORTS", "HotMatch", "TopModel"]

PERIODS_S: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds between two looks that can be chosen."""

ROWS_MAX = 500
"""Of a panel."""


@dataclass(frozen=True, slots=True)
class HotMatch:
    """A match, and how much its log has grown per second."""

    row: MatchRow
    records_per_s: float


SORTS: Final[Mapping[str, tuple[str, ...]]] = {
    "matches": ("rate", "records", "idle"),
    "shards": ("number", "lag", "matches"),
    "nodes": ("name",),
    "alarms": ("kind",),
}
"""By panel, its orders; the first is where it begins."""

PANELS: Final = tuple(SORTS)


class TopModel:
    """Give it looks with `take`; read `header` and `lines`."""

    def __init__(self) -> None:
        self.panel = PANELS[0]
        self.paused = False
        self.problem = ""
        """Why there was no look the last time."""
        self._period = PERIODS_S.index(2.0)
        self._sorts = dict.fromkeys(PANELS, 0)
        self._look: Look | None = None
        self._hot: list[HotMatch] = []

    @property
    def period_s(self) -> float:
        """Seconds between two looks."""
        return PERIODS_S[self._period]

    @property
    def sort(self) -> str:
        """The order of the panel's rows."""
        return SORTS[self.panel][self._sorts[self.panel]]

    def take(self, look: Look) -> None:
        """A new look: rates are of the time since the one before."""
        if self.paused:
            return
        before = self._look
        seen = with_rates(None if before is None else before.survey, look.survey)
        seconds = 0.0 if before is None else look.survey.at_s - before.survey.at_s
        then = {} if before is None else {m.match: m.records for m in before.matches}
        self._hot = [HotMatch(row, _rate(row, then, seconds)) for row in look.matches]
        self._look = Look(seen, look.matches, look.more)
        self.problem = ""

    def faster(self, by: int) -> None:
        """Look more often; less often if `by` is negative."""
        self._period = min(max(0, self._period - by), len(PERIODS_S) - 1)

    def next_panel(self, by: int) -> None:
        """Another panel."""
        self.panel = PANELS[(PANELS.index(self.panel) + by) % len(PANELS)]

    def next_sort(self, by: int) -> None:
        """Another order of the panel's rows."""
        count = len(SORTS[self.panel])
        self._sorts[self.panel] = (self._sorts[self.panel] + by) % count

    def header(self) -> list[Line]:
        """The cluster in three lines."""
        state = "paused" if self.paused else f"every {self.period_s:g} s"
        if self._look is None:
            return [line(f"hotseat top  {state}"), line(""), line(self.problem, "bad")]
        row = self._look.survey.cluster
        silent = sum(1 for node in row.nodes if not node.reachable)
        copies = f"{row.shards_in_sync} in sync"
        first = (
            f"cluster {row.cluster}  nodes {len(row.nodes) - silent}/{len(row.nodes)}"
            f"  shards {row.shards_owned}/{row.shards}, {copies}"
            f"  matches {row.matches:,}  {state}"
        )
        rates = row.rates
        second = "rates come with the second look"
        if rates is not None:
            second = (
                f"per second: {rates.records_per_s:,.1f} records"
                f"  {rates.messages_per_s:,.1f} requests"
                f"  {rates.refused_per_s:,.1f} refused"
                f"  {rates.created_per_s:,.1f} created  {rates.ended_per_s:,.1f} ended"
            )
        alarms = alarm_lines(row.alarms)
        third = line("no alarms", "good")
        if alarms:
            worst = alarms[0]
            more = f" (and {len(alarms) - 1} more: 4)" if len(alarms) > 1 else ""
            third = line(f"{worst.code} at {worst.at}{more}", "bad")
        if self.problem:
            third = line(self.problem, "bad")
        return [line(first, "strong"), line(second), third]

    def lines(self) -> list[Line]:
        """The panel: a head, then its rows."""
        if self._look is None:
            return [line("asking the nodes", "dim")]
        return _LINES[self.panel](self, self._look)

    def _matches(self, look: Look) -> list[Line]:
        order: dict[str, Callable[[HotMatch], float]] = {
            "rate": lambda hot: hot.records_per_s,
            "records": lambda hot: hot.row.records,
            "idle": lambda hot: hot.row.idle_s,
        }
        hot = sorted(self._hot, key=order[self.sort], reverse=True)
        head = f"{'match':<26} {'game':<16} {'node':<5} {'rec/s':>6} {'records':>7}"
        rows = [
            line(
                f"{one.row.match:<26} {one.row.game[:16]:<16} {one.row.node:<5}"
                f" {one.records_per_s:>6.1f} {one.row.records:>7}"
                f" {one.row.idle_s:>6.0f}  {', '.join(one.row.to_act or ())}",
                "" if one.records_per_s else "dim",
            )
            for one in hot
        ]
        more = [line("more run than were looked at", "dim")] if look.more else []
        return _bounded(f"{head} {'idle s':>6}  to act", rows, "no match goes on", more)

    def _shards(self, look: Look) -> list[Line]:
        shards = list(look.survey.shards)
        if self.sort == "lag":
            shards.sort(key=_lag, reverse=True)
        elif self.sort == "matches":
            shards.sort(key=lambda shard: shard.matches, reverse=True)
        head = f"{'shard':>5} {'owner':<6} {'epoch':>6} {'lag':>6} {'matches':>7}"
        rows = [
            line(
                f"{shard.shard:>5} {shard.owner or 'none':<6} {shard.epoch:>6}"
                f" {_lag(shard):>6} {shard.matches:>7}  {_copies(shard)}",
                _shard_tone(shard),
            )
            for shard in shards
        ]
        return _bounded(f"{head}  in sync", rows, "no shards", [])

    def _nodes(self, look: Look) -> list[Line]:
        head = f"{'node':<6} {'state':<10} {'shards':>6} {'holds':>6} {'matches':>7}"
        rows = [_node_line(node) for node in look.survey.cluster.nodes]
        rates = f"{'lag':>6} {'rec/s':>8} {'req/s':>8} {'refused/s':>9}"
        return _bounded(f"{head} {rates}", rows, "no nodes", [])

    def _alarms(self, look: Look) -> list[Line]:
        rows = [
            line(f"{alarm.code:<18} {alarm.at:<26} {alarm.message}", "bad")
            for alarm in alarm_lines(look.survey.cluster.alarms)
        ]
        return _bounded(f"{'alarm':<18} {'at':<26} what", rows, "no alarms", [])


_LINES: Final[Mapping[str, Callable[[TopModel, Look], list[Line]]]] = {
    "matches": TopModel._matches,
    "shards": TopModel._shards,
    "nodes": TopModel._nodes,
    "alarms": TopModel._alarms,
}


def _bounded(head: str, rows: list[Line], none: str, more: list[Line]) -> list[Line]:
    if not rows:
        return [line(none, "dim")]
    if len(rows) > ROWS_MAX:
        more = [line(f"and {len(rows) - ROWS_MAX:,} more rows", "dim"), *more]
    return [line(head, "strong"), *rows[:ROWS_MAX], *more]


def _rate(row: MatchRow, then: Mapping[str, int], seconds: float) -> float:
    """Of a match that was not there before, nothing is known."""
    if seconds <= 0 or row.match not in then:
        return 0.0
    return max(0, row.records - then[row.match]) / seconds


def _lag(shard: ShardRow) -> int:
    return max(shard.lag.values(), default=0)


def _copies(shard: ShardRow) -> str:
    said = ", ".join(shard.isr)
    said += f" ({shard.short} short)" if shard.short else ""
    said += f", learning: {', '.join(shard.learning)}" if shard.learning else ""
    return said + (f", moving to {shard.moving_to}" if shard.moving_to else "")


def _shard_tone(shard: ShardRow) -> Tone:
    return "" if shard.serving and not (shard.short or shard.degraded) else "bad"


def _node_line(node: NodeRow) -> Line:
    if not node.reachable:
        return line(f"{node.node:<6} no answer ({node.error})", "bad")
    state = "ready" if node.ready else "not ready"
    said = (
        f"{node.node:<6} {state:<10} {node.shards:>6} {node.following:>6}"
        f" {node.matches:>7} {node.lag:>6}"
    )
    rates = node.rates
    if rates is not None:
        said += (
            f" {rates.records_per_s:>8,.1f} {rates.messages_per_s:>8,.1f}"
            f" {rates.refused_per_s:>9,.1f}"
        )
    return line(said, "" if node.ready else "bad")
