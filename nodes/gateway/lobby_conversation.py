"""One page's connection to a lobby as a state machine.

Pure: no socket, no clock. The shell gives it messages, views of the room and the
answers to what it asked; it says what to ask, and what to send, in order.

Rules:
- Who acts is the user of the token.
- What the room refuses is told with the reason of the protocol. What it accepts shows
  in its state, which is told when it has changed.
- Of states that wait to be sent the newest is: who does not read costs one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from ...engine.config_schema import ConfigField
from ..client import Refusal
from ..lobby.room_view import Assignment, RoomView
from . import lobby_messages as said

__all__ = [
    "REASONS",
    "Ask",
    "GoToMatch",
    "LobbyConversation",
    "lobby_state",
]

ASKED_MAX = 16
"""Of one connection without an answer; one more is refused."""

UNSENT_MAX = 32
"""Messages that may wait until the page takes them, before it is not read any more."""

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "seat_taken": "Somebody sits there.",
        "seat_out_of_range": "There is no such seat.",
        "not_seated": "You have no seat.",
        "already_seated": "You have a seat: leave it first.",
        "not_host": "That is for the host.",
        "not_ready": "Somebody who is seated is not ready.",
        "below_min_players": "The game needs more players.",
        "no_humans_seated": "Somebody has to play who is no bot.",
        "bad_phase": "It has begun: that cannot be changed any more.",
        "room_closed": "The lobby is closed.",
        "seat_has_bot": "A bot has that seat.",
        "seat_has_human": "Somebody sits there: nobody's seat is taken from them.",
        "unknown_bot": "There is no such bot for this game.",
        "target_below_min": "The game needs more seats.",
        "target_above_max": "The game has not so many seats.",
        "bad_target": "Somebody sits on a seat that would go.",
        "invalid_config_value": "The game takes no such setting: see `configKey` and "
        "`configDetail`.",
        "unknown": "Something else: see `message`.",
    }
)
"""Every reason of the protocol, with what it means."""

_CONFIG_CODES = frozenset(
    {"invalid_config_value", "unexpected_config", "unknown_config_key"}
)

BUSY = Refusal("busy", "Too much at once. Try again after a pause.")

_encode = msgspec.json.Encoder(order=None).encode


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask the room, and tell `answered`."""

    event: str
    payload: Mapping[str, Any]
    echo: str
    """The type of the message that wanted it."""


@dataclass(frozen=True, slots=True)
class GoToMatch:
    """Make a token for the match, and tell `led`. `player` "" only watches."""

    match: str
    epoch: int
    player: str


