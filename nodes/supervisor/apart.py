"""Matches that are set apart at this node, and how they come back.

One that is set apart keeps its actor, if it has one, which answers a code and does
nothing. To bring it back that actor is given up, once all that it had caused is
settled, and another one made from the committed state.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from ...runtime.lifecycle import ActorState, StopReason
from ...runtime.match_source import MatchSource
from .crew import Crew
from .outages import Outages

__all__ = ["NOT_SETTLED", "Apart"]

NOT_SETTLED = "busy"
"""What it had caused is not committed yet: ask again soon."""

_log = structlog.get_logger()


class Apart:
    """Of one supervisor. `rouse` lets the match's actor look at its deadline."""

    def __init__(
        self,
        crew: Crew,
        source: MatchSource | None,
        outages: Outages,
        rouse: Callable[[str], None],
    ) -> None:
        self._crew = crew
        self._source = source
        self._outages = outages
        self._rouse = rouse

    def set_apart(self, match: str, code: str) -> None:
        """Quarantine a match, if it is here: with an actor, or only its state."""
        actor = self._crew.get(match)
        line = None if self._source is None else self._source.line(match)
        if actor is None and (line is None or line.quarantined == code):
            return
        if actor is not None:
            self._crew.set_apart(actor, StopReason.RUNAWAY, code)
        if self._source is not None and line is not None:
            self._source.quarantine(match, code)
        if line is None or line.quarantined != code:
            # Whoever has it set apart tells why, and how bad that is.
            _log.warning("match_quarantined", match=match, code=code)

    def give_up(self, match: str) -> bool:
        """The match has no actor here: it had none, or one that was set apart and had
        caused nothing that may yet be committed."""
        actor = self._crew.get(match)
        if actor is None:
            return True
        if actor.status is not ActorState.QUARANTINED or not actor.ledger.settled:
            return False
        self._crew.forsake(match)
        return True

    def bring_back(self, match: str, apart_ms: int) -> str:
        """Let a match go on: "", or the code that it still answers with.

        `apart_ms`: nobody could act in it for so long; it is credited if its game says
        so.
        """
        if self._source is None or (line := self._source.line(match)) is None:
            return ""
        actor = self._crew.get(match)
        if actor is not None and actor.status is ActorState.QUARANTINED:
            if not self.give_up(match):
                return NOT_SETTLED
        elif not line.quarantined:
            return ""
        code = self._source.bring_back(match)
        if not code:
            _log.warning("match_brought_back", match=match, code=line.quarantined)
            if line.armed_ms is not None and not line.ended:
                self._outages.owe(line, apart_ms)
            self._rouse(match)
        return code
