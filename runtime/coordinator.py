"""The coordinator: the linearizable store of membership, ownership and epochs.

The interface only. Implementations: `hotseat.nodes.sqlite` (one machine),
`hotseat.runtime.testing.memory_coordinator` (tests, simulator); all pass
`hotseat.runtime.testing.check_coordinator`.

Rules: every write is a compare-and-swap on the key's revision; its value carries
a fresh nonce; the outcome `unknown` is resolved only by a read that shows a
changed revision, since the request may land later.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

__all__ = [
    "ABSENT",
    "CasConflict",
    "CasOk",
    "CasOutcome",
    "CasUnknown",
    "Change",
    "Coordinator",
    "Entry",
    "Listing",
    "Session",
    "Write",
]

ABSENT = 0
"""The revision of a key that does not exist: expect it to create."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One key as read. `revision` is the store's revision of its last write."""

    key: str
    value: bytes
    revision: int


@dataclass(frozen=True, slots=True)
class Listing:
    """All entries under a prefix, sorted by key, at one revision of the store."""

    entries: tuple[Entry, ...]
    revision: int


@dataclass(frozen=True, slots=True)
class Write:
    """Write `value` (None deletes) if the key's revision is `expected`.

    With `session`, the key goes away when that session ends.
    """

    key: str
    expected: int
    value: bytes | None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class CasOk:
    """All writes landed, together, at this revision of the store."""

    revision: int


@dataclass(frozen=True, slots=True)
class CasConflict:
    """None landed: these keys had another revision."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CasUnknown:
    """It may have landed, may land later, or never."""

    reason: str


CasOutcome = CasOk | CasConflict | CasUnknown


@dataclass(frozen=True, slots=True)
class Change:
    """A key's new value, or None for a delete (tombstone)."""

    key: str
    value: bytes | None
    revision: int


class Session(Protocol):
    """A liveness lease, kept alive until closed. A hint, never safety."""

    @property
    def id(self) -> str: ...

    @property
    def lost(self) -> bool:
        """True once the lease is known to be gone."""


class Coordinator(Protocol):
    """Use it as an async context manager. At most 64 writes in one transaction."""

    async def list(self, prefix: str) -> Listing:
        """Linearizable read of all keys under `prefix`.

        Raises:
            CoordinatorUnavailable: No answer in time.
        """

    async def cas_many(self, writes: Sequence[Write]) -> CasOutcome:
        """Apply all writes or none."""

    def session(self, ttl_s: float) -> AbstractAsyncContextManager[Session]:
        """A lease of `ttl_s` seconds, renewed in the background."""

    def watch(
        self, prefix: str, from_revision: int
    ) -> AbstractAsyncContextManager[AsyncIterator[tuple[Change, ...]]]:
        """Changes under `prefix` after `from_revision`, in order, deletes too.

        Each item is what one transaction changed.

        Raises:
            WatchCompacted: `from_revision` is before the oldest kept change.
            CoordinatorUnavailable: The watch broke: list again.
        """

    async def __aenter__(self) -> Coordinator: ...

    async def __aexit__(self, *exc_info: object) -> None: ...
