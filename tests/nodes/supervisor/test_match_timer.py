"""The node's one timer."""

from __future__ import annotations

import trio

from hotseat.nodes.supervisor.match_timer import TICK_MS, MatchTimer
from hotseat.runtime.deadline import DueDeadline

from ...runtime.hosting import HeldClock, TrioClock


async def test_an_earlier_deadline_wakes_the_timer(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """One that is armed while the timer sleeps for a later one is not missed."""
    clock = TrioClock()
    fired: list[tuple[str, int]] = []

    def fire(due: DueDeadline) -> bool:
        fired.append((due.match, clock.now_ms()))
        return True

    timer = MatchTimer(clock, fire, lambda now_ms: None)
    start = clock.now_ms()
    timer.arm("late", 1, start + 700)
    nursery.start_soon(timer.run)
    await trio.sleep(0.1)
    timer.arm("early", 1, start + 150)
    timer.arm("never", 1, start + 160)
    timer.disarm("never")
    await trio.sleep(1)
    assert fired == [("early", start + 150), ("late", start + 700)]


async def test_a_deadline_that_could_not_be_delivered_is_tried_again(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """A full mailbox delays a deadline and does not lose it."""
    clock = TrioClock()
    room = iter([False, False, True])
    fired: list[DueDeadline] = []

    def fire(due: DueDeadline) -> bool:
        fired.append(due)
        return next(room)

    timer = MatchTimer(clock, fire, lambda now_ms: None)
    timer.arm("m", 4, clock.now_ms() + 10)
    nursery.start_soon(timer.run)
    await trio.sleep(2)
    assert [due.revision for due in fired] == [4, 4, 4]
    assert timer.statistics().armed == 0


async def test_a_wall_clock_that_is_set_forward_is_noticed(
    nursery: trio.Nursery, autojump_clock: trio.testing.MockClock
) -> None:
    """The timer looks at the wall clock at least once per tick."""
    clock = HeldClock(1_000)
    fired: list[DueDeadline] = []
    ticks: list[int] = []

    def fire(due: DueDeadline) -> bool:
        fired.append(due)
        return True

    timer = MatchTimer(clock, fire, ticks.append)
    timer.arm("m", 1, 3_600_000)
    nursery.start_soon(timer.run)
    await trio.sleep(0.01)
    clock.ms = 3_600_000
    await trio.sleep(TICK_MS / 1_000)
    assert len(fired) == 1
    assert ticks[-1] == 3_600_000


def test_very_many_that_are_overdue_are_fired_some_at_a_time() -> None:
    """All of them, earliest first; the loop gets its turn in between."""
    fired: list[str] = []

    def fire(due: DueDeadline) -> bool:
        fired.append(due.match)
        return True

    timer = MatchTimer(HeldClock(), fire, lambda now_ms: None)
    for number in range(600):
        timer.arm(str(number), 1, number)
    timer.tick(1_000)
    first = len(fired)
    assert 0 < first < 600
    while (due_ms := timer.next_due_ms()) is not None:
        assert due_ms <= 1_000
        timer.tick(1_000)
    assert fired == [str(number) for number in range(600)]
