"""What a node found on its disk when it started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .message import Entry

__all__ = ["Recovered", "RecoveredShard"]


@dataclass(frozen=True, slots=True)
class RecoveredShard:
    """One shard's log behind (`base_seq`, `base_epoch`), whole and in order.

    The states on disk cover at least `base_seq`; `commit` is a lower bound of what is
    committed, `base_seq` <= `commit` <= the last entry's sequence number. An install
    that was not completed is not found at all.
    """

    shard: int
    promised: int = 0
    base_seq: int = 0
    base_epoch: int = 0
    entries: tuple[Entry, ...] = ()
    commit: int = 0


@dataclass(frozen=True, slots=True)
class Recovered:
    """A node's data. `ident` "" when there is none, or when it lost something."""

    ident: str = ""
    boot: int = 0
    nonce: str = ""
    shards: Mapping[int, RecoveredShard] = field(default_factory=dict)
