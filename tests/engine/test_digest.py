"""Canonical bytes, and digests by value."""

from __future__ import annotations

from typing import Any

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine import canonical_bytes, create_session, freeze, state_digest, thaw
from hotseat.engine.digest import changes

from .samples import MATCH, accepted, everything, one_state
from .test_frozen import JSON


def sorted_keys(value: Any) -> Any:
    """The same value with the keys of every dict in the order of their bytes."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode())
        return {name: sorted_keys(value[name]) for name in names}
    if isinstance(value, list):
        return [sorted_keys(item) for item in value]
    return value


def shuffled(value: Any) -> Any:
    """The same value with the keys of every dict in another order."""
    if isinstance(value, dict):
        return {name: shuffled(value[name]) for name in reversed(value)}
    if isinstance(value, list):
        return [shuffled(item) for item in value]
    return value


@given(JSON)
def test_canonical_bytes_are_msgpack_with_sorted_keys(value: Any) -> None:
    """Whoever has msgpack can compute the bytes that digests cover."""
    frozen = freeze(value)
    assert msgpack.packb(sorted_keys(thaw(frozen))) == canonical_bytes(frozen)


@given(JSON)
def test_equal_values_have_equal_bytes(value: Any) -> None:
    """Neither the order of keys nor a trip through msgpack shows."""
    frozen = freeze(value)
    assert canonical_bytes(frozen) == canonical_bytes(freeze(shuffled(thaw(frozen))))
    again = freeze(msgpack.unpackb(canonical_bytes(frozen)))
    assert canonical_bytes(frozen) == canonical_bytes(again)


@given(JSON, JSON, st.booleans())
def test_changes_are_by_value(before: Any, after: Any, mixed: bool) -> None:
    """Sharing parts saves work and never shows in what changed."""
    old, new = freeze([before, {"k": before}]), freeze([before, {"k": after}])
    shared = freeze([old[0], {"k": freeze(after)}]) if mixed else new
    unshared = freeze(thaw(new))
    assert canonical_bytes(changes(old, shared)) == canonical_bytes(
        changes(freeze(thaw(old)), unshared)
    )
    same = canonical_bytes(old) == canonical_bytes(new)
    assert same == (changes(old, unshared) is None)


def test_true_is_not_one() -> None:
    """Python's equality of booleans and numbers is not JSON's."""
    assert changes(freeze([1]), freeze([True])) is not None
    assert changes(freeze({"a": 0}), freeze({"a": False})) is not None


def test_only_the_order_of_keys_is_no_change() -> None:
    """Objects have no order."""
    assert changes(freeze({"a": 1, "b": 2}), freeze({"b": 2, "a": 1})) is None


def test_a_state_digest_is_of_the_state_alone() -> None:
    """Two orders of simultaneous moves, at other times, end in one digest."""

    def sit(ctx: Any) -> Any:
        return {"G": {**ctx.G, ctx.player_id: ctx.event.payload}}

    ends = set()
    for order in (("0", "1"), ("1", "0")):
        session = create_session(one_state(sit), MATCH)
        for now, seat in enumerate(order, start=5 * int(order[0])):
            accepted(session.apply(seat, "go", f"by {seat}", now=now))
        ends.add((state_digest(session.snapshot), session.digest))
    assert len({state for state, _ in ends}) == 1
    assert len({chain for _, chain in ends}) == 2


def test_a_state_digest_covers_every_part() -> None:
    """G, position, result, rng and match each change it."""
    session = create_session(everything(), MATCH)
    seen = {state_digest(session.snapshot)}
    for payload in ({"put": ["a", 1]}, {"roll": True}, {"turn": "increment"}):
        accepted(session.apply("0", "change", payload, now=1))
        seen.add(state_digest(session.snapshot))
    accepted(session.apply("0", "rest", now=1))
    seen.add(state_digest(session.snapshot))
    other = create_session(everything(), {"players": ["1", "0"]})
    seen.add(state_digest(other.snapshot))
    seeded = create_session(everything(), MATCH, seed="other")
    seen.add(state_digest(seeded.snapshot))
    assert len(seen) == 7
