"""Moves that are asked for, and do not come off: which of them to withdraw.

Whoever asks for a move withdraws it if it is not carried out in time. But who asked may
be gone, or know no better than the record that says so. A move that is left standing
comes off one day when nobody expects it, and until then nothing else is done with its
shard. So the placer withdraws it: soon if its node is gone or leaves, or if it only
spreads shards; after a while if the cluster itself wants it, for other reasons, since
that is asked for anew; an operator's once no command can wait for it any more.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..control_plane import Move, ShardRecord
from ..fleet import Fleet
from ..placement import WantEdit
from ..rebalance import REBALANCE

__all__ = ["DRAIN", "FITNESS", "FOLD", "OverdueMoves"]

PATIENCE_MS = 5_000
"""For one of the balancer, or to a node that is gone: it may be back in a moment."""

OWN_MS = 30_000
"""For one that is asked for by the cluster itself. A copy may have to be made."""

OPERATORS_MS = 3_600_000
"""For the others: as long as an operator's command may take."""

DRAIN = "drain"
"""What the `op` of a move away from a node that leaves begins with."""

FITNESS = "fitness"
"""What the `op` of a move away from an unfit owner begins with."""

FOLD = "fold"
"""The `op` of a move of a pinned match's shard to the owner of its home."""

_OWN = (DRAIN, FITNESS, FOLD)


class OverdueMoves:
    """Of all shards, as one node sees them.

    A record that is written anew with the same move is another one: something happens.
    """

    def __init__(self) -> None:
        self._since_ms: dict[tuple[int, str], int] = {}  # by shard and `claim`

    def edits(
        self, records: Mapping[int, ShardRecord], fleet: Fleet, now_ms: int
    ) -> list[WantEdit]:
        """The withdrawals to propose now."""
        since_ms, self._since_ms = self._since_ms, {}
        found = []
        for shard, record in records.items():
            if record.move is None:
                continue
            key = (shard, record.claim)
            began_ms = self._since_ms[key] = since_ms.get(key, now_ms)
            if now_ms - began_ms >= _patience_ms(record.move, fleet):
                found.append(WantEdit(shard, record.want, ""))
        return found


def _patience_ms(move: Move, fleet: Fleet) -> int:
    if move.to not in fleet.up or move.op.startswith(REBALANCE):
        return PATIENCE_MS
    return OWN_MS if move.op.startswith(_OWN) else OPERATORS_MS
