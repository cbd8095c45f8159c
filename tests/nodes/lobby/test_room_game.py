"""The room's game: who may do what, and what time does."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from hotseat.engine.session import create_session
from hotseat.engine.testing.script import ScriptedMatch
from hotseat.engine.validate import hostable, validate
from hotseat.nodes.lobby.room_game import DOOR, game
from hotseat.nodes.lobby.room_wishes import OPS_REMEMBERED

BOTS = [{"botID": "random", "label": "Random"}]
S = 1_000


def room(**more: Any) -> ScriptedMatch:
    """A room for two to three, opened by user h."""
    data = {
        "game": "nim",
        "version": "1",
        "seats": ["a", "b", "c"],
        "minPlayers": 2,
        "capacity": 3,
        "bots": BOTS,
        "config": {"size": 3},
        "host": "h",
        "hostName": "Host",
        "reservationMs": 60 * S,
        "idleMs": 1_800 * S,
        "keptMs": 86_400 * S,
        **more,
    }
    return ScriptedMatch(create_session(game, {"players": [DOOR], "data": data}), 0)


ops = itertools.count()


def does(room: ScriptedMatch, user: str, event: str, **more: Any) -> ScriptedMatch:
    return room.play(DOOR, event, {"op": f"o{next(ops)}", "user": user, **more})


def may_not(
    room: ScriptedMatch, reason: str, user: str, event: str, **more: Any
) -> ScriptedMatch:
    said = {"op": f"o{next(ops)}", "user": user, **more}
    return room.refused(DOOR, event, said, reason=reason)


def gathered(**more: Any) -> ScriptedMatch:
    """The host at the first seat, and g, who is ready, at the second."""
    made = does(room(**more), "h", "take_seat", seat=0, name="Host")
    does(made, "g", "take_seat", seat=1, name="Guest")
    return does(made, "g", "set_ready", ready=True)


def test_it_can_be_hosted() -> None:
    """Nodes accept it as they accept any game."""
    report = validate(game)
    assert (report.ok, hostable(game)) == (True, None), report


def test_from_open_to_active() -> None:
    """People sit down, are ready, and the host starts; the seats are fixed then."""
    made = gathered()
    assert made.view()["canStart"]
    does(made, "h", "start").expect(state="starting")
    assert made.view()["assignments"] == [
        {"seatIndex": 0, "playerID": "a", "kind": "human", "userID": "h"},
        {"seatIndex": 1, "playerID": "b", "kind": "human", "userID": "g"},
    ]
    made.play(DOOR, "started", {"match": "M", "epoch": 7}).expect(state="active")
    view = made.view()
    assert (view["match"], view["epoch"], view["canStart"]) == ("M", 7, False)
    made.play(DOOR, "over").expect(result={"match": "M"})


def test_the_host_who_starts_is_ready() -> None:
    """Others have to say so."""
    made = gathered()
    does(made, "g", "set_ready", ready=False)
    may_not(made, "not_ready", "h", "start")


@pytest.mark.parametrize(
    ("reason", "user", "event", "more"),
    [
        ("seat_taken", "x", "take_seat", {"seat": 0}),
        ("seat_out_of_range", "x", "take_seat", {"seat": 3}),
        ("already_seated", "g", "take_seat", {"seat": 2}),
        ("not_seated", "x", "leave_seat", {}),
        ("not_seated", "x", "set_ready", {"ready": True}),
        ("not_host", "g", "start", {}),
        ("not_host", "g", "close", {}),
        ("not_host", "g", "assign_bot", {"seat": 2, "bot": "random"}),
        ("not_host", "g", "clear_seat", {"seat": 2}),
        ("not_host", "g", "set_target_capacity", {"capacity": 2}),
        ("not_host", "g", "set_config", {"key": "size", "value": 4}),
        ("seat_has_human", "h", "assign_bot", {"seat": 1, "bot": "random"}),
        ("seat_has_human", "h", "clear_seat", {"seat": 1}),
        ("seat_out_of_range", "h", "assign_bot", {"seat": 9, "bot": "random"}),
        ("seat_out_of_range", "h", "clear_seat", {"seat": 9}),
        ("unknown_bot", "h", "assign_bot", {"seat": 2, "bot": "hal"}),
        ("target_below_min", "h", "set_target_capacity", {"capacity": 1}),
        ("target_above_max", "h", "set_target_capacity", {"capacity": 4}),
        ("invalid_config_value", "h", "set_config", {"key": "no", "value": 4}),
    ],
)
def test_what_is_refused(
    reason: str, user: str, event: str, more: dict[str, Any]
) -> None:
    """With the reasons of the protocol, and nothing changes."""
    made = gathered()
    before = made.view()
    may_not(made, reason, user, event, **more)
    assert made.view() == before


def test_bots_play_where_nobody_sits() -> None:
    """A bot may take a free seat and be sent away; people cannot sit on it."""
    made = does(room(), "h", "take_seat", seat=0)
    may_not(made, "below_min_players", "h", "start")
    does(made, "h", "assign_bot", seat=1, bot="random")
    may_not(made, "seat_has_bot", "g", "take_seat", seat=1)
    assert made.view()["canStart"]
    does(made, "h", "clear_seat", seat=1)
    assert made.view()["seats"][1] == {"kind": "open", "seatIndex": 1}
    does(made, "h", "assign_bot", seat=1, bot="random")
    does(made, "h", "leave_seat")
    does(made, "h", "assign_bot", seat=0, bot="random")
    may_not(made, "no_humans_seated", "h", "start")


def test_seats_are_offered_up_to_the_capacity() -> None:
    """It grows and shrinks, but never below somebody who sits there."""
    made = does(gathered(), "h", "set_target_capacity", capacity=2)
    assert len(made.view()["seats"]) == made.view()["targetCapacity"] == 2
    does(made, "h", "set_target_capacity", capacity=3)
    does(made, "x", "take_seat", seat=2)
    may_not(made, "bad_target", "h", "set_target_capacity", capacity=2)


def test_other_settings_ask_everybody_again() -> None:
    """Who was ready was so for the settings before."""
    made = does(gathered(), "h", "set_config", key="size", value=5)
    assert made.view()["config"] == {"size": 5}
    assert not made.view()["canStart"]


def test_the_same_operation_is_played_once() -> None:
    """However often a gateway says it, as long as it is remembered."""
    made = room()
    said = {"op": "same", "user": "g", "seat": 0, "name": "G"}
    made.play(DOOR, "take_seat", said)
    for _ in range(OPS_REMEMBERED // 2 - 1):
        does(made, "h", "take_seat", seat=1)
        does(made, "h", "leave_seat")
    made.refused(DOOR, "take_seat", said, reason="repeated")


def test_a_seat_is_free_when_nobody_is_heard_of() -> None:
    """It is held as long as a gateway says that they are there."""
    made = gathered()
    made.wait(50 * S)
    made.play(DOOR, "present", {"users": ["h"]})
    made.wait(11 * S)
    kinds = [seat["kind"] for seat in made.view()["seats"]]
    assert kinds == ["human", "open", "open"]
    does(made, "x", "take_seat", seat=1)


def test_who_has_left_is_shown_so_and_comes_back() -> None:
    """The seat waits for them."""
    made = gathered()
    made.play(DOOR, "left", {"user": "g"})
    assert made.view()["seats"][1]["connected"] is False
    made.play(DOOR, "present", {"users": ["g"]})
    assert made.view()["seats"][1]["connected"] is True


def test_the_host_is_passed_on() -> None:
    """When given up, to the first who is seated and there."""
    made = gathered()
    made.wait(50 * S)
    made.play(DOOR, "present", {"users": ["g"]})
    made.wait(11 * S)
    assert made.view()["hostUserID"] == "g"
    may_not(made, "not_host", "h", "close")


def test_a_host_alone_stays_the_host() -> None:
    """They may be away to invite somebody, until the room has been idle for long."""
    made = does(room(), "h", "take_seat", seat=0)
    made.wait(1_700 * S).expect(state="lobby")
    assert made.view()["hostUserID"] == "h"
    made.wait(200 * S).expect(state="closed", result={"closed": "host_left"})
    assert made.view()["reason"] == "host_left"


def test_who_comes_first_to_a_room_without_its_host_becomes_the_host() -> None:
    """So the room is of use to somebody."""
    made = does(room(), "h", "take_seat", seat=0)
    made.wait(100 * S)
    does(made, "g", "take_seat", seat=0)
    made.wait(1)
    assert made.view()["hostUserID"] == "g"


def test_closing_ends_it() -> None:
    """Then nothing can be done any more."""
    made = does(gathered(), "h", "close")
    made.expect(state="closed", result={"closed": "host_close"})
    said = {"op": "z", "user": "h"}
    made.refused(DOOR, "start", said, code="game_over")


def test_a_start_that_fails_leads_back() -> None:
    """The reason is shown, and what is wrong can be changed."""
    made = does(gathered(), "h", "start")
    made.play(DOOR, "start_failed", {"code": "invalid_config", "message": "No."})
    made.expect(state="lobby")
    assert made.view()["problem"] == {"code": "invalid_config", "message": "No."}
    assert made.view()["assignments"] == []
    does(made, "h", "start")
    assert made.view()["problem"] is None


def test_a_start_is_said_once() -> None:
    """Of two gateways that have opened the match one says so."""
    made = does(gathered(), "h", "start")
    made.play(DOOR, "started", {"match": "M", "epoch": 7})
    made.refused(DOOR, "started", {"match": "M", "epoch": 7})
    made.refused(DOOR, "start_failed", {"code": "no", "message": "No."})


def test_a_room_that_nobody_carries_on_is_shut() -> None:
    """Also if it stands while starting; and an active one is kept for as long
    as was said, and as long again whenever its match goes on."""
    made = does(gathered(), "h", "start")
    made.wait(1_801 * S).expect(state="closed")
    other = does(gathered(), "h", "start")
    other.play(DOOR, "started", {"match": "M", "epoch": 7})
    other.wait(86_399 * S).expect(state="active", result=None)
    other.play(DOOR, "goes_on")
    other.wait(86_399 * S).expect(state="active", result=None)
    other.wait(2 * S).expect(result={"match": "M"})
