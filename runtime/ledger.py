"""A match's log at its owner: what is committed, and what is ahead of it.

Records are appended, handed over to the committer in groups, and committed in order.
An answer leaves when the state it was judged on is committed: a refusal too, since it
tells of that state. What is abandoned before is dropped as if it had never been.

Invariant: committed index <= submitted index <= index of the state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..engine.record import Record
from .committer import Committer
from .frame import Response
from .match_change import Change
from .match_state import MatchState
from .route import Outlet, Route
from .translate import refused

__all__ = ["Ledger"]


class Ledger:
    """The log of one match, its two states, and the answers that wait."""

    def __init__(
        self,
        created: Change,
        *,
        committer: Committer,
        outlet: Outlet,
        on_commit: Callable[[Sequence[Change]], None],
        on_abandon: Callable[[], None],
    ) -> None:
        self.state: MatchState = created.state
        """What the next command is judged on: private until it is committed."""
        self.committed: MatchState | None = None
        """All that anyone may learn; None until the creation is committed."""
        self.records: list[Record] = []
        """The committed log. It only grows."""
        self._committer = committer
        self._outlet = outlet
        self._on_commit = on_commit
        self._on_abandon = on_abandon
        self._ahead: list[Change] = [created]
        self._unsubmitted: list[Record] = [created.record]
        self._answers: list[tuple[int, Route, Response]] = []

    @property
    def settled(self) -> bool:
        """Whether nothing waits for a commit."""
        return not self._ahead and not self._answers

    @property
    def waiting(self) -> int:
        """Answers that wait for a commit."""
        return len(self._answers)

    def append(self, change: Change) -> None:
        """Go on from a change that was decided on `state`."""
        assert change.record.index == self.state.index + 1, change.record
        self.state = change.state
        self._ahead.append(change)
        self._unsubmitted.append(change.record)

    def answer(self, route: Route, frame: Response) -> None:
        """Tell this once the present state is committed."""
        self._answers.append((self.state.index, route, frame))

    def hand_over(self) -> None:
        """Give what was appended since the last time to the committer."""
        if self._unsubmitted:
            self._committer.submit(
                self.state.match,
                self.state.epoch,
                self._unsubmitted,
                on_commit=self._committed_up_to,
                on_abandon=self._on_abandon,
            )
            self._unsubmitted = []

    def release(self) -> None:
        """Let the answers go whose state is committed."""
        committed = self._committed_index()
        released = 0
        for needed, route, frame in self._answers:
            if needed > committed:
                break
            self._outlet.deliver(route, frame)
            released += 1
        del self._answers[:released]

    def abandon(self, code: str) -> None:
        """Drop all that is not committed; answer with `code` whoever waits for it."""
        self._drop_after(self._committed_index(), code)

    def withdraw(self, code: str) -> None:
        """Drop what was not handed over: the rest may yet be committed."""
        submitted = self.state.index - len(self._unsubmitted)
        self._drop_after(submitted, code)

    def _committed_up_to(self, index: int) -> None:
        changes = [c for c in self._ahead if c.record.index <= index]
        if changes:
            del self._ahead[: len(changes)]
            self.committed = changes[-1].state
            self.records.extend([change.record for change in changes])
            self._on_commit(changes)

    def _committed_index(self) -> int:
        return -1 if self.committed is None else self.committed.index

    def _drop_after(self, index: int, code: str) -> None:
        self.release()
        while self._ahead and self._ahead[-1].record.index > index:
            self._ahead.pop()
        self._unsubmitted = []
        if self._ahead:
            self.state = self._ahead[-1].state
        elif self.committed is not None:
            self.state = self.committed
        for needed, route, frame in self._answers:
            if needed > index:
                self._outlet.deliver(route, refused(frame.request, code))
        self._answers = [answer for answer in self._answers if answer[0] <= index]
