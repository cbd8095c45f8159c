"""What operators asked for is written into the coordinator, once, and kept a while."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from hotseat.nodes.coordinators.sqlite import SqliteCoordinator
from hotseat.nodes.operator.operations_log import TRIM_EVERY, OperationsLog
from hotseat.runtime.control_plane import (
    Keys,
    NodeRecord,
    OperationRecord,
    encode_record,
)
from hotseat.runtime.coordinator import ABSENT, CasOk, Coordinator, Write
from hotseat.runtime.errors import ControlRecordInvalid, CoordinatorUnavailable
from hotseat.runtime.testing.memory_coordinator import CasFault, MemoryCoordinator
from hotseat.runtime.testing.memory_store import MemoryStore

from ..coordinators.etcd_cluster import EtcdProcesses, needs_etcd, running_etcd

KEYS = Keys("c")


def asked(number: int, node: str = "n1", boot: str = "b1") -> OperationRecord:
    """A command as it begins."""
    return OperationRecord(
        id=f"{number:011x}00000000",
        who="ann@desk",
        why="",
        verb="match.terminate",
        target="m",
        args={"seat": "0"},
        node=node,
        boot=boot,
        asked_ms=number,
    )


def done(record: OperationRecord) -> OperationRecord:
    """How it ended."""
    return msgspec.structs.replace(
        record, state="done", ended_ms=record.asked_ms + 5, outcome={"index": 4}
    )


async def is_one_command(store: Coordinator) -> None:
    """Created once, whoever asks; completed once; read back whole."""
    one, other = OperationsLog(store, KEYS), OperationsLog(store, KEYS)
    assert await one.get(asked(1).id) is None
    first = await one.begin(asked(1))
    assert first.ours
    assert (await other.begin(asked(1, "n2", "b2"))).ours is False
    again = await other.begin(asked(1, "n2", "b2"))
    assert (again.record.node, again.record.state) == ("n1", "running")
    await one.complete(first, done(asked(1)))
    found = await other.get(asked(1).id)
    assert found is not None
    assert msgspec.structs.replace(found, nonce="") == done(asked(1))
    # Whoever completes it later does nothing.
    await one.complete(first, msgspec.structs.replace(asked(1), state="failed"))
    assert (await one.newest()).records == (found,)


async def is_withdrawn_without_a_trace(store: Coordinator) -> None:
    """What was not done here is no record; it can be begun again, by another node."""
    log = OperationsLog(store, KEYS)
    noted = await log.begin(asked(1))
    await log.withdraw(noted)
    assert await log.get(asked(1).id) is None
    await log.withdraw(noted)
    assert (await log.begin(asked(1, "n2", "b2"))).ours


async def keeps_the_newest(store: Coordinator) -> None:
    """Not many more than asked for are kept: those written last."""
    log = OperationsLog(store, KEYS, records_max=10)
    written = 10 + 2 * TRIM_EVERY
    for number in range(written):
        await log.begin(asked(number))
    kept = [record.asked_ms for record in (await log.newest()).records]
    assert 10 <= len(kept) <= 10 + TRIM_EVERY
    assert kept == [*range(written - 1, written - 1 - len(kept), -1)]


async def lies_apart_from_what_nodes_list(store: Coordinator) -> None:
    """Nobody who lists the cluster's keys is sent the audit."""
    await OperationsLog(store, KEYS).begin(asked(1))
    assert (await store.list(KEYS.prefix)).entries == ()
    assert len((await store.list(KEYS.operations)).entries) == 1


async def refuses_newer_schemas(store: Coordinator) -> None:
    """A record of a newer version is no record here, and is not written over."""
    newer = msgspec.structs.replace(asked(1), schema=2)
    key = KEYS.operation(newer.id)
    assert isinstance(
        await store.cas_many([Write(key, ABSENT, encode_record(newer))]), CasOk
    )
    log = OperationsLog(store, KEYS)
    await log.begin(asked(2))
    with pytest.raises(ControlRecordInvalid, match="newer version"):
        await log.get(newer.id)
    with pytest.raises(ControlRecordInvalid):
        await log.begin(asked(1))
    kept = await log.newest()
    assert [record.asked_ms for record in kept.records] == [2]
    assert kept.unreadable == (key,)


async def knows_who_lives(store: Coordinator) -> None:
    """The registered processes, of whatever schema their records are."""
    for schema, name in enumerate(("n1", "n2"), 1):
        record = NodeRecord(node=name, boot=f"b{name}", inbox="i", schema=schema)
        write = Write(KEYS.node(name), ABSENT, encode_record(record))
        assert isinstance(await store.cas_many([write]), CasOk)
    boots = await OperationsLog(store, KEYS).boots()
    assert boots == {("n1", "bn1"), ("n2", "bn2")}


CHECKS = pytest.mark.parametrize(
    "check",
    [
        is_one_command,
        is_withdrawn_without_a_trace,
        keeps_the_newest,
        lies_apart_from_what_nodes_list,
        refuses_newer_schemas,
        knows_who_lives,
    ],
    ids=lambda check: check.__name__,
)
Check = Callable[[Coordinator], Any]


@CHECKS
async def test_in_memory(check: Check) -> None:
    """The log keeps its promises on the coordinator of tests."""
    await check(MemoryCoordinator(MemoryStore()))


@CHECKS
async def test_in_a_file(check: Check, tmp_path: Path) -> None:
    """And in a SQLite file."""
    async with SqliteCoordinator(tmp_path / "coordinator.db") as store:
        await check(store)


@pytest.fixture(scope="module")
def etcd() -> Iterator[EtcdProcesses]:
    with running_etcd(1) as etcd:
        yield etcd


@asynccontextmanager
async def fresh(etcd: EtcdProcesses) -> AsyncIterator[Coordinator]:
    """The store, with nothing in it."""
    from hotseat.nodes.coordinators.etcd import EtcdCoordinator

    async with EtcdCoordinator(etcd.address, try_s=5.0, total_s=8.0) as store:
        for entry in (await store.list("/hotseat/")).entries:
            await store.cas_many([Write(entry.key, entry.revision, None)])
        yield store


@pytest.mark.system
@needs_etcd
@CHECKS
def test_in_etcd(check: Check, etcd: EtcdProcesses) -> None:
    """And in etcd."""

    async def main() -> None:
        async with fresh(etcd) as store:
            await check(store)

    anyio.run(main)


@pytest.mark.parametrize("fault", [CasFault.ANSWER_LOST, CasFault.REQUEST_LOST])
async def test_a_lost_answer_makes_no_second_command(
    fault: CasFault, autojump_clock: object
) -> None:
    """Whether the write landed is found out; it is ours either way, once."""
    store = MemoryCoordinator(MemoryStore())
    log = OperationsLog(store, KEYS)
    store.faults.script.append(fault)
    noted = await log.begin(asked(1))
    assert noted.ours
    store.faults.script.append(fault)
    await log.complete(noted, done(asked(1)))
    found = await log.get(asked(1).id)
    assert found is not None
    assert found.state == "done"


async def test_an_unknown_write_that_lands_late_is_ours(autojump_clock: object) -> None:
    """It was unknown for so long that it was given up: it is found again as ours."""
    store = MemoryCoordinator(MemoryStore())
    log = OperationsLog(store, KEYS)
    store.faults.script.extend([CasFault.LATE] * 8)
    with pytest.raises(CoordinatorUnavailable):
        await log.begin(asked(1))
    store.land_late()
    assert (await log.begin(asked(1))).ours
    assert not (await log.begin(asked(1, "n1", "another boot"))).ours
