"""When shards are spread evenly (`runtime/rebalance.py` says how): at the placer.

Never while anything happens: a takeover, a join, an eviction or a node that comes or
goes restarts the wait of `rebalance_settle_ms`. A few at a time, so many a minute. What
it asked for and has not come off is withdrawn (`overdue_moves.py`).

An operator may turn it off, or ask for a round at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..control_plane import ShardRecord
from ..fleet import Fleet
from ..placement import WantEdit
from ..rebalance import BalancePlan, Unfit, plan_balance
from .allowance import Allowance
from .options import ReplicationOptions

__all__ = ["Balancer"]

AT_ONCE = 2
"""Changes of one round; the next one waits until they are done."""

ROUND_MAX = 64
"""Changes of a round that an operator asked for."""

TURN_MS = 1000
"""Before it looks again, though nothing has changed."""


class Balancer:
    """At the one node that places."""

    def __init__(self, copies: int, options: ReplicationOptions) -> None:
        self._copies = copies
        self._options = options
        self._allowance = Allowance(options.moves_per_minute)
        self._quiet_at_ms = 0
        self._look_at_ms = 0
        self._asked = False

    def changed(self, now_ms: int) -> None:
        """A record was written, or another node is registered."""
        self._quiet_at_ms = now_ms + self._options.rebalance_settle_ms
        self._look_at_ms = min(self._look_at_ms, self._quiet_at_ms)

    def ask(self) -> None:
        """A round now, whatever the options say."""
        self._asked = True
        self._look_at_ms = 0

    def due_ms(self) -> int:
        """When `edits` may have something."""
        if self._asked:
            return self._look_at_ms
        return max(self._look_at_ms, self._quiet_at_ms)

    def plan(
        self,
        records: Mapping[int, ShardRecord],
        fleet: Fleet,
        unfit: Unfit,
        limit: int = ROUND_MAX,
    ) -> BalancePlan:
        """What a round would do, whoever places, and why not more."""
        return plan_balance(
            records, fleet, unfit=unfit, copies=self._copies, limit=limit
        )

    def edits(
        self,
        records: Mapping[int, ShardRecord],
        fleet: Fleet,
        unfit: Unfit,
        now_ms: int,
    ) -> Collection[WantEdit]:
        """What to propose now."""
        if now_ms < self.due_ms():
            return ()
        self._look_at_ms = now_ms + TURN_MS
        asked, self._asked = self._asked, False
        if asked:
            return self.plan(records, fleet, unfit).edits
        limit = min(AT_ONCE, self._allowance.left(now_ms))
        if not self._options.rebalance or not fleet.rebalance or limit == 0:
            return ()
        edits = self.plan(records, fleet, unfit, limit).edits
        self._allowance.spend(len(edits))
        return edits
