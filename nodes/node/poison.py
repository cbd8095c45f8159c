"""Matches whose code ran when node processes died, as the whole cluster knows them.

A node that finds another one of its machine gone, and a process that starts after
another, read in the breadcrumb which match's code the dead one was running, and write
that into the coordinator. A match that was seen at two deaths within `WINDOW_MS` is
poison: every node sets it apart, so that it does not end its next owner too. It stays
so: an operator must look at it.

An operator can set any match apart in the same way, and let it go on. The record stays
then: a node that was down meanwhile reads it when it starts.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial

from msgspec.structs import replace

from ...runtime.control_plane import (
    Death,
    Keys,
    PoisonRecord,
    Verdict,
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
    "forget_oldest",
    "is_apart",
    "report_death",
    "write_verdict",
]

DEATHS_TO_POISON = 2
"""One may be an accident: a kill that hit a node while it played."""

WINDOW_MS = 10 * 60 * 1000

DEATHS_KEPT = 8
"""In one record; it needs two."""

RECORDS_MAX = 256
"""Matches that are named in the coordinator; the one named longest ago goes first."""

_APART = "apart"
"""What was told of a match; else the command that lets it go on."""

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
        known = PoisonRecord(deaths=())
        if entry is not None:
            known = decode_record(PoisonRecord, key, entry.value)
        if any((death.node, death.boot) == (node, left.boot) for death in known.deaths):
            return
        deaths = (*known.deaths, Death(node, left.boot, now_ms))[-DEATHS_KEPT:]
        settled = await settle_write(
            coordinator,
            key,
            ABSENT if entry is None else entry.revision,
            partial(_written_anew, replace(known, deaths=deaths)),
        )
        if settled.landed:
            break
    log.warning("match_seen_at_death", match=match, deaths=len(deaths))
    await forget_oldest(coordinator, keys)


async def write_verdict(
    coordinator: Coordinator,
    keys: Keys,
    match: str,
    verdict: Verdict,
    *,
    apart: bool,
    was_apart: bool = False,
) -> Verdict | None:
    """An operator sets a match apart, or lets it go on; None: the record says so.

    How long it was apart is filled in, if that is known to be longer. `was_apart`: it
    is, though the record may not say so.

    Raises:
        CoordinatorUnavailable: No answer, or none that settles it. Ask again.
        ControlRecordInvalid: What stands there cannot be read by this version.
    """
    key = keys.poison(match)
    while True:
        entry = await read_key(coordinator, key)
        known = PoisonRecord(deaths=())
        if entry is not None:
            known = decode_record(PoisonRecord, key, entry.value)
        if is_apart(known) == apart and not (was_apart and not apart):
            return None
        if apart:
            said = PoisonRecord(deaths=known.deaths, apart=verdict)
        else:
            since_ms = _apart_since(known)
            lasted_ms = max(0, verdict.at_ms - since_ms) if since_ms else 0
            verdict = replace(verdict, apart_ms=max(verdict.apart_ms, lasted_ms))
            said = PoisonRecord(deaths=(), released=verdict)
        settled = await settle_write(
            coordinator,
            key,
            ABSENT if entry is None else entry.revision,
            partial(_written_anew, said),
        )
        if settled.landed:
            await forget_oldest(coordinator, keys)
            return verdict


async def forget_oldest(coordinator: Coordinator, keys: Keys) -> None:
    """Keep the number of records bounded; what an operator set apart goes last.
    Whoever else does so is no harm."""
    entries = (await coordinator.list(keys.poisons)).entries
    surplus = len(entries) - RECORDS_MAX
    if surplus <= 0:
        return

    def worth(entry: Entry) -> tuple[bool, int]:
        try:
            record = decode_record(PoisonRecord, entry.key, entry.value)
        except ControlRecordInvalid:
            return (True, entry.revision)
        return (record.apart is not None, entry.revision)

    for entry in sorted(entries, key=worth)[:surplus]:
        await coordinator.cas_many([Write(entry.key, entry.revision, None)])


class PoisonWatch:
    """Tells of each match that is set apart, or goes on, as listings and watches say:
    once, until the record says otherwise."""

    def __init__(
        self,
        keys: Keys,
        apart: Callable[[str], None],
        released: Callable[[str, int], None] = lambda match, apart_ms: None,
    ) -> None:
        """`released` hears for how long it was set apart, in milliseconds."""
        self._keys = keys
        self._apart = apart
        self._released = released
        self._told: dict[str, str] = {}

    def listing(self, listing: Listing) -> None:
        """Everything under the cluster's prefix, as read."""
        for entry in listing.entries:
            self._observe(entry)

    def changed(self, changes: Sequence[Change]) -> None:
        """One transaction, as a watch told of it."""
        for change in changes:
            if change.value is not None:
                self._observe(Entry(change.key, change.value, change.revision))

    def apart(self) -> list[str]:
        """The matches that are set apart, as far as was told."""
        return [match for match, said in self._told.items() if said == _APART]

    def _observe(self, entry: Entry) -> None:
        match = self._keys.poison_of(entry.key)
        if match is None:
            return
        try:
            record = decode_record(PoisonRecord, entry.key, entry.value)
        except ControlRecordInvalid as error:
            log.error("poison_record_invalid", match=match, error=str(error))
            return
        if is_apart(record):
            if self._is_news(match, _APART):
                _log_apart(match, record)
                self._apart(match)
            return
        said = record.released
        if said is not None and self._is_news(match, said.op):
            self._released(match, said.apart_ms)

    def _is_news(self, match: str, said: str) -> bool:
        if self._told.get(match) == said:
            return False
        while len(self._told) >= 4 * RECORDS_MAX:
            del self._told[next(iter(self._told))]
        self._told[match] = said
        return True


def is_apart(record: PoisonRecord) -> bool:
    """Whether the match is set apart: an operator says so, or so many deaths lie within
    the window of each other."""
    return record.apart is not None or bool(_poisonous(record))


def _log_apart(match: str, record: PoisonRecord) -> None:
    said = record.apart
    if said is None:
        log.error("match_poison", match=match, deaths=len(record.deaths))
    else:
        log.warning("match_set_apart", match=match, who=said.who, why=said.why)


def _poisonous(record: PoisonRecord) -> int:
    """When the deaths were enough; 0: they are not."""
    times = sorted(death.at_ms for death in record.deaths)
    for first, last in zip(times, times[DEATHS_TO_POISON - 1 :], strict=False):
        if last - first <= WINDOW_MS:
            return max(1, last)
    return 0


def _apart_since(record: PoisonRecord) -> int:
    """In milliseconds; 0: that is not known."""
    return _poisonous(record) if record.apart is None else record.apart.at_ms


def _written_anew(record: PoisonRecord) -> bytes:
    return encode_record(replace(record, nonce=secrets.token_hex(8)))
