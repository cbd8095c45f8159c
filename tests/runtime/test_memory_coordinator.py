"""The memory coordinator: the contract, and the faults it can be told to have."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from hotseat.runtime.coordinator import (
    ABSENT,
    CasConflict,
    CasOk,
    CasUnknown,
    Coordinator,
    Session,
    Write,
)
from hotseat.runtime.errors import CoordinatorUnavailable, WatchCompacted
from hotseat.runtime.settle import read_key, settle_write
from hotseat.runtime.testing.check_coordinator import (
    COORDINATOR_CHECKS,
    CoordinatorRig,
    check_coordinator,
)
from hotseat.runtime.testing.memory_coordinator import CasFault, MemoryCoordinator
from hotseat.runtime.testing.memory_store import MemoryStore


class MemoryRig:
    """A fresh store; see `CoordinatorRig`."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    def open(self) -> Coordinator:
        return MemoryCoordinator(self.store)

    async def compact(self) -> None:
        self.store.compact()

    async def abandon(self, session: Session) -> None:
        self.store.end_session(session.id)


@asynccontextmanager
async def make_rig() -> AsyncIterator[CoordinatorRig]:
    yield MemoryRig()


@pytest.mark.parametrize("backend", ["trio", "asyncio"])
@pytest.mark.parametrize("check", COORDINATOR_CHECKS, ids=lambda c: c.__name__)
def test_contract(check: Callable[[CoordinatorRig], Any], backend: str) -> None:
    """The memory coordinator keeps each clause of the contract, on both loops."""

    async def main() -> None:
        async with make_rig() as rig:
            await check(rig)

    anyio.run(main, backend=backend)


async def test_the_suite_runs_as_one_call(autojump_clock: object) -> None:
    """An implementer can run the whole contract with one call."""
    await check_coordinator(make_rig)


async def test_a_lost_request_never_lands() -> None:
    """A request that is lost is unknown to its sender and changes nothing."""
    store = MemoryStore()
    async with MemoryCoordinator(store) as handle:
        handle.faults.script.append(CasFault.REQUEST_LOST)
        outcome = await handle.cas_many([Write("/k", ABSENT, b"1")])
        assert isinstance(outcome, CasUnknown)
        assert store.list("/k").entries == ()


async def test_a_lost_answer_has_landed() -> None:
    """A request whose answer is lost has landed all the same."""
    store = MemoryStore()
    async with MemoryCoordinator(store) as handle:
        handle.faults.script.append(CasFault.ANSWER_LOST)
        outcome = await handle.cas_many([Write("/k", ABSENT, b"1")])
        assert isinstance(outcome, CasUnknown)
        assert [entry.value for entry in store.list("/k").entries] == [b"1"]


async def test_a_late_request_lands_when_told_or_loses() -> None:
    """A late request is judged by the revisions of the moment when it arrives."""
    store = MemoryStore()
    async with MemoryCoordinator(store) as handle:
        handle.faults.script.extend([CasFault.LATE, CasFault.LATE, None])
        assert isinstance(
            await handle.cas_many([Write("/k", ABSENT, b"late")]), CasUnknown
        )
        assert isinstance(
            await handle.cas_many([Write("/other", ABSENT, b"late")]), CasUnknown
        )
        assert store.list("").entries == ()
        assert isinstance(await handle.cas_many([Write("/k", ABSENT, b"now")]), CasOk)
        assert handle.land_late() == (CasConflict(("/k",)), CasOk(2))
        assert handle.land_late() == ()


async def test_down_breaks_everything_for_that_handle_alone() -> None:
    """A handle that is down gets no answer and its watch breaks; others go on."""
    store = MemoryStore()
    async with MemoryCoordinator(store) as one, MemoryCoordinator(store) as other:

        async def expect_break() -> None:
            with pytest.raises(CoordinatorUnavailable):
                async with one.watch("/", 0) as changes:
                    await anext(changes)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(expect_break)
            await anyio.wait_all_tasks_blocked()
            one.down = True
        with pytest.raises(CoordinatorUnavailable):
            await one.list("/")
        assert isinstance(await one.cas_many([Write("/k", ABSENT, b"")]), CasUnknown)
        assert isinstance(await other.cas_many([Write("/k", ABSENT, b"")]), CasOk)
        one.down = False
        assert len((await one.list("/")).entries) == 1


async def test_slow_delays_each_call(autojump_clock: object) -> None:
    """A slow handle answers after its delay, and truly."""
    async with MemoryCoordinator(MemoryStore()) as handle:
        handle.faults.slow_s = 5.0
        before = anyio.current_time()
        assert isinstance(await handle.cas_many([Write("/k", ABSENT, b"")]), CasOk)
        assert anyio.current_time() - before == pytest.approx(5.0)


@pytest.mark.parametrize("fault", list(CasFault))
async def test_settle_forces_an_unknown_outcome(
    fault: CasFault, autojump_clock: object
) -> None:
    """However the first request fares, `settle_write` ends with what is known."""
    store = MemoryStore()
    async with MemoryCoordinator(store) as handle:
        handle.faults.script.append(fault)
        values = iter([b"first", b"second"])
        settled = await settle_write(handle, "/k", ABSENT, lambda: next(values))
        assert settled.landed
        assert settled.entry == await read_key(handle, "/k")
        expected = b"first" if fault is CasFault.ANSWER_LOST else b"second"
        assert settled.entry is not None
        assert settled.entry.value == expected
        late = handle.land_late()
        assert all(isinstance(outcome, CasConflict) for outcome in late)


async def test_settle_recognises_a_late_first_attempt(autojump_clock: object) -> None:
    """When the first, late request wins over the second, that too counts as ours."""
    store = MemoryStore()
    async with MemoryCoordinator(store) as handle:
        handle.faults.script.append(CasFault.LATE)

        def value() -> bytes:
            if value_calls:
                handle.land_late()
            value_calls.append(None)
            return b"%d" % len(value_calls)

        value_calls: list[None] = []
        settled = await settle_write(handle, "/k", ABSENT, value)
        assert settled.landed
        assert settled.entry is not None
        assert settled.entry.value == b"1"


async def test_settle_gives_up_with_an_error(autojump_clock: object) -> None:
    """While nothing is known, `settle_write` does not pretend: it raises."""
    async with MemoryCoordinator(MemoryStore()) as handle:
        handle.faults.script.extend([CasFault.REQUEST_LOST] * 100)
        values = iter(range(100))
        with pytest.raises(CoordinatorUnavailable, match="unknown"):
            await settle_write(handle, "/k", ABSENT, lambda: b"%d" % next(values))


def test_history_is_bounded() -> None:
    """A store keeps so many transactions and no more."""
    store = MemoryStore(kept_transactions=3)
    for number in range(5):
        store.apply([Write(f"/{number}", ABSENT, b"")])
    assert [revision for revision, _ in store.changes_after("/", 2)] == [3, 4, 5]
    with pytest.raises(WatchCompacted, match="list again"):
        store.changes_after("/", 1)
