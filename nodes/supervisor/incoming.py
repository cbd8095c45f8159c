"""A match whose log comes from elsewhere: its records are committed as they are.

Meanwhile it is set apart, so that nobody acts in the middle of its history and no
deadline of the past fires. Whoever brings it in releases it at the end; if this node
dies before, it stays apart, with the part that came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...runtime.actor import MatchActor
from ...runtime.lifecycle import ActorState
from ...runtime.match_change import Change
from ...runtime.match_source import MatchSource

__all__ = ["Incoming"]


class Incoming:
    """One match at one node. Made by the supervisor."""

    def __init__(
        self,
        actor: MatchActor,
        source: MatchSource | None,
        hand_on: Callable[[], None],
    ) -> None:
        self._actor = actor
        self._source = source
        self._hand_on = hand_on
        self._marked = False

    @property
    def lost(self) -> bool:
        """This node owns the match no longer: what is not committed is not."""
        return self._actor.status is ActorState.STOPPED

    @property
    def settled(self) -> bool:
        """All that was put is committed."""
        settled = self._actor.ledger.settled
        if settled and not self._marked and self._source is not None:
            self._marked = True
            self._source.quarantine(self._actor.match, self._actor.quarantine_code)
        return settled

    def put(self, changes: Sequence[Change]) -> None:
        """The next records, and what they lead to. Wait until it is settled."""
        for change in changes:
            self._actor.ledger.append(change)
        self._actor.ledger.hand_over()
        self._hand_on()
