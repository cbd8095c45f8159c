"""Snapshots as values, and sessions made from them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from hotseat.engine import (
    InvalidGameError,
    SnapshotError,
    create_session,
    session_from_snapshot,
    snapshot_from_json,
    snapshot_to_json,
    state,
)

from .samples import MATCH, accepted, everything, one_state


def test_snapshots_are_compared_by_value() -> None:
    """Two matches that went the same way are equal, though they share nothing."""
    one, two = (create_session(everything(), MATCH) for _ in range(2))
    assert one.snapshot == two.snapshot
    accepted(one.apply("0", "change", {}, now=1))
    assert one.snapshot != two.snapshot


def test_a_snapshot_cannot_be_changed() -> None:
    """Neither its fields nor what is in them."""
    snapshot = create_session(everything(), MATCH).snapshot
    for holder, name in ((snapshot, "G"), (snapshot.meta, "result")):
        with pytest.raises(AttributeError):
            setattr(holder, name, 1)
    with pytest.raises(TypeError):
        snapshot.G["moves"] = 1


def test_json_of_a_snapshot_is_a_plain_copy() -> None:
    """Changing it does not reach the match."""
    session = create_session(everything(), MATCH)
    stored = snapshot_to_json(session.snapshot)
    stored["G"]["moves"] = 99
    stored["meta"]["match"]["players"].append("2")
    assert session.snapshot.G["moves"] == 0
    assert session.snapshot.meta.match["players"] == ["0", "1"]


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: stored.clear(),
        lambda stored: stored.update(revision="1"),
        lambda stored: stored["meta"].update(rng=None),
        lambda stored: stored.update(G={"x": float("inf")}),
        lambda stored: stored["position"].update(path=[1]),
        lambda stored: stored["position"].update(name="\ud800"),
        lambda stored: stored["position"].update(turn=0),
        lambda stored: stored["position"].update(turn=10**30),
        lambda stored: stored["meta"].update(seed="\ud800"),
        lambda stored: stored["meta"]["rng"].update(draws=-1),
        lambda stored: stored["meta"]["rng"].update(state=2**32),
        lambda stored: stored.update(revision=-1),
    ],
)
def test_what_is_not_a_snapshot_is_refused(change: Any) -> None:
    """A damaged file is named as such, and nothing is guessed."""
    stored = snapshot_to_json(create_session(everything(), MATCH).snapshot)
    change(stored)
    with pytest.raises(SnapshotError):
        snapshot_from_json(stored)


@pytest.mark.parametrize("place", ["nowhere", "table"])
def test_a_snapshot_stands_in_a_leaf_of_its_game(place: str) -> None:
    """An unknown or a compound state is an error."""
    snapshot = create_session(everything(), MATCH).snapshot
    position = msgspec.structs.replace(snapshot.position, name=place)
    with pytest.raises(SnapshotError, match=place):
        session_from_snapshot(
            everything(), msgspec.structs.replace(snapshot, position=position)
        )


def test_what_derives_is_derived_anew() -> None:
    """A restored match follows the rules it is restored under."""
    one = one_state(states={"play": state(active_players=["0"], label="old")})
    two = one_state(states={"play": state(active_players=["1"], label="new")})
    snapshot = create_session(one, MATCH).snapshot
    restored = session_from_snapshot(two, snapshot).snapshot
    assert restored.derived.control_meta.label == "new"
    assert restored.derived.active_players == ["1"]


def test_an_invalid_game_restores_nothing() -> None:
    """The same report as at creation."""
    snapshot = create_session(one_state(), MATCH).snapshot
    states = {"play": state(active_players=["0"]), "island": state(active_players=[])}
    with pytest.raises(InvalidGameError, match="island"):
        session_from_snapshot(one_state(states=states), snapshot)


def test_action_ids_never_repeat_after_a_restore() -> None:
    """Without the log they count on from the revision."""
    session = create_session(everything(), MATCH)
    accepted(session.apply("0", "change", {"echo": 2}, now=1))
    again = session_from_snapshot(everything(), session.snapshot)
    batch = accepted(again.apply("0", "change", {}, now=2))
    assert batch.steps[0].event.action_id == "m_4"
    again = session_from_snapshot(everything(), session.snapshot, session.log)
    batch = accepted(again.apply("0", "change", {}, now=2))
    assert batch.steps[0].event.action_id == "m_2"
