"""Whatever people do in a room, and whenever: what must always hold."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine.refusal import Refusal
from hotseat.engine.testing.script import ScriptedMatch
from hotseat.nodes.gateway.lobby_conversation import REASONS, lobby_state
from hotseat.nodes.lobby.room_game import DOOR
from hotseat.nodes.lobby.room_view import RoomView
from hotseat.nodes.lobby.room_wishes import REPEATED
from tests.nodes.gateway.lobby_rig import fits_protocol

from .test_room_game import room

USERS = st.sampled_from(["h", "g", "x", "y"])
SEATS = st.integers(0, 4)

WISHES = st.one_of(
    st.tuples(st.just("take_seat"), st.fixed_dictionaries({"seat": SEATS})),
    st.tuples(st.just("leave_seat"), st.just({})),
    st.tuples(st.just("set_ready"), st.fixed_dictionaries({"ready": st.booleans()})),
    st.tuples(
        st.just("assign_bot"),
        st.fixed_dictionaries({"seat": SEATS, "bot": st.just("random")}),
    ),
    st.tuples(st.just("clear_seat"), st.fixed_dictionaries({"seat": SEATS})),
    st.tuples(
        st.just("set_target_capacity"), st.fixed_dictionaries({"capacity": SEATS})
    ),
    st.tuples(st.just("start"), st.just({})),
)
NEWS = st.one_of(
    st.tuples(
        st.just("present"),
        st.fixed_dictionaries({"users": st.lists(USERS, min_size=1)}),
    ),
    st.tuples(st.just("left"), st.fixed_dictionaries({"user": USERS})),
    st.just(("start_failed", {"code": "no", "message": "No."})),
)
STEPS = st.one_of(
    st.tuples(st.just("wish"), USERS, WISHES),
    st.tuples(st.just("news"), NEWS),
    st.tuples(st.just("wait"), st.integers(0, 70_000)),
)


def must_hold(made: ScriptedMatch) -> None:
    G: Any = made.session.snapshot.G
    view = msgspec.convert(made.view(), RoomView)
    fits_protocol(lobby_state("L", view))
    sitting = [seat["user"] for seat in G["seats"] if "user" in seat]
    assert len(set(sitting)) == len(sitting), "nobody sits twice"
    assert set(G["people"]) == {G["host"], *sitting}
    if view.phase == "lobby":
        assert all(G["people"][user]["until"] > made.now for user in sitting)
        due = made.session.next_deadline
        assert due is not None
        assert due > made.now or G["people"][G["host"]]["until"] <= made.now
    assert bool(view.assignments) is (view.phase == "starting")


@given(st.lists(STEPS, max_size=40))
def test_a_room_is_always_in_order(steps: list[Any]) -> None:
    """Nobody sits twice, whoever sits was heard of lately, somebody is the host, and
    pages are told what their protocol allows."""
    made = room()
    for number, (kind, *what) in enumerate(steps):
        if kind == "wait":
            made.wait(what[0])
        else:
            event, payload = what[-1]
            if kind == "wish":
                payload = {"op": f"{number}", "user": what[0], **payload}
            answer = made.session.apply(DOOR, event, payload, now=made.now)
            if isinstance(answer, Refusal):
                assert answer.fault is None, answer
                assert answer.reason in {*REASONS, None} - {REPEATED}
        made.wait(0)
        must_hold(made)
