"""Whether a state can still be shown: an operator must not make anybody blind."""

from __future__ import annotations

from ..errors import ViewError
from ..machine import Machine
from ..snapshot import Snapshot

__all__ = ["view_problem"]


def view_problem(machine: Machine, snapshot: Snapshot) -> str:
    """Whose view of a state fails, and why; "" if none does."""
    for seat in ("", *snapshot.meta.match["players"]):
        try:
            if seat:
                machine.player_view(snapshot, seat)
            else:
                machine.public_view(snapshot)
        except ViewError as error:
            whose = f"seat {seat}" if seat else "a spectator"
            return f"the view of {whose} fails then: {error.fault.message}"
    return ""
