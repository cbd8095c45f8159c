"""Matches that were seen at the deaths of nodes: told once, bounded, in any order."""

from __future__ import annotations

import itertools

import pytest
from structlog.testing import capture_logs

from hotseat.nodes.node.breadcrumb import Breadcrumb
from hotseat.nodes.node.poison import (
    RECORDS_MAX,
    WINDOW_MS,
    PoisonWatch,
    report_death,
    write_verdict,
)
from hotseat.runtime.control_plane import Keys, Verdict, encode_record
from hotseat.runtime.control_plane import PoisonRecord as Record
from hotseat.runtime.coordinator import ABSENT, Write
from hotseat.runtime.errors import ControlRecordInvalid
from hotseat.runtime.testing.memory_coordinator import CasFault, MemoryCoordinator
from hotseat.runtime.testing.memory_store import MemoryStore

KEYS = Keys("test")


boots = itertools.count()


async def die(
    coordinator: MemoryCoordinator, match: str, node: str, at_ms: int, boot: str = ""
) -> None:
    """A process of the node dies in the match's code; its next one tells."""
    left = Breadcrumb(match, boot or f"boot-{next(boots)}")
    await report_death(coordinator, KEYS, node, left, at_ms)


async def poison(coordinator: MemoryCoordinator) -> list[str]:
    """What a node that starts now sets apart."""
    told: list[str] = []
    PoisonWatch(KEYS, told.append).listing(await coordinator.list(KEYS.prefix))
    return told


async def test_two_deaths_within_minutes_make_a_match_poison() -> None:
    """On two nodes or on one; a single death accuses nobody."""
    coordinator = MemoryCoordinator(MemoryStore())
    await die(coordinator, "m1", "n1", 1_000)
    await die(coordinator, "m2", "n1", 2_000)
    assert await poison(coordinator) == []
    await die(coordinator, "m1", "n2", 3_000)
    assert await poison(coordinator) == ["m1"]


async def test_of_one_death_several_may_tell() -> None:
    """Those who saw it, and the process that comes after."""
    coordinator = MemoryCoordinator(MemoryStore())
    for at_ms in range(3):
        await die(coordinator, "m1", "n1", at_ms, boot="same")
    assert await poison(coordinator) == []
    await die(coordinator, "m1", "n1", 4, boot="another")
    assert await poison(coordinator) == ["m1"]


async def test_deaths_far_apart_are_two_accidents() -> None:
    """A match that is played for months is not set apart for two kills in them."""
    coordinator = MemoryCoordinator(MemoryStore())
    for count in range(5):
        at_ms = count * (WINDOW_MS + 1)
        await die(coordinator, "m1", "n1", at_ms)
    assert await poison(coordinator) == []
    await die(coordinator, "m1", "n1", at_ms + WINDOW_MS)
    assert await poison(coordinator) == ["m1"]


async def test_a_watch_tells_what_the_listing_could_not_know() -> None:
    """Once, however often it is read; what is deleted accuses nobody."""
    coordinator = MemoryCoordinator(MemoryStore())
    told: list[str] = []
    watcher = PoisonWatch(KEYS, told.append)
    await die(coordinator, "m1", "n1", 1_000)
    listing = await coordinator.list(KEYS.prefix)
    watcher.listing(listing)
    async with coordinator.watch(KEYS.prefix, listing.revision) as watch:
        await die(coordinator, "m1", "n2", 1_000)
        (entry,) = (await coordinator.list(KEYS.poisons)).entries
        await coordinator.cas_many([Write(entry.key, entry.revision, None)])
        for _ in range(2):
            watcher.changed(await anext(watch))
    watcher.listing(await coordinator.list(KEYS.prefix))
    assert told == ["m1"]


@pytest.mark.parametrize("fault", [CasFault.ANSWER_LOST, CasFault.REQUEST_LOST])
async def test_a_death_is_counted_once_whatever_the_coordinator_answers(
    fault: CasFault, autojump_clock: object
) -> None:
    """An answer that was lost makes no second death of one."""
    coordinator = MemoryCoordinator(MemoryStore())
    coordinator.faults.script.append(fault)
    await die(coordinator, "m1", "n1", 1_000)
    assert await poison(coordinator) == []


