"""What a client remembers of matches beyond its questions and watches. Pure.

The newest revision seen of each, so that no node shows it an older one, and in which
history, for a match that lost some goes on from a lower revision; and the token
of each seat it holds, for a node that does not know who holds it.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...runtime.frame import TakeSeat

__all__ = ["ClientMemory"]


_NOTHING = (0, -1)


class ClientMemory:
    """Both are bounded: what was used longest ago is forgotten first."""

    def __init__(self, known_max: int) -> None:
        self._known_max = known_max
        self._seen: dict[str, tuple[int, int]] = {}
        self._seats: dict[tuple[str, str, int], _Held] = {}

    def saw(self, match: str, revision: int, history: int | None = None) -> None:
        """The client knows that the match has come so far; in the history that it
        knows, if none is named."""
        known = self._seen.pop(match, _NOTHING)
        if len(self._seen) >= self._known_max:
            del self._seen[next(iter(self._seen))]
        named = known[0] if history is None else history
        self._seen[match] = max(known, (named, revision))

    def seen(self, match: str) -> tuple[int, int]:
        """(history, revision) of the newest that was seen; (0, -1): nothing was."""
        return self._seen.get(match, _NOTHING)

    def holds(
        self, match: str, epoch: int, seat: str, session: int, token: str
    ) -> None:
        """The client holds a seat's session, and this is the seat's secret."""
        self._seats.pop((match, seat, session), None)
        if len(self._seats) >= self._known_max:
            del self._seats[next(iter(self._seats))]
        take = TakeSeat(0, match, epoch, seat, token, session=session)
        self._seats[match, seat, session] = _Held(take)

    def resumption(self, match: str, seat: str, session: int) -> TakeSeat | None:
        """What shows a node that the session is held here; None: no longer known."""
        held = self._seats.get((match, seat, session))
        return None if held is None else held.take

    def moves(
        self, match: str, seat: str, session: int, place: tuple[str, int]
    ) -> TakeSeat | None:
        """The session speaks to `place` from now on: a process, and which life of our
        link to it.

        Returns what is to be shown there first; None: it has been there all along.
        """
        held = self._seats.get((match, seat, session))
        if held is None or held.place == place:
            return None
        before, held.place = held.place, place
        return None if before is None else held.take


@dataclass(slots=True)
class _Held:
    take: TakeSeat
    place: tuple[str, int] | None = None
