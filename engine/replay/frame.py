"""A match at one revision: what led there, and what it is there."""

from __future__ import annotations

import msgspec

from ..frozen import FDict, freeze_parts
from ..machine import Machine
from ..record import Record, RecordKind
from ..snapshot import Snapshot
from ..step import Step

__all__ = ["Frame"]


class Frame(msgspec.Struct, frozen=True):
    """One revision. Frame 0 is the match as it was created."""

    snapshot: Snapshot
    step: Step | None = None
    """What led here; None for frame 0."""
    record: Record | None = None
    """What was logged for that step's batch; None where no log is at hand."""
    machine: Machine | None = None
    """The version of the game that the match stood under, if it was upgraded; None:
    that of the source."""

    @property
    def revision(self) -> int:
        """The number of the frame: steps so far."""
        return self.snapshot.revision

    @property
    def action(self) -> Record | None:
        """The record of the player's action whose own step this is."""
        record, step = self.record, self.step
        if record is None or step is None or step.kind != "action":
            return None
        return record if record.kind is RecordKind.ACTION else None

    @property
    def operator(self) -> FDict | None:
        """`op`, `who` and `why`, if an operator did it, and a log is at hand."""
        if self.record is None or self.step is None:
            return None
        given = self.record.input
        said: FDict | None = given.get("operator")
        if self.step.kind in ("edit", "upgrade", "terminate"):
            said = given
        if said is None:
            return None
        return freeze_parts({name: said[name] for name in ("op", "who", "why")})