async def test_records_are_bounded() -> None:
    """A node that dies all day in other matches fills no store."""
    coordinator = MemoryCoordinator(MemoryStore())
    for number in range(RECORDS_MAX + 10):
        await die(coordinator, f"m{number}", "n1", number)
    entries = (await coordinator.list(KEYS.poisons)).entries
    assert len(entries) == RECORDS_MAX
    assert KEYS.poison("m0") not in {entry.key for entry in entries}


async def test_a_record_that_cannot_be_read_accuses_nobody() -> None:
    """It is an error for the one who writes, and for the log of those who read."""
    coordinator = MemoryCoordinator(MemoryStore())
    newer = encode_record(Record(deaths=(), schema=99))
    await coordinator.cas_many([Write(KEYS.poison("m1"), ABSENT, newer)])
    with pytest.raises(ControlRecordInvalid):
        await die(coordinator, "m1", "n1", 1_000)
    assert await poison(coordinator) == []


async def test_an_operators_word_stands_over_the_deaths() -> None:
    """Set apart without a death; released, the deaths before count no more."""
    coordinator = MemoryCoordinator(MemoryStore())
    verdict = Verdict("op1", "ann", "", 5_000)
    assert await write_verdict(coordinator, KEYS, "m1", verdict, apart=True)
    assert await write_verdict(coordinator, KEYS, "m1", verdict, apart=True) is None
    assert await poison(coordinator) == ["m1"]
    await die(coordinator, "m1", "n1", 6_000)
    assert await poison(coordinator) == ["m1"]
    await die(coordinator, "m1", "n2", 7_000)

    told: list[object] = []
    watch = PoisonWatch(KEYS, told.append, lambda match, ms: told.append((match, ms)))
    watch.listing(await coordinator.list(KEYS.prefix))
    lifted = Verdict("op2", "ann", "", 9_000)
    written = await write_verdict(coordinator, KEYS, "m1", lifted, apart=False)
    assert written is not None
    assert written.apart_ms == 4_000
    for _ in range(2):
        watch.listing(await coordinator.list(KEYS.prefix))
    assert told == ["m1", ("m1", 4_000)]
    await die(coordinator, "m1", "n1", 10_000)
    assert await poison(coordinator) == []
    await die(coordinator, "m1", "n2", 11_000)
    assert await poison(coordinator) == ["m1"]


async def test_the_log_says_whose_word_it_was() -> None:
    """An operator's is no error; nodes that died are."""
    coordinator = MemoryCoordinator(MemoryStore())
    verdict = Verdict("op1", "ann", "cheats", 5_000)
    assert await write_verdict(coordinator, KEYS, "m1", verdict, apart=True)
    for at_ms in (1_000, 2_000):
        await die(coordinator, "m2", "n1", at_ms)
    with capture_logs() as logs:
        assert await poison(coordinator) == ["m1", "m2"]
    assert logs == [
        {
            "event": "match_set_apart",
            "log_level": "warning",
            "match": "m1",
            "who": "ann",
            "why": "cheats",
        },
        {"event": "match_poison", "log_level": "error", "match": "m2", "deaths": 2},
    ]


async def test_what_an_operator_set_apart_is_forgotten_last() -> None:
    """Many deaths elsewhere do not let it go."""
    coordinator = MemoryCoordinator(MemoryStore())
    verdict = Verdict("op1", "ann", "", 5_000)
    assert await write_verdict(coordinator, KEYS, "mine", verdict, apart=True)
    for count in range(RECORDS_MAX + 1):
        await die(coordinator, f"m{count}", "n1", count)
    entries = (await coordinator.list(KEYS.poisons)).entries
    assert len(entries) == RECORDS_MAX
    assert await poison(coordinator) == ["mine"]
