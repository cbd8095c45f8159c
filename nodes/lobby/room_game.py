"""A room is a match of this game, in which people gather for a match of another.

So a room is kept, copied and taken over as any match is, and whatever two people want
at once is decided by its log. Its one seat, `door`, is held by gateways, which say what
their users want, who is there, and what became of the start. Everybody else watches the
public view.

    lobby -- start --> starting -- started --> active     (ends: over, or after a while)
      ^                   |
      +-- start_failed ---+        lobby, starting -- close, idle --> closed   (ended)

Every gateway that sees `starting` opens the match under a key that the room's id and
the number of the start give, and says `started`: whoever is first, it is one match.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from ...engine.context import ResolverContext, SetupContext, StateContext
from ...engine.definition import (
    define_game,
    enqueue,
    event,
    reject,
    state,
    timeout,
    transition,
    views,
)
from ...engine.jsonvalue import Json
from .room_events import (
    AssignBot,
    ByUser,
    Left,
    OnSeat,
    Present,
    SetCapacity,
    SetConfig,
    SetReady,
    Started,
    StartFailed,
    TakeSeat,
)
from .room_rules import can_start, deadline_ms, seen, settle, touch
from .room_setup import RoomSetup
from .room_wishes import (
    assign_bot,
    by_host,
    by_user,
    clear_seat,
    close,
    leave_seat,
    set_capacity,
    set_config,
    set_ready,
    shut,
    start,
    take_seat,
)

__all__ = ["DOOR", "ROOM_GAME", "game"]

ROOM_GAME: Final = "hotseat-room"

DOOR: Final = "door"
"""The room's one seat."""

GATHERING: Final = "lobby"
STARTING: Final = "starting"
ACTIVE: Final = "active"
CLOSED: Final = "closed"


def setup(ctx: SetupContext) -> Json:
    """An open room, with its host outside: nobody sits yet."""
    asked = msgspec.convert(ctx.match["data"], RoomSetup)
    now = int(ctx.now)
    return {
        "game": asked.game,
        "version": asked.version,
        "seatIDs": asked.seats,
        "minPlayers": asked.minPlayers,
        "bots": msgspec.to_builtins(asked.bots),
        "config": asked.config,
        "reservationMs": asked.reservationMs,
        "idleMs": asked.idleMs,
        "keptMs": asked.keptMs,
        "host": asked.host,
        # Who was given a link may come as late as the room is open.
        "people": {
            asked.host: {
                "name": asked.hostName,
                "until": now + asked.idleMs,
                "here": False,
            }
        },
        "seats": [{} for _ in range(min(asked.capacity, len(asked.seats)))],
        "idleUntil": now + asked.idleMs,
        "ops": [],
        "assignments": [],
        "starts": 0,
        "match": None,
        "epoch": None,
        "problem": None,
        "reason": None,
    }


def present(ctx: ResolverContext[Present]) -> object:
    """Those who are there keep their places."""
    G: Any = ctx.draft()
    now = int(ctx.now)
    settle(G, now)
    touch(G, now)
    for user in ctx.event.payload.users:
        if user in G["people"]:
            seen(G, user, now)
    return {"G": G}


def left(ctx: ResolverContext[Left]) -> object:
    """Somebody is away; their place waits for them."""
    G: Any = ctx.draft()
    one = G["people"].get(ctx.event.payload.user)
    if one is None or not one["here"]:
        return reject("not_seated")
    one["here"] = False
    return {"G": G}


def started(ctx: ResolverContext[Started]) -> object:
    """The match is there."""
    said = ctx.event.payload
    more = {"match": said.match, "epoch": said.epoch, "idleUntil": _kept_until(ctx)}
    return {"G": {**ctx.G, **more}}


def start_failed(ctx: ResolverContext[StartFailed]) -> object:
    """There can be no such match: the host may change something."""
    said = ctx.event.payload
    G: Any = ctx.draft()
    G["problem"] = {"code": said.code, "message": said.message}
    G["assignments"] = []
    touch(G, int(ctx.now))
    return {"G": G}


def goes_on(ctx: ResolverContext[Json]) -> object:
    """The match is being played: who plays for its bots must find the room again."""
    return {"G": {**ctx.G, "idleUntil": _kept_until(ctx)}}


def over(ctx: ResolverContext[Json]) -> object:
    """The match has ended: its bots need the room no more."""
    return {"G": ctx.G, "result": {"match": ctx.G["match"]}}


def lapse(ctx: ResolverContext[Json]) -> object:
    """Somebody was not heard of for too long, or nobody is there any more."""
    if ctx.now >= ctx.G["idleUntil"]:
        return {"enqueue": [enqueue("expire")]}
    G: Any = ctx.draft()
    settle(G, int(ctx.now))
    return {"G": G}


