"""The coordinator in etcd: the contract, and what a real etcd does when it fails."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

from hotseat.nodes.coordinators.etcd import EtcdCoordinator
from hotseat.runtime.coordinator import (
    ABSENT,
    CasConflict,
    CasOk,
    CasUnknown,
    Coordinator,
    Session,
    Write,
)
from hotseat.runtime.errors import CoordinatorUnavailable
from hotseat.runtime.settle import read_key
from hotseat.runtime.testing.check_coordinator import (
    COORDINATOR_CHECKS,
    CoordinatorRig,
)

from .etcd_cluster import EtcdProcesses, free_port, needs_etcd, running_etcd

pytestmark = [pytest.mark.system, needs_etcd]

BACKENDS = pytest.mark.parametrize("backend", ["trio", "asyncio"])

PATIENT = {"try_s": 5.0, "total_s": 8.0}
"""Where nothing is to fail: a busy machine is slow, not wrong."""


@pytest.fixture(scope="module")
def alone() -> Iterator[EtcdProcesses]:
    with running_etcd(1) as etcd:
        yield etcd


@pytest.fixture(scope="module")
def trio_of_members() -> Iterator[EtcdProcesses]:
    """For tests that leave it as it was."""
    with running_etcd(3) as etcd:
        yield etcd


class EtcdRig:
    """See `CoordinatorRig`."""

    def __init__(self, etcd: EtcdProcesses) -> None:
        self.etcd = etcd

    def open(self) -> Coordinator:
        return EtcdCoordinator(self.etcd.address, **PATIENT)

    async def compact(self) -> None:
        header = self.etcd.ask("/v3/kv/range", {"key": "AA=="})["header"]
        self.etcd.ask("/v3/kv/compaction", {"revision": header["revision"]})

    async def abandon(self, session: Session) -> None:
        self.etcd.ask("/v3/lease/revoke", {"ID": session.id})


CONTRACT = pytest.mark.parametrize(
    "check", COORDINATOR_CHECKS, ids=lambda check: check.__name__
)


@BACKENDS
@CONTRACT
def test_contract_of_one_process(
    check: Callable[[CoordinatorRig], Any], backend: str, alone: EtcdProcesses
) -> None:
    """One etcd keeps each clause of the contract, on both loops."""
    alone.wipe()
    anyio.run(check, EtcdRig(alone), backend=backend)


@BACKENDS
@CONTRACT
def test_contract_of_a_cluster(
    check: Callable[[CoordinatorRig], Any],
    backend: str,
    trio_of_members: EtcdProcesses,
) -> None:
    """Three members keep each clause of the contract, on both loops."""
    trio_of_members.wipe()
    anyio.run(check, EtcdRig(trio_of_members), backend=backend)


class Account:
    """Who writes a key again and again, and remembers what was acknowledged."""

    def __init__(self, store: Coordinator, key: str) -> None:
        self.key = key
        self.store = store
        self.acknowledged = 0
        self.unknown: list[CasUnknown] = []

    async def write_on(self) -> None:
        """Write 1, 2, 3, ...; settle what is unknown by reading a moved revision."""
        revision, value = ABSENT, 0
        while True:
            value += 1
            tries = 0
            while True:
                tries += 1
                mine = b"%d try %d" % (value, tries)
                outcome = await self.store.cas_many([Write(self.key, revision, mine)])
                if isinstance(outcome, CasOk):
                    revision = outcome.revision
                    break
                assert isinstance(outcome, CasUnknown) or tries > 1, outcome
                if isinstance(outcome, CasUnknown):
                    self.unknown.append(outcome)
                try:
                    found = await read_key(self.store, self.key)
                except CoordinatorUnavailable:
                    continue
                if found is not None and found.revision != revision:
                    assert found.value.startswith(b"%d try " % value), found
                    revision = found.revision
                    break
            self.acknowledged = value


@BACKENDS
def test_kill_9_of_the_leader_loses_nothing_acknowledged(backend: str) -> None:
    """Writers go on with the next leader; who cannot wait is told `unknown`."""

    async def main(etcd: EtcdProcesses) -> None:
        async with (
            EtcdCoordinator(etcd.address, total_s=5.0) as patient,
            EtcdCoordinator(etcd.address, total_s=0.3) as hasty,
            anyio.create_task_group() as tasks,
        ):
            writers = [Account(patient, f"/patient/{n}") for n in range(4)]
            writers += [Account(hasty, f"/hasty/{n}") for n in range(4)]
            for writer in writers:
                tasks.start_soon(writer.write_on)
            await until(lambda: all(w.acknowledged > 20 for w in writers))
            etcd.signal(etcd.leader(), signal.SIGKILL)
            at_kill = [writer.acknowledged for writer in writers]
            killed_s = anyio.current_time()
            await until(
                lambda: all(
                    writer.acknowledged > before + 5
                    for writer, before in zip(writers, at_kill, strict=True)
                )
            )
            assert anyio.current_time() - killed_s < 10
            tasks.cancel_scope.cancel()
        assert any(writer.unknown for writer in writers[4:])
        async with EtcdCoordinator(etcd.address, **PATIENT) as reader:
            for writer in writers:
                entry = await read_key(reader, writer.key)
                assert entry is not None
                value = int(entry.value.split()[0])
                assert writer.acknowledged <= value <= writer.acknowledged + 1

    with running_etcd(3) as etcd:
        anyio.run(main, etcd, backend=backend)


async def watched(store: Coordinator, revision: int) -> None:
    """Watch until that ends with an error."""
    async with store.watch("/", revision) as changes:
        async for _ in changes:
            pass


async def until(condition: Callable[[], bool]) -> None:
    with anyio.fail_after(20):
        while not condition():  # noqa: ASYNC110 - other processes have no event
            await anyio.sleep(0.01)


@BACKENDS
def test_without_a_quorum_it_is_unavailable_and_comes_back(backend: str) -> None:
    """Reads fail, writes are unknown, a watch breaks; all works when one returns."""

    async def main(etcd: EtcdProcesses) -> None:
        async with EtcdCoordinator(etcd.address, total_s=1.0) as store:
            made = await store.cas_many([Write("/k", ABSENT, b"1")])
            assert isinstance(made, CasOk)
            async with store.session(30.0) as session:
                for member in (0, 1):
                    etcd.signal(member, signal.SIGKILL)
                with pytest.raises(CoordinatorUnavailable, match="etcd at"):
                    await store.list("/")
                outcome = await store.cas_many([Write("/k", made.revision, b"2")])
                assert isinstance(outcome, CasUnknown)
                with pytest.raises(CoordinatorUnavailable):
                    async with store.session(1.0):
                        pass
                with anyio.fail_after(15), pytest.raises(CoordinatorUnavailable):
                    await watched(store, made.revision)
                etcd.start(0)

                async def answers() -> bool:
                    try:
                        return len((await store.list("/")).entries) == 1
                    except CoordinatorUnavailable:
                        return False

                with anyio.fail_after(20):
                    while not await answers():  # noqa: ASYNC110 - another process
                        await anyio.sleep(0.05)
                assert not session.lost
                held = [Write("/s", ABSENT, b"", session.id)]
                assert isinstance(await store.cas_many(held), CasOk)

    with running_etcd(3) as etcd:
        anyio.run(main, etcd, backend=backend)


@BACKENDS
def test_a_silent_watch_is_opened_again_and_misses_nothing(
    backend: str, alone: EtcdProcesses
) -> None:
    """A connection that leads nowhere costs time, never a change."""
    alone.wipe()

    async def main() -> None:
        async with (
            EtcdCoordinator(alone.address, silent_s=0.1, **PATIENT) as store,
            EtcdCoordinator(alone.address, **PATIENT) as other,
        ):
            base = (await store.list("")).revision
            async with store.watch("/w", base) as changes:
                for number in range(3):
                    key = f"/w/{number}"
                    await anyio.sleep(0.25)  # it is silent, and opened anew
                    made = await other.cas_many([Write(key, ABSENT, b"")])
                    assert isinstance(made, CasOk)
                    with anyio.fail_after(10):
                        (change,) = await anext(changes)
                    assert (change.key, change.revision) == (key, made.revision)

    anyio.run(main, backend=backend)


async def test_a_member_that_is_not_there_costs_nothing(alone: EtcdProcesses) -> None:
    """The next one is asked, for calls and for watches, without a doubt left over."""
    alone.wipe()
    nobody = f"etcd://127.0.0.1:{free_port()}"
    address = alone.address.replace("etcd://", f"{nobody},")
    async with EtcdCoordinator(address, **PATIENT) as store:
        made = await store.cas_many([Write("/k", ABSENT, b"")])
        assert isinstance(made, CasOk)
        again = await store.cas_many([Write("/k", ABSENT, b"")])
        assert again == CasConflict(("/k",))


async def test_a_try_that_may_have_landed_leaves_no_conflict(
    alone: EtcdProcesses,
) -> None:
    """After a member that took the request and was silent, a refusal proves nothing."""
    alone.wipe()
    async with EtcdCoordinator(alone.address, **PATIENT) as other:
        assert isinstance(await other.cas_many([Write("/k", ABSENT, b"")]), CasOk)
    with swallower() as swallowing:
        address = alone.address.replace("etcd://", f"etcd://127.0.0.1:{swallowing},")
        async with EtcdCoordinator(address, try_s=0.3, total_s=20) as store:
            outcome = await store.cas_many([Write("/k", ABSENT, b"mine")])
            assert isinstance(outcome, CasUnknown), outcome
            assert "more than once" in outcome.reason
            # the one that answered is asked first from now on
            outcome = await store.cas_many([Write("/k", ABSENT, b"mine")])
            assert outcome == CasConflict(("/k",))


async def test_another_cluster_is_not_believed(alone: EtcdProcesses) -> None:
    """A wrong address among the members decides nothing."""
    alone.wipe()
    with running_etcd(1) as first:
        address = f"{first.address},127.0.0.1:{alone.ports[0]}"
        async with EtcdCoordinator(address, try_s=5.0, total_s=5.0) as store:
            made = await store.cas_many([Write("/k", ABSENT, b"")])
            assert isinstance(made, CasOk)
        async with EtcdCoordinator(address, try_s=1.0, total_s=1.0) as store:
            assert len((await store.list("/")).entries) == 1
            first.signal(0, signal.SIGKILL)
            with pytest.raises(CoordinatorUnavailable):
                await store.list("/")
            with pytest.raises(CoordinatorUnavailable):
                await watched(store, 0)
            changed = await store.cas_many([Write("/k", made.revision, b"2")])
            assert isinstance(changed, CasUnknown)


async def test_an_etcd_that_was_emptied_is_not_believed() -> None:
    """It has the same address and the same id; its revision gives it away."""
    with running_etcd(1) as etcd:
        async with EtcdCoordinator(etcd.address, try_s=1.0, total_s=1.0) as store:
            for number in range(3):
                made = await store.cas_many([Write(f"/{number}", ABSENT, b"")])
                assert isinstance(made, CasOk)
            etcd.empty(0)
            etcd.start(0)
            etcd.wait_until()
            with pytest.raises(CoordinatorUnavailable, match="gone back from rev"):
                await store.list("/")
            outcome = await store.cas_many([Write("/k", ABSENT, b"")])
            assert isinstance(outcome, CasUnknown)


async def test_nobody_there_is_a_clear_error() -> None:
    """It names the address; and a server of another kind is told apart."""
    port = free_port()
    async with EtcdCoordinator(f"etcd://127.0.0.1:{port}", total_s=0.3) as store:
        with pytest.raises(CoordinatorUnavailable, match=f"127.0.0.1:{port} cannot"):
            await store.list("/")
        with pytest.raises(CoordinatorUnavailable, match="broke"):
            await watched(store, 0)
    with pytest.raises(CoordinatorUnavailable, match="closed"):
        await store.list("/")
    with pytest.raises(CoordinatorUnavailable, match="closed"):
        await watched(store, 0)
    assert isinstance(await store.cas_many([Write("/k", ABSENT, b"")]), CasUnknown)


async def test_a_body_that_raises_is_not_wrapped(alone: EtcdProcesses) -> None:
    """An error inside a session or a watch leaves it as it is, and ends it."""
    alone.wipe()
    async with EtcdCoordinator(alone.address, **PATIENT) as store:

        async def fail_inside() -> None:
            async with store.session(5.0) as session, store.watch("/", 0):
                await store.cas_many([Write("/s", ABSENT, b"", session.id)])
                raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            await fail_inside()
        assert (await store.list("/")).entries == ()


@contextmanager
def swallower() -> Iterator[int]:
    """A port where connections are taken and never answered."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(16)
        yield listening.getsockname()[1]
