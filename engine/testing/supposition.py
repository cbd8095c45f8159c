"""What a game owes to bots, if it says how a match may be imagined."""

from __future__ import annotations

from collections.abc import Iterator

from ..imagine import Seen, imagine
from ..session import Session

__all__ = ["supposition_faults"]


def supposition_faults(session: Session) -> Iterator[str]:
    """Where a seat that may act could tell what it imagines from what it sees.

    Raises:
        ImagineError: The game's `imagine` fails.
    """
    snapshot = session.snapshot
    if session.game.imagine is None or session.result is not None:
        return
    for seat in snapshot.derived.active_players:
        view = session.player_view(seat)
        seen = Seen(
            snapshot.meta.match,
            seat,
            view,
            snapshot.position.name,
            snapshot.position.turn,
            snapshot.revision,
            snapshot.meta.now,
        )
        drawn = imagine(session.machine, seen, f"revision {snapshot.revision}")
        where = f"at revision {snapshot.revision}, imagined from seat {seat!r}"
        if drawn.view(seat) != view:
            yield f"{where}: the view is {drawn.view(seat)!r}, and was {view!r}"
        elif drawn.legal_actions(seat) != session.legal_actions(seat):
            yield f"{where}: other actions are legal than really are"
