"""The memory twin keeps the promises of links, and its faults do what they say."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from itertools import count

import anyio
import pytest
import trio.testing

from hotseat.runtime.errors import LinkFull
from hotseat.runtime.frame import Unwatch
from hotseat.runtime.hello import Credential
from hotseat.runtime.link import (
    Arrival,
    Endpoint,
    Identity,
    LinkDownReason,
    PeerDown,
    PeerUp,
)
from hotseat.runtime.link_options import LinkOptions
from hotseat.runtime.testing.check_link import CHECKS, Check
from hotseat.runtime.testing.link_scene import Recorder
from hotseat.runtime.testing.memory_link import (
    MemoryEndpoint,
    MemoryNetwork,
    MemoryWire,
)
from hotseat.runtime.wire import Wire

SECRET = Credential(b"the cluster's own secret")
checks = pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)


class MemoryMaker:
    """Makes endpoints in one memory network."""

    def __init__(self) -> None:
        self.network = MemoryNetwork()
        self.numbers = count(1)

    def endpoint(
        self,
        identity: Identity,
        credential: Credential,
        options: LinkOptions,
        inbox: str | None = None,
    ) -> Endpoint:
        inbox = inbox or f"memory://{identity.process}-{next(self.numbers)}"
        return MemoryEndpoint(self.network, identity, credential, options, inbox=inbox)

    def wire(self) -> Wire:
        return MemoryWire(self.network, f"intruder-{next(self.numbers)}")


@checks
async def test_links_on_trio(
    check: Check, autojump_clock: trio.testing.MockClock
) -> None:
    """Every promise of a link holds in memory on trio."""
    await check(MemoryMaker())


@checks
def test_links_on_asyncio(check: Check) -> None:
    """Every promise of a link holds in memory on asyncio."""
    anyio.run(lambda: check(MemoryMaker()))


@asynccontextmanager
async def pair(network: MemoryNetwork) -> AsyncIterator[tuple[Recorder, Recorder]]:
    """Two linked endpoints, each of which wants the link."""
    async with anyio.create_task_group() as group:
        a, b = (
            Recorder(MemoryEndpoint(network, Identity("c", p, "node", f"{p}1"), SECRET))
            for p in ("a", "b")
        )
        async with a.endpoint, b.endpoint:
            group.start_soon(a.run)
            group.start_soon(b.run)
            a.endpoint.connect(b.address)
            b.endpoint.connect(a.address)
            await a.next(PeerUp, "b")
            await b.next(PeerUp, "a")
            yield a, b
            group.cancel_scope.cancel()


async def test_a_dropped_link_is_lost_at_both_ends_and_comes_back(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """`drop` takes the pipes down with what they held; both ends hear of it."""
    network = MemoryNetwork()
    async with pair(network) as (a, b):
        a.endpoint.send("b", Unwatch(1, "m", 1))
        await anyio.lowlevel.checkpoint()
        network.drop("a", "b")
        for end, other in ((a, "b"), (b, "a")):
            assert (await end.next(PeerDown, other)).reason is LinkDownReason.LOST
            await end.next(PeerUp, other)
        assert a.endpoint.statistics().pipes_lost == 1


async def test_a_cut_is_found_by_silence_and_heals(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """`cut` tells nobody: heartbeats find it; after `heal` the link comes back."""
    network = MemoryNetwork()
    async with pair(network) as (a, b):
        start_s = anyio.current_time()
        network.cut("a", "b")
        for end, other in ((a, "b"), (b, "a")):
            assert (await end.next(PeerDown, other)).reason is LinkDownReason.SILENT
        assert 3.0 <= anyio.current_time() - start_s <= 4.0
        network.heal("a", "b")
        await a.next(PeerUp, "b")
        await b.next(PeerUp, "a")


async def test_a_short_cut_loses_nothing(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """What a cut held back goes on when it heals in time, as TCP would."""
    network = MemoryNetwork()
    async with pair(network) as (a, b):
        network.cut("a", "b")
        a.endpoint.send("b", Unwatch(1, "m", 1))
        await anyio.sleep(1)
        assert b.events == []
        network.heal("a", "b")
        assert (await b.next(Arrival, "a")).frame == Unwatch(1, "m", 1)
        assert not b.seen(PeerDown, "a")


async def test_a_delay_is_exact(autojump_clock: trio.testing.MockClock) -> None:
    """A delayed message takes as long as was said, and order is kept."""
    network = MemoryNetwork()
    async with pair(network) as (a, b):
        network.delay("a", "b", 0.25)
        start_s = anyio.current_time()
        a.endpoint.send("b", Unwatch(1, "m", 1))
        assert (await b.next(Arrival, "a")).frame == Unwatch(1, "m", 1)
        assert anyio.current_time() - start_s == pytest.approx(0.25, abs=0.02)


async def test_a_link_lost_one_way_is_reported_to_both(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Only one end's own pipe breaks: both start over, since frames may be lost."""
    network = MemoryNetwork()
    async with pair(network) as (a, b):
        network.drop_one_way("a", "b")
        for end, other in ((a, "b"), (b, "a")):
            assert (await end.next(PeerDown, other)).reason is LinkDownReason.LOST
            await end.next(PeerUp, other)
        a.endpoint.send("b", Unwatch(2, "m", 1))
        assert (await b.next(Arrival, "a")).frame == Unwatch(2, "m", 1)


