"""The garbage collector walks what is new, and now and then everything."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from hotseat.nodes.node.collector import HOLD_S, HOLD_S_MAX, bounded_pauses


class Node:
    """Part of a cycle."""

    def __init__(self) -> None:
        self.other: Node | None = None


def cycle() -> Node:
    one, two = Node(), Node()
    one.other, two.other = two, one
    return one


def test_what_survives_is_walked_once() -> None:
    """It is set aside; new garbage is still found."""
    with bounded_pauses(counted_every=1) as collector:
        kept = [cycle() for _ in range(100)]
        gc.collect()
        before = collector.statistics().set_aside
        assert before > 0
        garbage = weakref.ref(cycle())
        gc.collect()
        assert garbage() is None
        assert gc.get_objects() == [] or len(gc.get_objects()) < before
        assert collector.statistics().full_collections == 2
        assert all(one.other is not None for one in kept)
    assert gc.get_freeze_count() == 0


@pytest.fixture
def by_hand() -> Iterator[None]:
    """No collection begins by itself: how many would, is how large the process is."""
    gc.disable()
    yield
    gc.enable()


def test_cycles_that_were_set_aside_are_found_in_the_end(by_hand: None) -> None:
    """When there is twice as much as was alive, all of it is walked."""
    with bounded_pauses(walked_min=1, counted_every=1) as collector:
        kept = cycle()
        gone = weakref.ref(kept)
        gc.collect()
        gc.collect()  # more than one was set aside: all is walked, and it lives
        assert collector.statistics().walks_of_all == 1
        del kept
        gc.collect()
        assert gone() is not None  # it is aside, and nothing says that it is garbage
        aside = collector.statistics().set_aside
        ballast: list[list[int]] = [[] for _ in range(2 * aside)]
        gc.collect()
        assert collector.statistics().walks_of_all == 1
        gc.collect()
        assert collector.statistics().walks_of_all == 2
        assert gone() is None
        del ballast


def test_the_settings_are_put_back() -> None:
    """For tests, and for programs that run a node within."""
    before = gc.get_threshold(), len(gc.callbacks)
    with bounded_pauses():
        assert gc.get_threshold() != before[0]
    assert (gc.get_threshold(), len(gc.callbacks)) == before


def test_it_waits_while_it_is_held() -> None:
    """For a moment that must not be lost; then it goes on."""
    with bounded_pauses() as collector:
        collector.hold(10.0)
        assert not gc.isenabled()
        collector.look(10.0 + HOLD_S - 0.01)
        assert not gc.isenabled()
        collector.look(10.0 + HOLD_S)
        assert gc.isenabled()
        assert collector.statistics().holds == 1


def test_it_is_never_held_for_long() -> None:
    """However often that is asked for; and never beyond the program that asked."""
    with bounded_pauses() as collector:
        now_s = 10.0
        while now_s < 10.0 + HOLD_S_MAX:
            collector.hold(now_s)
            collector.look(now_s)
            now_s += 0.1
        collector.look(now_s)
        assert gc.isenabled()
        collector.hold(now_s)
        assert not gc.isenabled()
    assert gc.isenabled()


def test_who_has_turned_it_off_is_left_alone(by_hand: None) -> None:
    """It is not turned on by the end of a hold."""
    with bounded_pauses() as collector:
        collector.hold(10.0)
        collector.look(20.0)
        assert not gc.isenabled()


def test_only_who_holds_for_a_death_holds_longer() -> None:
    """A planned change of owners is no reason to let garbage pile up."""
    with bounded_pauses() as collector:
        collector.hold_longer(10.0)
        assert gc.isenabled()
        collector.hold(10.0)
        collector.hold_longer(10.0 + HOLD_S / 2)
        collector.look(10.0 + HOLD_S)
        assert not gc.isenabled()
        collector.look(10.0 + HOLD_S + HOLD_S / 2)
        assert gc.isenabled()