def expire(ctx: ResolverContext[Json]) -> object:
    """Shut what nobody wants, however it is asked for."""
    if ctx.now < ctx.G["idleUntil"]:
        return None
    return shut({**ctx.G, "reason": "host_left"})


def public_view(ctx: StateContext) -> Json:
    """All that anybody may know of a room, in the words of the lobby protocol."""
    G, phase = ctx.G, ctx.position.name
    return {
        "phase": phase,
        "game": G["game"],
        "version": G["version"],
        "match": G["match"],
        "epoch": G["epoch"],
        "hostUserID": G["host"],
        "seats": [_seat(G, index) for index in range(len(G["seats"]))],
        "seatIDs": G["seatIDs"],
        "minPlayers": G["minPlayers"],
        "maxPlayers": len(G["seatIDs"]),
        "targetCapacity": len(G["seats"]),
        "canStart": phase == GATHERING and can_start(G),
        "availableBots": G["bots"],
        "config": G["config"],
        "assignments": G["assignments"],
        "starts": G["starts"],
        "problem": G["problem"],
        "reason": G["reason"],
        "reservationMs": G["reservationMs"],
        "keptMs": G["keptMs"],
    }


def _kept_until(ctx: ResolverContext[Any]) -> int:
    kept_ms: int = ctx.G["keptMs"]
    return int(ctx.now) + kept_ms


def _seat(G: Any, index: int) -> Json:
    seat = G["seats"][index]
    if "user" in seat:
        one = G["people"][seat["user"]]
        return {
            "kind": "human",
            "seatIndex": index,
            "userID": seat["user"],
            "userName": one["name"] or None,
            "ready": seat["ready"],
            "connected": one["here"],
        }
    if "bot" in seat:
        labels = {bot["botID"]: bot["label"] for bot in G["bots"]}
        label = labels[seat["bot"]]
        return {
            "kind": "bot",
            "seatIndex": index,
            "botID": seat["bot"],
            "label": label,
        }
    return {"kind": "open", "seatIndex": index}


game = define_game(
    name=ROOM_GAME,
    version="1",
    player_ids=[DOOR],
    min_players=1,
    events={
        "take_seat": event(TakeSeat),
        "leave_seat": event(ByUser),
        "set_ready": event(SetReady),
        "assign_bot": event(AssignBot),
        "clear_seat": event(OnSeat),
        "set_target_capacity": event(SetCapacity),
        "set_config": event(SetConfig),
        "start": event(ByUser),
        "close": event(ByUser),
        "present": event(Present),
        "left": event(Left),
        "started": event(Started),
        "start_failed": event(StartFailed),
        "goes_on": event(),
        "over": event(),
        "expire": event(),
    },
    initial=GATHERING,
    setup=setup,
    states={
        GATHERING: state(
            active_players=[DOOR], deadline=lambda ctx: deadline_ms(ctx.G)
        ),
        STARTING: state(active_players=[DOOR], deadline=lambda ctx: ctx.G["idleUntil"]),
        ACTIVE: state(active_players=[DOOR], deadline=lambda ctx: ctx.G["idleUntil"]),
        CLOSED: state(active_players=[]),
    },
    transitions=[
        transition("take_seat", GATHERING, GATHERING, by_user(take_seat)),
        transition("leave_seat", GATHERING, GATHERING, by_user(leave_seat)),
        transition("set_ready", GATHERING, GATHERING, by_user(set_ready)),
        transition("assign_bot", GATHERING, GATHERING, by_host(assign_bot)),
        transition("clear_seat", GATHERING, GATHERING, by_host(clear_seat)),
        transition("set_target_capacity", GATHERING, GATHERING, by_host(set_capacity)),
        transition("set_config", GATHERING, GATHERING, by_host(set_config)),
        transition("present", GATHERING, GATHERING, present),
        transition("left", GATHERING, GATHERING, left),
        transition("start", GATHERING, STARTING, by_host(start)),
        transition("close", GATHERING, CLOSED, close),
        transition("started", STARTING, ACTIVE, started),
        transition("start_failed", STARTING, GATHERING, start_failed),
        transition("goes_on", ACTIVE, ACTIVE, goes_on),
        transition("over", ACTIVE, ACTIVE, over),
        timeout(GATHERING, GATHERING, lapse, label="lapse"),
        transition("expire", GATHERING, CLOSED, expire),
        timeout(STARTING, CLOSED, expire, label="expire"),
        timeout(ACTIVE, ACTIVE, over, label="kept long enough"),
    ],
    views=views(public=public_view),
    credit_outages=True,
)