def test_an_error_of_the_caller_leaves_as_it_is() -> None:
    """What is raised inside `async with endpoint` is not wrapped in a group."""

    async def main() -> None:
        identity = Identity("c", "a", "node", "a1")
        async with MemoryEndpoint(MemoryNetwork(), identity, SECRET):
            raise KeyError("mine")

    for backend in ("trio", "asyncio"):
        with pytest.raises(KeyError, match="mine"):
            anyio.run(partial(main), backend=backend)


def test_options_that_cannot_work_are_named_together() -> None:
    """All faults of the options are in one error."""
    options = LinkOptions(heartbeat_s=1, silence_s=2, backoff_s_max=0.01, hello_s=0)
    with pytest.raises(ValueError, match=r"hello_s.*silence_s.*backoff_s_max"):
        options.validate()


@pytest.mark.parametrize("seed", range(30))
async def test_links_survive_any_weather(
    seed: int, autojump_clock: trio.testing.MockClock
) -> None:
    """After any faults both ends are up, and nothing came twice or out of order."""
    weather = random.Random(seed)
    network = MemoryNetwork()
    async with pair(network) as (a, b):
        for number in range(300):
            for end, other in ((a, "b"), (b, "a")):
                with suppress(LinkFull):
                    end.endpoint.send(other, Unwatch(number, "m", 1))
            await anyio.sleep(weather.random() / 20)
            fault = weather.randrange(30)
            if fault == 0:
                network.drop("a", "b")
            elif fault == 1:
                network.drop_one_way(*weather.sample(["a", "b"], 2))
            elif fault == 2:
                network.cut("a", "b")
                await anyio.sleep(weather.random() * 6)
                network.heal("a", "b")
            elif fault == 3:
                network.delay("a", "b", weather.random() / 10)
        network.heal("a", "b")
        last = Unwatch(999, "m", 1)
        with anyio.fail_after(60):
            while last not in a.frames("b") or last not in b.frames("a"):
                a.endpoint.send("b", last)
                b.endpoint.send("a", last)
                await anyio.sleep(1)
        for end, other in ((a, "b"), (b, "a")):
            assert end.endpoint.statistics().peers == 1
            assert end.endpoint.statistics().malformed_messages == 0
            numbers = [f.request for f in end.frames(other) if f != last]  # type: ignore[union-attr]
            assert numbers == sorted(set(numbers))
            assert_alternating(end)


def assert_alternating(end: Recorder) -> None:
    """Frames come only between an up and its down, and ups and downs take turns."""
    up = True  # `pair` has seen the first
    for event in end.events:
        if isinstance(event, Arrival):
            assert up
        else:
            assert up is isinstance(event, PeerDown)
            up = isinstance(event, PeerUp)
    assert up