class LobbyConversation:
    """What one connection has said and was told."""

    __slots__ = (
        "_asked",
        "_fields",
        "_led",
        "_name",
        "_problem",
        "_shown",
        "_state",
        "_unsent",
        "_view",
        "extended",
        "lobby",
        "user",
    )

    def __init__(self, lobby: str, user: str, name: str, *, extended: bool) -> None:
        """`extended`: it knows our own messages."""
        self.lobby = lobby
        self.user = user
        self.extended = extended
        self._name = name
        self._view: RoomView | None = None
        self._fields: Mapping[str, ConfigField] | None = None
        self._asked = 0
        self._led = False
        self._problem = 0  # of which start the host was told that it failed
        self._shown: dict[str, Any] | None = None
        self._state: bytes | None = None
        self._unsent: list[bytes] = []

    @property
    def view(self) -> RoomView | None:
        """The room as it was seen last."""
        return self._view

    @property
    def full(self) -> bool:
        """Too much waits to be sent: nothing more should be heard."""
        return len(self._unsent) >= UNSENT_MAX

    @property
    def closed(self) -> bool:
        """The room is shut, and there is nothing more to say."""
        return self._view is not None and self._view.phase == "closed"

    def next_to_send(self) -> bytes | None:
        """The next message, in JSON."""
        if self._unsent:
            return self._unsent.pop(0)
        state, self._state = self._state, None
        return state

    def knows(self, fields: Mapping[str, ConfigField] | None) -> None:
        """What the game may be configured with; None: its nodes will say."""
        self._fields = fields

    def hear(self, message: said.LobbyMessage) -> Ask | None:
        """What the room is to be asked."""
        asked = self._ask_of(message)
        if asked is None:
            return None
        if self._asked >= ASKED_MAX:
            self.refuse(message)
            return None
        if isinstance(message, said.SetConfig) and self._is_wrong(message):
            return None
        self._asked += 1
        return asked

    def refuse(self, message: said.LobbyMessage) -> None:
        """Say no to what is not even looked at."""
        asked = self._ask_of(message)
        if asked is not None:
            self._reject(asked.echo, "unknown", BUSY.message)

    def answered(self, asked: Ask, refusal: Refusal | None) -> None:
        """What came of it; None: it is done."""
        self._asked -= 1
        if refusal is None:
            return
        reason = self._reason(refusal)
        text = refusal.message if reason == "unknown" else REASONS[reason]
        more: dict[str, str] = {}
        if reason == "invalid_config_value" and "key" in asked.payload:
            more["configKey"] = asked.payload["key"]
        self._reject(asked.echo, reason, text, **more)

    def looked(self, room: RoomView) -> GoToMatch | None:
        """The room is like that now. Returns where the page should be led."""
        before, self._view = self._view, room
        state = lobby_state(self.lobby, room)
        if state != self._shown:
            self._shown, self._state = state, _encode(state)
        if before is not None and room.problem and room.starts != self._problem:
            self._tell_problem(room)
        self._problem = room.starts if room.problem else self._problem
        if room.phase == "closed" and (before is None or before.phase != "closed"):
            self._flush()
            known = room.reason in ("host_close", "host_left")
            reason = room.reason if known else "room_closed"
            self.tell({"type": "lobby:closed", "reason": reason})
        return self._way(room)

    def led(self, way: GoToMatch, token: str, expires_ms: int, url: str) -> None:
        """Lead the page to the match, with that token."""
        assert self._view is not None
        kind = "transition_to_game" if way.player else "watch_game"
        message: dict[str, Any] = {
            "type": f"lobby:{kind}",
            "roomID": way.match,
            "playerID": way.player,
            "roomToken": token,
            "tokenExpiresAt": expires_ms,
            "websocketURL": url,
            "playerAssignments": [_shown(one) for one in self._view.assignments],
        }
        self._flush()
        self.tell(message)

    def tell(self, message: Mapping[str, Any]) -> None:
        """Send a message as it is."""
        self._unsent.append(_encode(message))

    def _flush(self) -> None:
        """What comes next is told after the state."""
        if self._state is not None:
            self._unsent.append(self._state)
            self._state = None

    def _way(self, room: RoomView) -> GoToMatch | None:
        if self._led or room.phase != "active" or room.match is None:
            return None
        mine = room.assigned(self.user)
        if mine is None and not self.extended:
            return None
        self._led = True
        player = "" if mine is None else mine.playerID
        return GoToMatch(room.match, room.epoch or 0, player)

    def _tell_problem(self, room: RoomView) -> None:
        problem = room.problem
        if problem is None or room.hostUserID != self.user:
            return
        wrong = problem.code in _CONFIG_CODES
        reason = "invalid_config_value" if wrong else "unknown"
        self._reject("lobby:start", reason, problem.message)

    def _is_wrong(self, message: said.SetConfig) -> bool:
        """Whether the game takes no such setting; then that is told."""
        fields = self._fields
        if fields is None:
            return False  # the match's own node will look
        if message.key not in fields:
            problem: str | None = "is no setting of the game"
        else:
            problem = fields[message.key].problem(message.value)
        if problem is None:
            return False
        self._reject(
            "host:set_config",
            "invalid_config_value",
            f"{message.key} {problem}",
            configKey=message.key,
            configDetail=problem,
        )
        return True

    def _reason(self, refusal: Refusal) -> str:
        if refusal.reason in REASONS:
            return str(refusal.reason)
        phase = None if self._view is None else self._view.phase
        if refusal.code in ("game_over", "invalid_event", "inactive_player"):
            return "room_closed" if phase == "closed" else "bad_phase"
        return "unknown"

    def _reject(self, echo: str, reason: str, message: str, **more: str) -> None:
        told = {"type": "lobby:rejected", "reason": reason, "echoType": echo}
        self.tell({**told, "message": message, **more})

    def _ask_of(self, message: said.LobbyMessage) -> Ask | None:
        """The message in the words of the room; None: it is not for the room."""
        event, more = _in_room(message)
        if not event:
            return None
        if event == "take_seat":
            more["name"] = self._name
        echo = str(type(message).__struct_config__.tag)
        return Ask(event, {"user": self.user, **more}, echo)


def lobby_state(lobby: str, room: RoomView) -> dict[str, Any]:
    """The room as a message."""
    told: dict[str, Any] = {
        "type": "lobby:state",
        "roomID": lobby,
        "phase": room.phase,
        "hostUserID": room.hostUserID,
        "seats": [msgspec.to_builtins(seat) for seat in room.seats],
        "minPlayers": room.minPlayers,
        "maxPlayers": room.maxPlayers,
        "targetCapacity": room.targetCapacity,
        "canStart": room.canStart,
        "availableBots": room.availableBots,
    }
    if room.config is not None:
        told["config"] = {"values": room.config}
    return told


def _in_room(message: said.LobbyMessage) -> tuple[str, dict[str, Any]]:
    match message:
        case said.TakeSeat():
            return "take_seat", {"seat": message.seatIndex}
        case said.LeaveSeat():
            return "leave_seat", {}
        case said.SetReady():
            return "set_ready", {"ready": message.ready}
        case said.Start():
            return "start", {}
        case said.Close():
            return "close", {}
        case said.AssignBot():
            return "assign_bot", {"seat": message.seatIndex, "bot": message.botID}
        case said.ClearSeat():
            return "clear_seat", {"seat": message.seatIndex}
        case said.SetTargetCapacity():
            return "set_target_capacity", {"capacity": message.targetCapacity}
        case said.SetConfig():
            return "set_config", {"key": message.key, "value": message.value}
        case _:
            return "", {}


def _shown(one: Assignment) -> dict[str, Any]:
    """An assignment as the protocol has it: who the people are is in the state."""
    told = {"seatIndex": one.seatIndex, "playerID": one.playerID, "kind": one.kind}
    return {**told, "botID": one.botID} if one.botID else told
