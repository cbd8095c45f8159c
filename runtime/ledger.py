"""A match's log at its owner: what is committed, and what is ahead of it.

Changes are appended, handed over to the committer in groups, and committed in order.
An answer leaves when the state it was judged on is committed. One that says how
matters stand (a refusal, above all) must also be no older than the question: it waits
until the committer has confirmed that nobody else commits for this match. What is
abandoned before is dropped as if it had never been.

Invariant: committed index <= submitted index <= index of the state.
Invariant: answers leave in the order in which they were given.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .committer import Committer
from .frame import Response
from .match_change import Change
from .match_source import KeptLog, LogReader, SourceLog
from .match_state import MatchState
from .route import Outlet, Route
from .translate import refused

__all__ = ["Ledger"]


@dataclass(frozen=True, slots=True)
class _Answer:
    index: int  # that must be committed
    record: int | None  # that it tells of, if it tells that something was done
    round: int  # that must be confirmed; 0: none
    route: Route | None  # None: an operator asked
    frame: Response | None = None
    tell: Callable[[str], None] | None = None  # the operator; "": it is sure now


class Ledger:
    """The log of one match, its two states, and the answers that wait.

    It begins with the change that created the match, or with a committed state whose
    log is stored elsewhere.
    """

    def __init__(
        self,
        begin: Change | MatchState,
        *,
        committer: Committer,
        outlet: Outlet,
        on_commit: Callable[[Sequence[Change]], None],
        on_confirm: Callable[[], None],
        on_abandon: Callable[[int], None],
        stored: SourceLog | None = None,
    ) -> None:
        self.records: LogReader = KeptLog() if stored is None else stored
        """The committed log. It only grows."""
        self._stored = stored
        self._committer = committer
        self._outlet = outlet
        self._on_commit = on_commit
        self._on_confirm = on_confirm
        self._on_abandon = on_abandon
        self._answers: deque[_Answer] = deque()
        self._round = 1  # that the next answer belongs to which asks for one
        self._round_wanted = False
        self._confirmed_round = 0
        self.committed: MatchState | None
        """All that anyone may learn; None until the creation is committed."""
        self.state: MatchState
        """What the next command is judged on: private until it is committed."""
        if isinstance(begin, Change):
            self.state, self.committed = begin.state, None
            self._ahead, self._unsubmitted = [begin], [begin]
        else:
            self.state, self.committed = begin, begin
            self._ahead, self._unsubmitted = [], []

    @property
    def settled(self) -> bool:
        """Whether nothing waits for a commit or a confirmation."""
        return not self._ahead and not self._answers

    @property
    def waiting(self) -> int:
        """Answers that wait."""
        return len(self._answers)

    def append(self, change: Change) -> None:
        """Go on from a change that was decided on `state`."""
        assert change.record.index == self.state.index + 1, change.record
        self.state = change.state
        self._ahead.append(change)
        self._unsubmitted.append(change)

    def answer(
        self,
        route: Route,
        frame: Response,
        *,
        record: int | None = None,
        fresh: bool = False,
    ) -> None:
        """Tell this once the present state is committed.

        If it tells what the record with the number `record` did, once that is. With
        `fresh`, it must also be confirmed that the state was the newest anywhere.
        """
        self._round_wanted |= fresh
        index = self.state.index if record is None else record
        needed = self._round if fresh else 0
        self._answers.append(_Answer(index, record, needed, route, frame))

    def tell(
        self,
        tell: Callable[[str], None],
        *,
        record: int | None = None,
        fresh: bool = False,
    ) -> None:
        """As `answer`, by a call: with "" when it is sure, else with why it is not."""
        self._round_wanted |= fresh
        index = self.state.index if record is None else record
        needed = self._round if fresh else 0
        self._answers.append(_Answer(index, record, needed, None, tell=tell))

    def hand_over(self) -> None:
        """Give what came since the last time to the committer."""
        if self._unsubmitted:
            self._committer.submit(
                self.state.match,
                self._unsubmitted,
                on_commit=self._committed_up_to,
                on_abandon=self._on_abandon,
            )
            self._unsubmitted = []
        if self._round_wanted:
            asked, self._round = self._round, self._round + 1
            self._round_wanted = False
            self._committer.confirm(self.state.match, lambda: self._confirmed(asked))

    def release(self) -> None:
        """Let the answers go that need wait no longer."""
        committed, confirmed = self._committed_index(), self._confirmed_round
        answers = self._answers
        while answers:
            first = answers[0]
            if first.index > committed or first.round > confirmed:
                return
            answers.popleft()
            if first.route is not None and first.frame is not None:
                self._outlet.deliver(first.route, first.frame)
            elif first.tell is not None:
                first.tell("")

    def abandon(self, unsent: int | None = None) -> None:
        """Drop all that is not committed; who waits is told that it is not known.

        `unsent`: records from this index on were seen by nobody else, so that what they
        did has certainly not happened.
        """
        self.release()
        self._drop_after(self._committed_index())
        answers, self._answers = self._answers, deque()
        for answer in answers:
            record = answer.record
            lost = unsent is not None and record is not None and record >= unsent
            self._refuse(answer, "not_committed" if lost else "retry")

    def withdraw(self, code: str) -> None:
        """Drop what was not handed over: the rest may yet be committed."""
        self.release()
        submitted = self.state.index - len(self._unsubmitted)
        self._drop_after(submitted)
        for answer in self._answers:
            if answer.index > submitted:
                self._refuse(answer, code)
        self._answers = deque(a for a in self._answers if a.index <= submitted)

    def _committed_up_to(self, index: int) -> None:
        changes = [c for c in self._ahead if c.record.index <= index]
        if not changes:
            return
        del self._ahead[: len(changes)]
        self.committed = changes[-1].state
        if self._stored is not None:
            self._stored.count = self.committed.index + 1
        elif isinstance(self.records, KeptLog):
            self.records.extend([change.record for change in changes])
        self._on_commit(changes)

    def _confirmed(self, number: int) -> None:
        self._confirmed_round = max(self._confirmed_round, number)
        self._on_confirm()

    def _committed_index(self) -> int:
        return -1 if self.committed is None else self.committed.index

    def _drop_after(self, index: int) -> None:
        while self._ahead and self._ahead[-1].record.index > index:
            self._ahead.pop()
        self._unsubmitted = []
        if self._ahead:
            self.state = self._ahead[-1].state
        elif self.committed is not None:
            self.state = self.committed

    def _refuse(self, answer: _Answer, code: str) -> None:
        if answer.route is not None and answer.frame is not None:
            self._outlet.deliver(answer.route, refused(answer.frame.request, code))
        elif answer.tell is not None:
            answer.tell(code)
