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

Rejections are the reasons of the lobby protocol, and `repeated`: that was done before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from ...engine.context import ResolverContext, SetupContext, StateContext
from ...engine.definition import (
    Rejected,
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
from .room_rules import (
    assignments,
    bot_ids,
    can_start,
    deadline_ms,
    seat_of,
    seen,
    settle,
    start_problem,
    tidy,
    touch,
)
from .room_setup import RoomSetup

__all__ = ["DOOR", "OPS_REMEMBERED", "REPEATED", "ROOM_GAME", "game"]

ROOM_GAME: Final = "hotseat-room"

DOOR: Final = "door"
"""The room's one seat."""

OPS_REMEMBERED = 64
"""Names of what was done last: far more than gateways may be repeating."""

REPEATED: Final = "repeated"

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


Change = Callable[[Any, Any, int], "Rejected | None"]
"""Changes a draft of G as a payload says; the last argument is the time."""


def by_user(change: Change) -> Callable[[ResolverContext[Any]], object]:
    """What a user wants: once, and of the room as it is now."""

    def resolve(ctx: ResolverContext[Any]) -> object:
        G: Any = ctx.draft()
        said, now = ctx.event.payload, int(ctx.now)
        if said.op in G["ops"]:
            return reject(REPEATED)
        settle(G, now)
        no = change(G, said, now)
        if no is not None:
            return no
        if said.user in G["people"]:
            seen(G, said.user, now)
        touch(G, now)
        G["ops"] = [*G["ops"], said.op][-OPS_REMEMBERED:]
        return {"G": G}

    return resolve


def by_host(change: Change) -> Callable[[ResolverContext[Any]], object]:
    """The same, of what only the host may want."""

    def checked(G: Any, said: ByUser, now: int) -> Rejected | None:
        return change(G, said, now) if G["host"] == said.user else reject("not_host")

    return by_user(checked)


def take_seat(G: Any, said: TakeSeat, now: int) -> Rejected | None:
    """Sit down."""
    if said.seat >= len(G["seats"]):
        return reject("seat_out_of_range")
    if seat_of(G, said.user) is not None:
        return reject("already_seated")
    seat = G["seats"][said.seat]
    if seat:
        return reject("seat_has_bot" if "bot" in seat else "seat_taken")
    G["seats"][said.seat] = {"user": said.user, "ready": False}
    G["people"][said.user] = {"name": said.name, "until": now, "here": True}
    return None


def leave_seat(G: Any, said: ByUser, now: int) -> Rejected | None:
    """Get up. A host who does so stays the host."""
    index = seat_of(G, said.user)
    if index is None:
        return reject("not_seated")
    G["seats"][index] = {}
    tidy(G)
    return None


def set_ready(G: Any, said: SetReady, now: int) -> Rejected | None:
    """Say whether one is ready."""
    index = seat_of(G, said.user)
    if index is None:
        return reject("not_seated")
    G["seats"][index]["ready"] = said.ready
    return None


def assign_bot(G: Any, said: AssignBot, now: int) -> Rejected | None:
    """Let a bot play."""
    if said.seat >= len(G["seats"]):
        return reject("seat_out_of_range")
    if "user" in G["seats"][said.seat]:
        return reject("seat_has_human")
    if said.bot not in bot_ids(G):
        return reject("unknown_bot")
    G["seats"][said.seat] = {"bot": said.bot}
    return None


def clear_seat(G: Any, said: OnSeat, now: int) -> Rejected | None:
    """Send a bot away. Nobody's seat is taken from them."""
    if said.seat >= len(G["seats"]):
        return reject("seat_out_of_range")
    if "user" in G["seats"][said.seat]:
        return reject("seat_has_human")
    G["seats"][said.seat] = {}
    return None


def set_capacity(G: Any, said: SetCapacity, now: int) -> Rejected | None:
    """Offer more seats, or fewer."""
    if said.capacity < G["minPlayers"]:
        return reject("target_below_min")
    if said.capacity > len(G["seatIDs"]):
        return reject("target_above_max")
    seats = list(G["seats"])
    if any(seats[said.capacity :]):
        return reject("bad_target", "Somebody sits there.")
    more = said.capacity - len(seats)
    G["seats"] = [*seats[: said.capacity], *({} for _ in range(more))]
    return None


def set_config(G: Any, said: SetConfig, now: int) -> Rejected | None:
    """Change the settings. Who was ready was so for others."""
    if G["config"] is None or said.key not in G["config"]:
        return reject("invalid_config_value", "There is no such setting.")
    G["config"][said.key] = said.value
    for seat in G["seats"]:
        if "user" in seat:
            seat["ready"] = False
    return None


def start(G: Any, said: ByUser, now: int) -> Rejected | None:
    """From here on it is fixed who plays."""
    problem = start_problem(G)
    if problem is not None:
        return reject(problem)
    G["assignments"] = assignments(G)
    G["starts"] += 1
    G["problem"] = None
    return None


def close(ctx: ResolverContext[ByUser]) -> object:
    """The host shuts the room."""

    def change(G: Any, said: ByUser, now: int) -> None:
        G["reason"] = "host_close"

    done: Any = by_host(change)(ctx)
    return done if isinstance(done, Rejected) else {**done, "result": _closed(done)}


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
    kept_until = int(ctx.now) + ctx.G["keptMs"]
    more = {"match": said.match, "epoch": said.epoch, "idleUntil": kept_until}
    return {"G": {**ctx.G, **more}}


def start_failed(ctx: ResolverContext[StartFailed]) -> object:
    """There can be no such match: the host may change something."""
    said = ctx.event.payload
    G: Any = ctx.draft()
    G["problem"] = {"code": said.code, "message": said.message}
    G["assignments"] = []
    touch(G, int(ctx.now))
    return {"G": G}


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
    done = {"G": {**ctx.G, "reason": "host_left"}}
    return {**done, "result": _closed(done)}


def _closed(done: Any) -> Json:
    return {"closed": done["G"]["reason"]}


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
    }


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
        transition("over", ACTIVE, ACTIVE, over),
        timeout(GATHERING, GATHERING, lapse, label="lapse"),
        transition("expire", GATHERING, CLOSED, expire),
        timeout(STARTING, CLOSED, expire, label="expire"),
        timeout(ACTIVE, ACTIVE, over, label="kept long enough"),
    ],
    views=views(public=public_view),
    credit_outages=True,
)
