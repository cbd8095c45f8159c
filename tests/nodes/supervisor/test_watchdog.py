"""The watchdog: what it cuts off, what it lets be, and that it strikes nothing else."""

from __future__ import annotations

import gc
import select
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from structlog.testing import capture_logs

from hotseat.nodes.supervisor.watchdog import LookBack, Watchdog, open_watchdog
from hotseat.runtime.budget import BudgetExceeded

pytestmark = pytest.mark.usefixtures("strikes_anywhere")

BUDGET_S = 0.05


def spin() -> None:
    while True:
        pass


def hold(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def swallow(depth: int) -> None:
    """Catches everything, for ever, in as many loops inside each other."""
    while True:
        try:
            if depth:
                swallow(depth - 1)
            spin()
        except BaseException:
            continue


def clean_up() -> None:
    try:
        spin()
    finally:
        sum(range(1_000))


def raise_another() -> None:
    try:
        spin()
    except BaseException:
        raise ValueError("not that") from None


def answer_late() -> str:
    try:
        spin()
    except BaseException:
        return "too late"
    return "never"


def exponential(n: int = 80) -> int:
    return n if n < 2 else exponential(n - 1) + exponential(n - 2)


@pytest.mark.parametrize(
    "call",
    [
        spin,
        clean_up,
        raise_another,
        answer_late,
        exponential,
        lambda: select.select([], [], [], 60),
        lambda: [x + 1 for x in iter(int, 1)],
        lambda: sorted(range(10**6), key=lambda x: exponential()),
        lambda: swallow(0),
        lambda: swallow(3),
    ],
    ids=[
        "spin", "finally", "other error", "answer", "recursion", "blocking",
        "comprehension", "inside sort", "swallow", "swallow nested",
    ],
)  # fmt: skip
def test_what_does_not_end_is_ended(call: Callable[[], object]) -> None:
    """Whatever it catches, and whatever it makes of it: it is over its budget."""
    with Watchdog(BUDGET_S) as watchdog:
        with pytest.raises(BudgetExceeded) as caught:
            watchdog.run("m", call)
        assert watchdog.run("m", lambda: "well") == "well"
        statistics = watchdog.statistics()
    assert caught.value.author is not None
    assert caught.value.author.file == __file__
    assert (statistics.calls, statistics.interrupted) == (2, 1)
    assert statistics.strikes == caught.value.strikes


def test_the_line_that_was_being_run_is_named() -> None:
    """The author's own, and the way that led there, outermost first."""
    with Watchdog(BUDGET_S) as watchdog, pytest.raises(BudgetExceeded) as caught:
        watchdog.run("m", clean_up)
    assert [place.function for place in caught.value.stack] == ["clean_up", "spin"]
    author = caught.value.author
    assert author is not None
    first = spin.__code__.co_firstlineno
    assert first < author.line <= first + 2
    assert str(author) in str(caught.value)


def test_what_is_quick_is_never_struck() -> None:
    """Many calls, one after the other, for many budgets: each has its own."""
    done = 0
    with Watchdog(BUDGET_S) as watchdog:
        end = time.monotonic() + 0.3
        while time.monotonic() < end:
            assert watchdog.run("m", lambda a, b: a + b, 1, 2) == 3
            done += 1
        assert watchdog.statistics().interrupted == 0
    assert done > 100


def test_what_runs_outside_of_a_call_is_never_struck() -> None:
    """A loop of our own may take what it takes."""
    with Watchdog(0.005) as watchdog:
        watchdog.run("m", int)
        hold(0.1)
        assert watchdog.statistics().strikes == 0


def test_calls_that_end_at_the_last_moment_end_one_way_or_the_other() -> None:
    """Around the budget a call returns or is cut off; nothing is raised after it."""
    ended = {"returned": 0, "cut off": 0}

    def work(until: float) -> str:
        while time.monotonic() < until:
            pass
        return "done"

    with Watchdog(0.004) as watchdog:
        for turn in range(150):
            try:
                until = time.monotonic() + 0.003 + turn % 50 * 0.0001
                assert watchdog.run("m", work, until) == "done"
                ended["returned"] += 1
            except BudgetExceeded:
                ended["cut off"] += 1
            for _ in range(500):  # a late strike would be raised here
                pass
        assert watchdog.statistics().interrupted == ended["cut off"]
    assert sum(ended.values()) == 150


def test_finalizers_that_the_collector_runs_are_never_struck() -> None:
    """They are anybody's, and what is raised there would be lost: it is held back."""
    finished: list[bool] = []

    class Knot:
        """Freed by the collector alone; it takes longer than a budget to do so."""

        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            hold(4 * BUDGET_S)
            finished.append(True)

    def collect() -> None:
        Knot()
        gc.collect()
        spin()

    with Watchdog(BUDGET_S) as watchdog, pytest.raises(BudgetExceeded) as caught:
        watchdog.run("m", collect)
    assert finished == [True]
    assert "spin" in [place.function for place in caught.value.stack][-1:] or (
        caught.value.stack[-1].function.endswith("collect")
    )


def test_a_signal_of_somebody_else_does_nothing() -> None:
    """It is not about the call that runs, or none runs."""
    with Watchdog(5.0) as watchdog:
        signal.raise_signal(signal.SIGURG)
        watchdog.run("m", signal.raise_signal, signal.SIGURG)
        assert watchdog.statistics().interrupted == 0


def test_what_the_call_raises_is_raised() -> None:
    """In time, it is no business of the watchdog."""
    with Watchdog(BUDGET_S) as watchdog, pytest.raises(ZeroDivisionError):
        watchdog.run("m", lambda: 1 // 0)


def test_it_leaves_the_process_as_it_was() -> None:
    """Handler and thread are gone."""
    before = signal.getsignal(signal.SIGURG)
    with Watchdog(BUDGET_S):
        assert signal.getsignal(signal.SIGURG) != before
    assert signal.getsignal(signal.SIGURG) == before
    assert "watchdog" not in [thread.name for thread in threading.enumerate()]


def test_a_loop_that_nothing_ends_is_logged_with_its_place() -> None:
    """Somebody must end the process: so it is said which match it is, and where."""

    end = time.thread_time() + 0.5

    def stubborn(depth: int) -> None:  # more loops than a strike raises exceptions
        while time.thread_time() < end:
            try:
                if depth:
                    stubborn(depth - 1)
            except BaseException:
                continue

    with (
        capture_logs() as logs,
        Watchdog(0.01) as watchdog,
        pytest.raises(BudgetExceeded) as caught,
    ):
        watchdog.run("the-match", stubborn, 200)
    assert caught.value.strikes > 8
    assert [line["event"] for line in logs] == ["loop_stuck"]
    assert logs[0]["match"] == "the-match"
    assert __file__ in logs[0]["place"]


def test_away_from_the_main_thread_it_looks_back() -> None:
    """It cannot interrupt, and says so at once; it logs what took too long."""
    seen: list[Any] = []

    def elsewhere() -> None:
        with open_watchdog(0.01) as guard:
            seen.append(type(guard))
            seen.append(guard.run("m", hold, 0.02))
            seen.append(guard.statistics().held)

    with capture_logs() as logs:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert seen == [LookBack, None, 1]
    events = [line["event"] for line in logs]
    assert events == ["watchdog_cannot_interrupt", "loop_held"]
    assert "main thread" in logs[0]["reason"]
    assert logs[1]["match"] == "m"


def test_a_signal_that_is_taken_is_not_taken_over() -> None:
    """Another handler of SIGURG stays, and the guard looks back."""
    with Watchdog(BUDGET_S), capture_logs() as logs, open_watchdog(1.0) as second:
        assert isinstance(second, LookBack)
    assert "SIGURG" in logs[0]["reason"]


@pytest.mark.parametrize("backend", ["asyncio", "uvloop", "trio"])
def test_an_event_loop_goes_on_undisturbed(backend: str) -> None:
    """Timers, threads and the loop's own signals work while calls are cut off."""
    signals: list[int] = []

    async def listen(*, task_status: Any) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
            task_status.started()
            async for number in received:
                signals.append(number)
                if len(signals) == 2:
                    return

    async def main() -> None:
        with open_watchdog(0.02) as guard:
            async with anyio.create_task_group() as tasks:
                await tasks.start(listen)
                for _ in range(5):
                    with pytest.raises(BudgetExceeded):
                        guard.run("m", spin)
                    with anyio.fail_after(5):
                        assert await anyio.to_thread.run_sync(lambda: 1) == 1
                        await anyio.sleep(0.001)
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(signal.SIGINT)
            assert guard.statistics().interrupted == 5

    if backend == "uvloop":
        pytest.importorskip("uvloop")
        options = {"use_uvloop": True}
        anyio.run(main, backend="asyncio", backend_options=options)
    else:
        anyio.run(main, backend=backend)
    assert signals == [signal.SIGTERM, signal.SIGINT]
