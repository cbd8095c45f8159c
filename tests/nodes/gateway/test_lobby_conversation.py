"""The lobby conversation by itself: what waits to be sent, and what is said no to."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from hotseat.nodes.client import Refusal
from hotseat.nodes.gateway import lobby_messages as said
from hotseat.nodes.gateway.lobby_conversation import (
    ASKED_MAX,
    REASONS,
    UNSENT_MAX,
    GoToMatch,
    LobbyConversation,
)
from hotseat.nodes.lobby.room_view import Assignment, Problem, RoomView, Seat

from .lobby_rig import SCHEMAS, fits_protocol

ROOM = RoomView(
    phase="lobby",
    game="nim",
    version="1",
    match=None,
    epoch=None,
    hostUserID="h",
    seats=[Seat("open", 0), Seat("open", 1)],
    seatIDs=["0", "1"],
    minPlayers=2,
    maxPlayers=2,
    targetCapacity=2,
    canStart=False,
    availableBots=[],
    config=None,
    assignments=[],
    starts=0,
    problem=None,
    reason=None,
    reservationMs=60_000,
    keptMs=86_400_000,
)
READY = said.SetReady(True)


def room(**changed: Any) -> RoomView:
    return msgspec.structs.replace(ROOM, **changed)


def page(user: str = "h") -> LobbyConversation:
    return LobbyConversation("L", user, "Host", extended=False)


def told(conversation: LobbyConversation) -> list[dict[str, Any]]:
    messages = []
    while (data := conversation.next_to_send()) is not None:
        messages.append(fits_protocol(json.loads(data)))
    return messages


def test_who_does_not_read_gets_the_newest_state() -> None:
    """Not each of them; and none that says what was said."""
    conversation = page()
    for capacity in range(1, 100):
        conversation.looked(room(targetCapacity=capacity))
    assert [message["targetCapacity"] for message in told(conversation)] == [99]
    conversation.looked(room(targetCapacity=99, starts=1))
    assert told(conversation) == []


def test_too_much_at_once_is_refused() -> None:
    """And a page that takes nothing is not heard any more."""
    conversation = page()
    asked = [conversation.hear(READY) for _ in range(ASKED_MAX)]
    assert None not in asked
    for _ in range(UNSENT_MAX):
        assert not conversation.full
        assert conversation.hear(READY) is None
    assert conversation.full
    assert {message["reason"] for message in told(conversation)} == {"unknown"}
    assert asked[0] is not None
    conversation.answered(asked[0], None)
    assert conversation.hear(READY) is not None


def test_the_reasons_are_those_of_the_protocol() -> None:
    """None is missing, and none is ours alone."""
    (rejected,) = (
        schema
        for schema in SCHEMAS["lobby_server"]["oneOf"]
        if schema["properties"]["type"]["const"] == "lobby:rejected"
    )
    assert set(rejected["properties"]["reason"]["enum"]) == REASONS.keys()


def test_what_the_room_does_not_take_now() -> None:
    """It depends on how the room is seen; what is no reason is told in words."""
    for phase, code, reason in (
        ("starting", "invalid_event", "bad_phase"),
        ("closed", "game_over", "room_closed"),
        ("lobby", "no_answer", "unknown"),
    ):
        conversation = page()
        conversation.looked(room(phase=phase))
        asked = conversation.hear(READY)
        assert asked is not None
        conversation.answered(asked, Refusal(code, "Why."))
        (rejected,) = (
            message
            for message in told(conversation)
            if message["type"] == "lobby:rejected"
        )
        assert (rejected["reason"], rejected["echoType"]) == (reason, "lobby:set_ready")
        assert (rejected.get("message") == "Why.") is (reason == "unknown")


def test_a_failed_start_is_told_once_and_to_the_host() -> None:
    """Who comes later sees an open lobby."""
    failed = room(starts=1, problem=Problem("invalid_config_value", "No."))
    for user, count in (("h", 1), ("g", 0)):
        conversation = page(user)
        for view in (ROOM, failed, room(starts=1, canStart=True), failed):
            conversation.looked(view)
        kinds = [message["type"] for message in told(conversation)]
        assert kinds.count("lobby:rejected") == count
    late = page()
    late.looked(failed)
    assert [message["type"] for message in told(late)] == ["lobby:state"]


def test_the_way_to_the_match_is_told_once_and_after_the_state() -> None:
    """To who plays; the reference's page that only watches is told of none."""
    active = room(
        phase="active",
        match="M",
        epoch=7,
        assignments=[Assignment(0, "0", "human", userID="h")],
    )
    conversation = page()
    way = conversation.looked(active)
    assert way == GoToMatch("M", 7, "0")
    conversation.led(way, "token", 5, "ws://gw/rooms/M")
    assert conversation.looked(active) is None
    kinds = [message["type"] for message in told(conversation)]
    assert kinds == ["lobby:state", "lobby:transition_to_game"]
    assert page("g").looked(active) is None
