"""An operator's edit of G, as a patch.

G changes, and what derives from it. Position, turn, rng, result and the time of the
last event stay as they were; so a deadline is what the game makes of the new G and that
time.
"""

from __future__ import annotations

from typing import Final

from ..frozen import FDict
from ..machine import Machine
from ..refusal import Refusal, refuse
from ..snapshot import Snapshot
from ..step import Batch
from .json_patch import PatchError, apply_patch
from .operator_step import operator_batch

__all__ = ["EDIT_EVENT", "edit_state"]

EDIT_EVENT: Final = "__edit"
"""How records name the event of an edit."""


def edit_state(
    machine: Machine, snapshot: Snapshot, given: FDict, *, now: int | float
) -> Batch | Refusal:
    """Change G. `given` is the record's input: op, who, why, patch, base_revision.

    Refuses with game_over, patch_failed, or derivation_error.
    """
    if snapshot.meta.result is not None:
        return refuse("game_over")
    try:
        G = apply_patch(snapshot.G, given["patch"])
    except PatchError as error:
        where = {"index": error.index, "path": error.path}
        return refuse(
            "patch_failed", f"The patch does not apply: {error}", details=where
        )
    after = machine.restate(snapshot, G, event=EDIT_EVENT)
    if isinstance(after, Refusal):
        return after
    return operator_batch(
        "edit", EDIT_EVENT, given, snapshot, after, op=given["op"], now=now
    )
