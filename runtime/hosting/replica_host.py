"""The host of a node's replicas: where the replication core meets the matches.

It joins the committed states of all matches here (`ReplicaStates`), what the actors of
served shards wait for (`ReplicatedCommitter`), and whoever lets the actors work
(`Matches`, the supervisor). It decides nothing: what the core says is told to each of
them, in the order in which it must be.

- Committed entries: those of an actor go to it, the others are applied to the states;
  then the actors are told, each once.
- Demoted: what was not committed is abandoned first, then the shard's matches leave.
- Serving: all that was committed is applied by then, so actors begin from the states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ..clock import Clock
from ..control_plane import SHARDS_MAX
from ..journal import MatchLine, StoreOp
from ..match_change import Change
from ..replica_runner import FeedPage, Judged, News
from ..replication.message import Entry, Piece, Raw
from ..replication.output import (
    Alarm,
    Attach,
    Carry,
    Come,
    Committed,
    Confirmed,
    Demoted,
    Detach,
    Feed,
    Install,
    Serving,
    Split,
    StateWanted,
)
from ..traces import Traces
from .replicated_committer import ReplicatedCommitter

__all__ = ["FEED_BYTES", "Matches", "ReplicaHost", "States"]

FEED_BYTES = 512 * 1024
"""Of a page of states for a learner, unless one piece alone is larger."""


class Matches(Protocol):
    """Who lets the actors work: the supervisor."""

    def adopt(
        self, shard: int, epoch: int, outage_ms: int = 0, ahead_ms: int = 0
    ) -> None:
        """Serve the shard; nobody could act in it for `outage_ms` before, and its time
        is `ahead_ms` ahead of this node's clock."""

    def release(self, shard: int) -> None:
        """Serve the shard no longer."""

    def work(self) -> None:
        """Let those actors work that were woken."""

    def detach(self, match: str, *, again: bool = False) -> None:
        """Log that the match leaves its home, and hold it from then on; `again`: that
        it stays where it is pinned."""

    def attach(self, match: str) -> None:
        """Log that it stays at home; or goes home, and is held."""

    def arrived(self, line: MatchLine) -> None:
        """A match has come home."""

    def forsake(self, match: str) -> None:
        """It is in another shard from now on."""


class States(Protocol):
    """Committed states; see `ReplicaStates`."""

    def apply(self, shard: int, entry: Entry) -> None: ...

    def took(self, shard: int, entry: Entry, change: Change) -> None: ...

    def feed(self, feed: Feed, limit: int) -> FeedPage: ...

    def install(self, install: Install) -> tuple[StoreOp, ...]: ...

    def judge(self, install: Install) -> Judged: ...

    def copied(self, shard: int, piece: Piece) -> tuple[StoreOp, ...]: ...

    def split(self, split: Split) -> tuple[StoreOp, ...]: ...

    def carry(self, carry: Carry) -> Sequence[Raw]: ...

    def come(self, shard: int, match: str) -> bool: ...

    def wipe(self, shard: int) -> None: ...

    def line(self, match: str) -> MatchLine | None: ...

    def take_leaving(self) -> Sequence[News]: ...

    def state_pieces(self, match: str) -> tuple[Piece, ...]: ...

    def take_alarms(self) -> Iterable[Alarm]: ...

    def take_wanted(self) -> Iterable[tuple[int, str]]: ...


