"""What holds in a room that gathers players: functions on its G. Pure.

G is the draft of one event: these functions change it. Times are milliseconds, on the
match's clock.

Rules:
- A seat is held by who took it, as long as a gateway says often enough that they are
  there. `people` has the host and those seated, with `until`, when they are given up.
- The host is passed on, when given up, to the first who is seated and there; while
  nobody is, the host stays the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...engine.jsonvalue import Json

__all__ = [
    "assignments",
    "bot_ids",
    "can_start",
    "deadline_ms",
    "seat_of",
    "seen",
    "settle",
    "start_problem",
    "touch",
]


def settle(G: Any, now: int) -> None:
    """Give up who was not heard of for too long, and pass the host on."""
    there = {user for user, one in G["people"].items() if one["until"] > now}
    for index, seat in enumerate(G["seats"]):
        if "user" in seat and seat["user"] not in there:
            G["seats"][index] = {}
    if G["host"] not in there:
        seated = _seated(G)
        if seated:
            G["host"] = seated[0]
    tidy(G)


def tidy(G: Any) -> None:
    """Forget who neither sits here nor hosts."""
    needed = {G["host"], *_seated(G)}
    for user in [user for user in G["people"] if user not in needed]:
        del G["people"][user]


def seen(G: Any, user: str, now: int) -> None:
    """The user is there now."""
    G["people"][user]["until"] = now + G["reservationMs"]
    G["people"][user]["here"] = True


def touch(G: Any, now: int) -> None:
    """Somebody is there: the room stays open."""
    G["idleUntil"] = now + G["idleMs"]


def deadline_ms(G: Mapping[str, Json]) -> int:
    """When `settle` has something to do next, or nobody is there any more."""
    people, seated = G["people"], _seated(G)
    due = [people[user]["until"] for user in seated]
    if any(user != G["host"] for user in seated):
        due.append(people[G["host"]]["until"])
    return int(min([G["idleUntil"], *due]))


def seat_of(G: Mapping[str, Json], user: str) -> int | None:
    """Where a user sits."""
    for index, seat in enumerate(G["seats"]):
        if seat.get("user") == user:
            return index
    return None


def bot_ids(G: Mapping[str, Json]) -> set[str]:
    """The bots that may be given a seat."""
    return {bot["botID"] for bot in G["bots"]}


def start_problem(G: Mapping[str, Json]) -> str | None:
    """Why the match cannot start: a reason of the protocol; None: it can.

    The host is asked nothing: to start is to be ready.
    """
    taken = [seat for seat in G["seats"] if seat]
    humans = [seat for seat in taken if "user" in seat]
    if not humans:
        return "no_humans_seated"
    if len(taken) < G["minPlayers"]:
        return "below_min_players"
    if not all(seat["ready"] or seat["user"] == G["host"] for seat in humans):
        return "not_ready"
    return None


def can_start(G: Mapping[str, Json]) -> bool:
    """Whether the host may start now."""
    return start_problem(G) is None


def assignments(G: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Who plays at which seat of the match. A room's seat is one of the game's."""
    said: list[dict[str, Json]] = []
    for index, seat in enumerate(G["seats"]):
        place = {"seatIndex": index, "playerID": G["seatIDs"][index]}
        if "user" in seat:
            said.append({**place, "kind": "human", "userID": seat["user"]})
        elif "bot" in seat:
            said.append({**place, "kind": "bot", "botID": seat["bot"]})
    return said


def _seated(G: Mapping[str, Json]) -> Sequence[str]:
    return [seat["user"] for seat in G["seats"] if "user" in seat]
