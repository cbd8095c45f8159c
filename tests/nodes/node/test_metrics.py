"""Statistics as Prometheus metrics, and the pages that a node serves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import anyio
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from hotseat.nodes.node.health import Health
from hotseat.nodes.node.http_door import CONNECTIONS_MAX, HttpDoor, Page
from hotseat.nodes.node.metrics import Metrics, metric_names
from hotseat.runtime.errors import LinkRefused

FACTS = {"node": "n1", "cluster": "c"}


@dataclass(frozen=True)
class Inner:
    GAUGES: ClassVar[frozenset[str]] = frozenset({"waiting"})

    waiting: int = 2
    passed: int = 7


@dataclass(frozen=True)
class Outer:
    GAUGES: ClassVar[frozenset[str]] = frozenset()

    frames_sent: int = 5
    ready: bool = True
    name: str = "not a number"
    held_s: float = 0.5
    inner: Inner = Inner()
    absent: Inner | None = None


@dataclass(frozen=True)
class Undeclared:
    count: int = 1


def samples(text: bytes) -> dict[str, tuple[str, float]]:
    """Kind and value of each of our metrics, as a scraper reads them."""
    return {
        sample.name: (family.type, sample.value)
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
        if sample.name.startswith("hotseat_")
    }


def test_each_number_is_a_metric_named_after_its_place() -> None:
    """Counters end in _total; nested statistics, gauges and booleans are told apart."""
    assert samples(Metrics(lambda: {"links": Outer()}, FACTS).text()) == {
        "hotseat_node_info": ("gauge", 1.0),
        "hotseat_links_frames_sent_total": ("counter", 5.0),
        "hotseat_links_ready": ("gauge", 1.0),
        "hotseat_links_held_seconds_total": ("counter", 0.5),
        "hotseat_links_inner_waiting": ("gauge", 2.0),
        "hotseat_links_inner_passed_total": ("counter", 7.0),
    }


def test_the_names_are_known_without_a_scrape() -> None:
    """The table in the documentation is made of them: what may be absent, too."""
    metrics = Metrics(lambda: {"links": Outer(absent=Inner())}, FACTS)
    named = {one.name: one.kind for one in metric_names({"links": Outer})}
    found = {name: kind for name, (kind, _) in samples(metrics.text()).items()}
    del found["hotseat_node_info"]
    assert named == found


def test_what_is_scraped_is_of_that_moment() -> None:
    """Nothing is kept between two scrapes."""
    now = Outer()
    metrics = Metrics(lambda: {"links": now}, FACTS)
    first = samples(metrics.text())
    now = replace(now, frames_sent=9)
    assert first["hotseat_links_frames_sent_total"][1] == 5.0
    assert samples(metrics.text())["hotseat_links_frames_sent_total"][1] == 9.0


def test_statistics_must_say_what_their_gauges_are() -> None:
    """A gauge exposed as a counter would be drawn as nonsense."""
    with pytest.raises(TypeError, match="Undeclared"):
        list(metric_names({"x": Undeclared}))


@asynccontextmanager
async def serving(
    pages: dict[str, Callable[[], Page]], failures: list[str] | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    said = [] if failures is None else failures
    door = HttpDoor("127.0.0.1:0", pages, failed=lambda path, error: said.append(path))
    async with door, httpx.AsyncClient(base_url=door.url) as client:
        yield client


async def check_pages() -> None:
    ready = False
    health = Health(lambda: {"links": Outer()}, lambda: ready, FACTS)
    async with (
        health.http_door("127.0.0.1:0") as door,
        httpx.AsyncClient(base_url=door.url) as client,
    ):
        metrics = await client.get("/metrics")
        assert metrics.status_code == 200
        assert metrics.headers["content-type"].startswith("text/plain; version=")
        assert samples(metrics.content)["hotseat_links_frames_sent_total"][1] == 5.0
        assert "process_resident_memory_bytes" in metrics.text
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.get("/readyz")).status_code == 503
        ready = True
        assert (await client.get("/readyz?verbose=1")).text == "ready\n"
    text = health.door_operation({})["text"].encode()
    assert samples(text) == samples(metrics.content)


async def test_the_pages_of_a_node() -> None:
    """Metrics for a scraper, and two questions for a supervisor, on trio."""
    await check_pages()


def test_the_pages_on_asyncio() -> None:
    """The same on the default loop."""
    anyio.run(check_pages)


async def test_other_requests_are_refused_politely() -> None:
    """Each with the status that says why, and the door goes on."""

    def broken() -> Page:
        raise ValueError("no")

    failures: list[str] = []
    pages = {"/ok": lambda: Page(b"fine"), "/broken": broken}
    async with serving(pages, failures) as client:
        assert (await client.get("/nothing")).status_code == 404
        assert (await client.post("/ok", content=b"x" * 100)).status_code == 405
        head = await client.head("/ok")
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-length"] == "4"
        assert (await client.get("/broken")).status_code == 500
        assert failures == ["/broken"]
        assert (await client.get("/ok")).text == "fine"


async def raw(door: HttpDoor, data: bytes) -> bytes:
    host, _, port = door.url.removeprefix("http://").partition(":")
    async with await anyio.connect_tcp(host, int(port)) as stream:
        await stream.send(data)
        answer = b""
        try:
            while True:
                answer += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return answer


async def test_junk_and_floods_cost_only_themselves() -> None:
    """Bytes that are no request, and one that never ends, get 4xx; idle ones wait."""
    failed: Any = lambda path, error: None
    async with HttpDoor("127.0.0.1:0", {"/": lambda: Page(b"x")}, failed=failed) as it:
        assert (await raw(it, b"\x00\xff junk\r\n\r\n")).startswith(b"HTTP/1.1 400")
        endless = b"GET / HTTP/1.1\r\nA: " + b"a" * 100_000
        assert (await raw(it, endless))[9:10] in (b"4", b"")
        host, _, port = it.url.removeprefix("http://").partition(":")
        idle = [
            await anyio.connect_tcp(host, int(port)) for _ in range(CONNECTIONS_MAX)
        ]
        for stream in idle:
            await stream.aclose()
        assert b"200" in await raw(it, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")


async def test_an_address_in_use_is_refused_by_name() -> None:
    """The node says so at its start, instead of running without metrics."""
    pages = {"/": lambda: Page(b"x")}
    failed: Any = lambda path, error: None
    async with HttpDoor("127.0.0.1:0", pages, failed=failed) as first:
        address = first.url.removeprefix("http://")
        with pytest.raises(LinkRefused, match="metrics"):
            await HttpDoor(address, pages, failed=failed).__aenter__()
