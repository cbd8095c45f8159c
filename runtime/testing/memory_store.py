"""The store behind the memory coordinator: linearizable, synchronous, in one process.

It is the contract of `runtime/coordinator.py` in its plainest form, so simulators
use it directly. It knows no clock, no faults and no async library: a session ends
when somebody says so.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence

from ..coordinator import (
    ABSENT,
    CasConflict,
    CasOk,
    Change,
    Entry,
    Listing,
    Write,
    check_writes,
)
from ..errors import WatchCompacted

__all__ = ["KEPT_TRANSACTIONS", "MemoryStore", "StoreImage"]

KEPT_TRANSACTIONS = 1024
"""Transactions, deletes included, that a watch may still ask for."""


RESTORED_AHEAD = 1_000
"""A restored store goes on so many revisions ahead, so that none is used twice."""

StoreImage = tuple[Entry, ...]
"""A backup: what no session holds."""


class MemoryStore:
    """Shared by the handles that simulate the processes of one cluster."""

    def __init__(self, *, kept_transactions: int = KEPT_TRANSACTIONS) -> None:
        self._entries: dict[str, tuple[Entry, str | None]] = {}
        self._history: deque[tuple[int, tuple[Change, ...]]] = deque()
        self._kept = kept_transactions
        self._sessions: dict[str, None] = {}
        self._sessions_opened = 0
        self._listeners: dict[Callable[[], None], None] = {}
        self._revision = 0
        self._compacted = 0  # Invariant: every transaction after it is in _history

    @property
    def revision(self) -> int:
        """Of the newest transaction."""
        return self._revision

    def list(self, prefix: str) -> Listing:
        """All entries under `prefix`, sorted by key."""
        found = sorted(key for key in self._entries if key.startswith(prefix))
        return Listing(tuple(self._entries[key][0] for key in found), self._revision)

    def apply(self, writes: Sequence[Write]) -> CasOk | CasConflict:
        """Apply all writes or none.

        Raises:
            ValueError: See `Coordinator.cas_many`.
        """
        check_writes(writes)
        moved = tuple(write.key for write in writes if not self._may_land(write))
        if moved:
            return CasConflict(moved)
        self._commit([(write.key, write.value, write.session) for write in writes])
        return CasOk(self._revision)

    def changes_after(
        self, prefix: str, revision: int
    ) -> tuple[tuple[int, tuple[Change, ...]], ...]:
        """Transactions after `revision` that touched `prefix`, oldest first.

        Raises:
            WatchCompacted: Some of them are no longer kept.
        """
        if revision < self._compacted:
            raise WatchCompacted(
                f"changes after {revision} are gone, the oldest kept is"
                f" {self._compacted + 1}: list again"
            )
        start = bisect_right(self._history, revision, key=lambda kept: kept[0])
        found = []
        for at in range(start, len(self._history)):
            number, changes = self._history[at]
            mine = tuple(c for c in changes if c.key.startswith(prefix))
            if mine:
                found.append((number, mine))
        return tuple(found)

    def compact(self) -> None:
        """Forget the history, as a store does in its own time."""
        self._history.clear()
        self._compacted = self._revision

    def image(self) -> StoreImage:
        """A backup of all that is there now."""
        kept = self._entries.values()
        return tuple(entry for entry, session in kept if session is None)

    def restore(self, image: StoreImage) -> None:
        """Be what it was, entries and their revisions; all sessions are gone.

        The revision goes on, far ahead, as whoever restores a store has it: no watch
        can tell what happened.
        """
        self._entries = {entry.key: (entry, None) for entry in image}
        self._sessions.clear()
        self._revision += RESTORED_AHEAD
        self.compact()

    def open_session(self) -> str:
        """A new session, alive until `end_session`."""
        self._sessions_opened += 1
        session = f"session-{self._sessions_opened}"
        self._sessions[session] = None
        return session

    def has_session(self, session: str) -> bool:
        return session in self._sessions

    def end_session(self, session: str) -> None:
        """End it (closed, or expired): its keys go, in one transaction."""
        if session not in self._sessions:
            return
        del self._sessions[session]
        held = sorted(
            k for k, (_, holder) in self._entries.items() if holder == session
        )
        if held:
            self._commit([(key, None, None) for key in held])

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every transaction, until `unlisten`."""
        self._listeners[listener] = None

    def unlisten(self, listener: Callable[[], None]) -> None:
        self._listeners.pop(listener, None)

    def _may_land(self, write: Write) -> bool:
        if write.session is not None and write.session not in self._sessions:
            return False
        held = self._entries.get(write.key)
        return write.expected == (ABSENT if held is None else held[0].revision)

    def _commit(self, writes: Sequence[tuple[str, bytes | None, str | None]]) -> None:
        self._revision += 1
        for key, value, session in writes:
            if value is None:
                del self._entries[key]
            else:
                self._entries[key] = (Entry(key, value, self._revision), session)
        changes = tuple(Change(key, value, self._revision) for key, value, _ in writes)
        self._history.append((self._revision, changes))
        while len(self._history) > self._kept:
            self._compacted, _ = self._history.popleft()
        for listener in tuple(self._listeners):
            listener()
