"""The coordinator: the linearizable store of membership, ownership and epochs.

The interface only. Implementations: `hotseat.nodes.coordinators.sqlite` (one
machine), `hotseat.nodes.coordinators.etcd` (many),
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
    "KEY_BYTES_MAX",
    "TRANSACTION_BYTES_MAX",
    "VALUE_BYTES_MAX",
    "WRITES_MAX",
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
    "check_writes",
]

ABSENT = 0
"""The revision of a key that does not exist: expect it to create."""

WRITES_MAX = 64
"""Writes in one transaction: half of etcd's limit, which counts compares too."""

KEY_BYTES_MAX = 512
VALUE_BYTES_MAX = 64 * 1024

TRANSACTION_BYTES_MAX = 1024 * 1024
"""Keys and values together. etcd refuses requests above 1.5 MiB, and says each key
three times; records here are a few hundred bytes."""


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

    With `session`, the key goes away when that session ends; if it has ended
    already, the write is refused as a conflict. A later write without `session`
    frees the key from it.
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
        """Apply all writes or none.

        Raises:
            ValueError: No writes, more than `WRITES_MAX`, one key twice, a delete
                of an absent key, or a key, a value or all of it above its limit.
        """

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


def check_writes(writes: Sequence[Write]) -> None:
    """Refuse a transaction that no implementation may accept.

    Raises:
        ValueError: See `Coordinator.cas_many`.
    """
    if not 1 <= len(writes) <= WRITES_MAX:
        raise ValueError(
            f"a transaction holds 1 to {WRITES_MAX} writes, not {len(writes)}: split it"
        )
    keys = [write.key for write in writes]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key stands twice in one transaction: {sorted(keys)}")
    for write in writes:
        if not 1 <= len(write.key.encode()) <= KEY_BYTES_MAX:
            raise ValueError(f"a key has 1 to {KEY_BYTES_MAX} bytes: {write.key!r}")
        if write.value is None and write.expected == ABSENT:
            raise ValueError(f"nothing to delete: {write.key!r} is expected absent")
        if write.value is not None and len(write.value) > VALUE_BYTES_MAX:
            raise ValueError(
                f"the value of {write.key!r} has {len(write.value)} bytes;"
                f" the limit is {VALUE_BYTES_MAX}"
            )
    size = sum(len(w.key.encode()) + len(w.value or b"") for w in writes)
    if size > TRANSACTION_BYTES_MAX:
        raise ValueError(
            f"a transaction holds {TRANSACTION_BYTES_MAX} bytes, not {size}: split it"
        )