class ReplicaHost:
    """The runner's `Host`."""

    def __init__(
        self,
        states: States,
        committer: ReplicatedCommitter,
        matches: Matches,
        clock: Clock,
        *,
        ask_state: Callable[[int, str, int], None],
        alarm: Callable[[Alarm], None],
        now_ms: Callable[[], int],
        alive_ms: int = 0,
        traces: Traces | None = None,
    ) -> None:
        """`ask_state(shard, match, now_ms)` is the runner's; `alarm` tells an operator;
        `now_ms` is the runner's clock, `clock` the wall's. `alive_ms` is when an
        earlier process of this node lived last, by the wall (0: unknown).
        """
        self._states = states
        self._committer = committer
        self._matches = matches
        self._clock = clock
        self._ask_state = ask_state
        self._alarm = alarm
        self._now_ms = now_ms
        self._alive_ms = alive_ms
        self._traces = traces

    def demoted(self, demoted: Demoted) -> None:
        """Serve no longer; answer what waits; drop what is not committed."""
        self._committer.demoted(demoted)
        self._matches.release(demoted.shard)
        self._matches.work()

    def install(self, install: Install) -> tuple[StoreOp, ...]:
        """Take states from the owner."""
        ops = self._states.install(install)
        self._report()
        return ops

    def judge(self, install: Install) -> Judged:
        """Compare what came of a page with what the owner says that it holds."""
        return self._states.judge(install)

    def split(self, split: Split) -> tuple[StoreOp, ...]:
        """A match changes its shard: no actor serves it where it was."""
        self._matches.forsake(split.match)
        ops = self._states.split(split)
        self._report()
        return ops

    def fixed(self, match: str) -> str:
        """Why the match cannot be pinned, or folded back."""
        line = self._states.line(match)
        if line is None or line.shard < 0:
            return "no_such_match"
        return line.quarantined or ("ended" if line.ended else "")

    def pin_asked(self, asked: Detach | Attach) -> None:
        """Have the match log it."""
        if isinstance(asked, Detach):
            again = asked.shard >= SHARDS_MAX
            self._matches.detach(asked.match, again=again)
        else:
            self._matches.attach(asked.match)
        self._matches.work()

    def carry(self, carry: Carry) -> Sequence[Raw]:
        """All of a match, in pieces for the log of its home."""
        records = self._states.carry(carry)
        self._report()
        return records

    def come(self, come: Come) -> None:
        """What came by the log is the match: its deadline counts again. Or it was, and
        the match has gone on since: who serves it is left alone."""
        if self._states.come(come.shard, come.match):
            self._matches.forsake(come.match)
            line = self._states.line(come.match)
            if line is not None:
                self._matches.arrived(line)
        self._report()

    def gone(self, shard: int) -> None:
        """A pinned shard is no more."""
        self._states.wipe(shard)
        self._report()

    def take_leaving(self) -> Sequence[News]:
        """News of the matches that leave their shards."""
        return self._states.take_leaving()

    def committed(self, committed: Committed) -> None:
        """Apply, or release what waits."""
        shard = committed.shard
        for entry in committed.entries:
            if not self._committer.took(shard, entry):
                self._states.apply(shard, entry)
        if self._traces is not None:
            self._traces.note_committed(shard, committed.entries, committed.trail)
        self._committer.tell(shard)
        self._report()
        self._matches.work()

    def serving(self, serving: Serving) -> None:
        """Serve the shard from now on."""
        # Nobody was heard since this process began: then nobody served, as far as can
        # be known, since the one before it ended.
        heard_ms = serving.last_heard_ms or self._alive_ms
        silent_ms = self._clock.now_ms() - heard_ms if heard_ms else 0
        self._matches.adopt(
            serving.shard, serving.epoch, max(0, silent_ms), max(0, -silent_ms)
        )
        self._matches.work()

    def confirmed(self, confirmed: Confirmed) -> None:
        """Release the answers that wait for it."""
        self._committer.confirmed(confirmed)
        self._matches.work()

    def feed(self, feed: Feed) -> FeedPage:
        """The page of states behind the cursor."""
        return self._states.feed(feed, FEED_BYTES)

    def state(self, wanted: StateWanted) -> tuple[Piece, ...]:
        """A match's committed state."""
        return self._states.state_pieces(wanted.match)

    def copied(self, shard: int, piece: Piece) -> tuple[StoreOp, ...]:
        """The owner's copy of a state that differed here."""
        ops = self._states.copied(shard, piece)
        self._report()
        return ops

    def _report(self) -> None:
        for alarm in self._states.take_alarms():
            self._alarm(alarm)
        for shard, match in self._states.take_wanted():
            self._ask_state(shard, match, self._now_ms())
