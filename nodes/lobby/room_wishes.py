"""What people want of a room that gathers, and whether they may. Pure.

Each is a change of a draft of G as an event's payload says, or a rejection: a reason of
the lobby protocol, or `repeated`: that was done before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ...engine.context import ResolverContext
from ...engine.definition import Rejected, reject
from ...engine.jsonvalue import Json
from .room_events import (
    AssignBot,
    ByUser,
    OnSeat,
    SetCapacity,
    SetConfig,
    SetReady,
    TakeSeat,
)
from .room_rules import (
    assignments,
    bot_ids,
    seat_of,
    seen,
    settle,
    start_problem,
    tidy,
    touch,
)

__all__ = [
    "OPS_REMEMBERED",
    "REPEATED",
    "assign_bot",
    "by_host",
    "by_user",
    "clear_seat",
    "close",
    "leave_seat",
    "set_capacity",
    "set_config",
    "set_ready",
    "shut",
    "start",
    "take_seat",
]

OPS_REMEMBERED = 64
"""Names of what was done last: far more than gateways may be repeating."""

REPEATED: Final = "repeated"

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
        return reject("bad_target")
    more = said.capacity - len(seats)
    G["seats"] = [*seats[: said.capacity], *({} for _ in range(more))]
    return None


def set_config(G: Any, said: SetConfig, now: int) -> Rejected | None:
    """Change the settings. Who was ready was so for others."""
    if G["config"] is None or said.key not in G["config"]:
        return reject("invalid_config_value")
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
    return done if isinstance(done, Rejected) else shut(done["G"])


def shut(G: Json) -> dict[str, Json]:
    """The room is closed, for the reason that is in G: its match ends."""
    return {"G": G, "result": {"closed": G["reason"]}}
