"""Settings of all tests."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

import anyio.to_thread
import hypothesis
import pytest
import structlog
from trio.testing import MockClock
from xdist.scheduler import LoadFileScheduling

# A busy machine is slow, not wrong: a test that hangs meets pytest's own timeout.
hypothesis.settings.register_profile("hotseat", deadline=None, print_blob=True)
hypothesis.settings.load_profile("hotseat")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with real clusters first, the slowest before all: where files run side by
    side, those mostly wait, the others fill the time, and none is left for the end."""
    real = {item.path for item in items if item.get_closest_marker("system")}
    slow = {item.path for item in items if item.get_closest_marker("slow")} & real
    items.sort(key=lambda item: (item.path not in slow, item.path not in real))


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # it is untyped
    """Files go side by side; but those with browsers one after the other, since they
    share a cluster."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "browsers" if file.startswith("tests/browser/") else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    """For `--dist loadfile`."""
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(autouse=True)
def log_settings() -> Iterator[None]:
    """What a test does to the settings of the log, it does for itself alone."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.fixture
def strikes_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests in which a watchdog strikes.

    A strike may land in a finalizer, or in a callback of the collector (hypothesis has
    one), that happens to run in the midst of the call. The interpreter reports it there
    and drops it, and the call is struck again. The report goes nowhere: pytest's own
    would itself be struck.
    """
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)


@pytest.fixture
def autojump_clock(monkeypatch: pytest.MonkeyPatch) -> MockClock:
    """Trio's clock that jumps when nobody has anything to do.

    It stands while a thread works for somebody. To trio that looks like nothing to do:
    on a busy machine minutes would pass, and whatever has a deadline would be over.
    """
    clock = MockClock(autojump_threshold=0)
    run_sync = anyio.to_thread.run_sync
    working = 0

    async def stand(*call: Any, **options: Any) -> Any:
        nonlocal working
        working += 1
        clock.autojump_threshold = math.inf
        try:
            return await run_sync(*call, **options)
        finally:
            working -= 1
            if not working:
                clock.autojump_threshold = 0

    monkeypatch.setattr(anyio.to_thread, "run_sync", stand)
    return clock
