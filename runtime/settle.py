"""Find out what became of one key's compare-and-swap, whatever was answered.

An unknown outcome is settled only when the key's revision has moved. A read of the
old revision proves nothing, since the request may land later; so another one, with
a new nonce and from the same revision, is sent: of all these at most one lands, and
when one has, none of the others ever will.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import anyio

from .coordinator import ABSENT, CasConflict, CasOk, Coordinator, Entry, Write
from .errors import CoordinatorUnavailable

__all__ = ["SETTLE_ATTEMPTS", "Settled", "read_key", "settle_write"]

SETTLE_ATTEMPTS = 8
SETTLE_PAUSE_S = 0.05
"""Before the second attempt; each further pause is twice as long (6 s in all)."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What stands at the key now (None: nothing), and whether it is our write.

    `landed` is false also when our write landed and was replaced since.
    """

    entry: Entry | None
    landed: bool


async def settle_write(
    coordinator: Coordinator,
    key: str,
    expected: int,
    encode: Callable[[], bytes],
    *,
    session: str | None = None,
) -> Settled:
    """Write to `key` if its revision is `expected`; return only what is known.

    `encode` gives the value, with a fresh nonce in it at each call.

    Raises:
        CoordinatorUnavailable: Still unknown after `SETTLE_ATTEMPTS`.
    """
    tried: list[bytes] = []
    for attempt in range(SETTLE_ATTEMPTS):
        if attempt:
            await anyio.sleep(SETTLE_PAUSE_S * 2 ** (attempt - 1))
        value = encode()
        assert value not in tried, f"two attempts on {key} carry the same nonce"
        tried.append(value)
        outcome = await coordinator.cas_many([Write(key, expected, value, session)])
        if isinstance(outcome, CasOk):
            return Settled(Entry(key, value, outcome.revision), True)
        try:
            entry = await read_key(coordinator, key)
        except CoordinatorUnavailable:
            continue
        moved = (ABSENT if entry is None else entry.revision) != expected
        if moved or isinstance(outcome, CasConflict):
            return Settled(entry, entry is not None and entry.value in tried)
    raise CoordinatorUnavailable(
        f"the outcome of a write to {key} is unknown after {SETTLE_ATTEMPTS} attempts"
    )


async def read_key(coordinator: Coordinator, key: str) -> Entry | None:
    """Linearizable read of one key.

    Raises:
        CoordinatorUnavailable: No answer in time.
    """
    listing = await coordinator.list(key)
    return next((entry for entry in listing.entries if entry.key == key), None)
