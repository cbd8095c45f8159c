"""A loop that is held is noticed, and what held it is named."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import MutableMapping
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from hotseat.nodes.node.loop_watch import loop_watch

LATE_S = 0.05


def hold_the_loop() -> None:
    until = time.monotonic() + random.uniform(3, 12) * LATE_S
    while time.monotonic() < until:
        pass


async def hold_once() -> None:
    """Until it has been named: a busy machine may look away, or be late by itself."""
    with loop_watch(LATE_S) as watch, capture_logs() as lines:
        with anyio.fail_after(20):
            while not (named := [line for line in lines if names_it(line)]):
                hold_the_loop()
                await anyio.sleep(0.01)
    found = watch.statistics()
    assert found.late >= 1
    assert found.longest_s >= LATE_S
    assert found.late_s >= found.longest_s
    assert named[0]["held_s"] >= LATE_S


def names_it(line: MutableMapping[str, Any]) -> bool:
    """Whether it says that this held the loop."""
    if line["event"] != "loop_late":
        return False
    return any("hold_the_loop" in place for place in line["frames"])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_holds_the_loop_is_named(backend: str) -> None:
    """The place where it was, with how long it took."""
    anyio.run(hold_once, backend=backend)


def wait_until(lines: list[MutableMapping[str, Any]], told: threading.Event) -> None:
    while not any(line["event"] == "loop_stands" for line in lines):
        time.sleep(0.01)
    told.set()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_loop_that_stands_is_told_of_while_it_does(backend: str) -> None:
    """Where all threads are is said before it is back: it may never be."""
    told = threading.Event()

    def wait_in_the_loop() -> None:
        told.wait(20)

    async def main() -> None:
        with loop_watch(LATE_S, stands_s=0.1), capture_logs() as lines:
            teller = threading.Thread(
                target=wait_until, args=(lines, told), name="teller"
            )
            teller.start()
            await anyio.sleep(0.01)
            wait_in_the_loop()
            teller.join()
        stands = [line for line in lines if line["event"] == "loop_stands"]
        assert any("wait_in_the_loop" in place for place in stands[0]["frames"])
        assert any(name.startswith("teller ") for name in stands[0]["threads"])

    anyio.run(main, backend=backend)


def test_a_loop_that_turns_is_left_alone() -> None:
    """Nothing is late, and the thread ends with the block."""

    async def main() -> None:
        with loop_watch(5.0) as watch:
            await anyio.sleep(0.5)
        assert watch.statistics().late == 0

    anyio.run(main)
