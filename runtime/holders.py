"""Who may speak for a seat: the connection that last took or resumed its session.

The seat that acts comes from here alone, never from what a request claims. Volatile:
after a change of owner nobody holds a session (`resume_seat`), until its client shows
the resume token again.
"""

from __future__ import annotations

from .dedupe import KeyWindow
from .match_state import MatchState
from .route import Route

__all__ = ["SeatHolders"]

_NOBODY = ("", "")
"""Who holds a session that was taken from all: no process has an empty name."""


class SeatHolders:
    """The holders of one match's live sessions."""

    __slots__ = ("_askers",)

    def __init__(self) -> None:
        self._askers: dict[tuple[str, int], tuple[str, str]] = {}

    def hold(
        self,
        route: Route,
        seat: str,
        session: int,
        window: KeyWindow,
        alone: bool = False,
    ) -> list[int]:
        """Give the session to whoever asks by `route`; the newest connection wins.

        `alone` takes the seat's other sessions from whoever holds them. Returns the
        seat's sessions that somebody lost by it.
        """
        lost: list[int] = []
        if self._askers.get((seat, session), route.asker) != route.asker:
            lost.append(session)
        self._askers[seat, session] = route.asker
        for name, number in list(self._askers):
            if name == seat and window.session(number) is None:
                del self._askers[name, number]
                lost.append(number)
        if alone:
            for live in window.sessions:
                if live.number != session:
                    self._askers[seat, live.number] = _NOBODY
                    lost.append(live.number)
        return lost

    def problem(self, route: Route, state: MatchState, seat: str, session: int) -> str:
        """Why `route` may not speak for the seat, as a code; "" if it may."""
        holder = self._askers.get((seat, session))
        if holder == route.asker:
            return ""
        known = state.seats.get(seat)
        if known is None:
            return "unknown_seat"
        if known.window.session(session) is not None:
            return "not_seated" if holder is not None else "resume_seat"
        return "expired_key" if 1 <= session <= known.window.newest else "not_seated"
