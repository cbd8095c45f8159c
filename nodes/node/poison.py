"""Matches whose code ran when node processes died, as the whole cluster knows them.

A node that finds another one of its machine gone, and a process that starts after
another, read in the breadcrumb which match's code the dead one was running, and write
that into the coordinator. A match that was seen at two deaths within `WINDOW_MS` is
poison: every node sets it apart, so that it does not end its next owner too. It stays
so: an operator must look at it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence

from ...runtime.control_plane import (
    Death,
    Keys,
    PoisonRecord,
    decode_record,
    encode_record,
)
from ...runtime.coordinator import ABSENT, Change, Coordinator, Entry, Listing, Write
from ...runtime.errors import ControlRecordInvalid
from ...runtime.settle import read_key, settle_write
from ..telemetry import get_logger
from .breadcrumb import Breadcrumb

__all__ = [
    "DEATHS_TO_POISON",
    "RECORDS_MAX",
    "WINDOW_MS",
    "PoisonWatch",
    "report_death",
]

DEATHS_TO_POISON = 2
"""One may be an accident: a kill that hit a node while it played."""

WINDOW_MS = 10 * 60 * 1000

DEATHS_KEPT = 8
"""In one record; it needs two."""

RECORDS_MAX = 256
"""Matches that are named in the coordinator; the one named longest ago goes first."""

log = get_logger()


async def report_death(
    coordinator: Coordinator, keys: Keys, node: str, left: Breadcrumb, now_ms: int
) -> None:
    """Write down that a process of `node` died while the code of a match ran.

    Of one death several may tell: it is counted once.

    Raises:
        CoordinatorUnavailable: No answer, or none that settles it. Ask again.
        ControlRecordInvalid: What stands there cannot be read by this version.
    """
    match = left.match
    key = keys.poison(match)
    while True:
        entry = await read_key(coordinator, key)
        known: tuple[Death, ...] = ()
        if entry is not None:
            known = decode_record(PoisonRecord, key, entry.value).deaths
        if any((death.node, death.boot) == (node, left.boot) for death in known):
            return
        deaths = (*known, Death(node, left.boot, now_ms))[-DEATHS_KEPT:]
        settled = await settle_write(
            coordinator,
            key,
            ABSENT if entry is None else entry.revision,
            lambda: encode_record(
                PoisonRecord(deaths=deaths, nonce=secrets.token_hex(8))  # noqa: B023
            ),
        )
        if settled.landed:
            break
    log.warning("match_seen_at_death", match=match, deaths=len(deaths))
    await _forget_oldest(coordinator, keys)


async def _forget_oldest(coordinator: Coordinator, keys: Keys) -> None:
    """Keep the number of records bounded. Whoever else does so is no harm."""
    entries = (await coordinator.list(keys.poisons)).entries
    surplus = len(entries) - RECORDS_MAX
    for entry in sorted(entries, key=lambda entry: entry.revision)[: max(0, surplus)]:
        await coordinator.cas_many([Write(entry.key, entry.revision, None)])


class PoisonWatch:
    """Tells once of each match that is poison, as listings and watches say."""

    def __init__(self, keys: Keys, tell: Callable[[str], None]) -> None:
        self._keys = keys
        self._tell = tell
        self._told: dict[str, None] = {}

    def listing(self, listing: Listing) -> None:
        """Everything under the cluster's prefix, as read."""
        for entry in listing.entries:
            self._observe(entry)

    def changed(self, changes: Sequence[Change]) -> None:
        """One transaction, as a watch told of it."""
        for change in changes:
            if change.value is not None:
                self._observe(Entry(change.key, change.value, change.revision))

    def _observe(self, entry: Entry) -> None:
        match = self._keys.poison_of(entry.key)
        if match is None or match in self._told:
            return
        try:
            record = decode_record(PoisonRecord, entry.key, entry.value)
        except ControlRecordInvalid as error:
            log.error("poison_record_invalid", match=match, error=str(error))
            return
        if not _is_poison(record):
            return
        while len(self._told) >= 4 * RECORDS_MAX:
            del self._told[next(iter(self._told))]
        self._told[match] = None
        self._tell(match)


def _is_poison(record: PoisonRecord) -> bool:
    """Whether so many deaths lie within the window of each other."""
    times = sorted(death.at_ms for death in record.deaths)
    return any(
        last - first <= WINDOW_MS
        for first, last in zip(times, times[DEATHS_TO_POISON - 1 :], strict=False)
    )
