"""Verdicts on matches: one is set apart, and comes back when the verdict is lifted.

A verdict is no inability: the match could be carried on, and is not to be. What is
lifted is not believed either: the state is got back from what is stored and from the
log, as after a start, and has the digest that the log says, or the match stays apart.
"""

from __future__ import annotations

from ..errors import JournalCorrupt
from ..journal import StoreReader
from .hot_match import INABILITIES, HotMatch
from .restore import CannotRestore
from .roster import Roster

__all__ = ["Verdicts"]


class Verdicts:
    """Of the matches of one node."""

    def __init__(self, roster: Roster, store: StoreReader) -> None:
        self._roster = roster
        self._store = store

    def set_apart(self, match: HotMatch, code: str) -> None:
        """From now on it answers with `code`; one that is stuck has its own."""
        if match.stuck:
            return
        match.code = code
        if match.state is None and match.body is None:
            # It is saved as it was stored: its game is not run.
            try:
                match.body = self._store.state(match.match)
            except JournalCorrupt as error:
                self._roster.set_apart(match, "state_corrupt", str(error))
                return
        self._roster.checkpoints.touch(match, self._roster.now_ms)

    def lift(self, match: HotMatch) -> str:
        """Let it go on: "", or the code that it still answers with, and why."""
        roster = self._roster
        if match.stuck:
            match.failures = match.asks = 0
            if match.code == "log_gap":
                # What is here may be sound, and is not all: only a copy helps.
                roster.ask_copy(match)
            else:
                match.retry_ms = 0
                roster.wake(match)
            return match.code
        if not match.code:
            return ""
        try:
            state = roster.restorer.restore(match, match.index)
        except CannotRestore as error:
            roster.set_apart(match, error.code, str(error))
            return match.code
        except Exception as error:  # author code; a store that fails
            why = f"{type(error).__name__}: {error}"
            roster.set_apart(match, "recovery_failed", why)
            return match.code
        if state is None:
            roster.set_apart(match, "log_gap", "nothing is stored of it")
            return match.code
        assert match.code not in INABILITIES, match.code
        match.code = ""
        match.state = state
        roster.tiers.used(match, roster.now_ms)
        roster.checkpoints.touch(match, roster.now_ms)
        return ""
