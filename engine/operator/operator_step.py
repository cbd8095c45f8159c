"""The one step of an operator's record: no transition was asked, the position stays."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..jsonvalue import Json
from ..snapshot import Snapshot
from ..step import Batch, EventRecord, Step, TransitionRecord

__all__ = ["OperatorKind", "operator_batch"]

OperatorKind: TypeAlias = Literal["edit", "upgrade", "terminate"]


def operator_batch(
    kind: OperatorKind,
    event: str,
    payload: Json,
    before: Snapshot,
    after: Snapshot,
    *,
    op: str,
    now: int | float,
) -> Batch:
    """The batch that leads to `after`; `payload` is what the operator said, frozen."""
    source, target = before.position, after.position
    came = EventRecord(f"op:{op}", now, event, payload, None, source.turn, kind)
    taken = TransitionRecord.unasked(event, source, target)
    return Batch((Step(kind, came, taken, after),), after)
