"""Where hotseat deliberately differs from the reference implementation.

One table. Each entry has the number of the deviation in the design, the reason, the
test that covers the new behaviour, and a judge for each place where a recorded case
can meet it. A judge looks at what a case does, not at its name: it returns the
`Demand` that hotseat must fulfil there instead of the recording, or None when the
recording stands. So a deviating case is asserted to behave in the new way.

After a demand at creation, or one that `ends` the case, the recording tells another
history, and the rest of it is not compared.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hotseat.engine.limits import INTERNAL_EVENTS_MAX, NESTING_MAX, SAFE_INT_MAX

from .gamekit_game import first_phase
from .language import evaluate

__all__ = [
    "DEVIATIONS",
    "Demand",
    "Deviation",
    "as_if_aliased",
    "demand_at_creation",
    "demand_at_step",
    "kept_in_envelopes",
    "softened",
    "view_of_own_frame",
]

Json = Any
Case = Mapping[str, Json]
Step = Mapping[str, Json]
Ask = Callable[[Step], Json]  # performs one operation on the live session

INTERNAL_NAMES = ("__timeout", "__gamekit_")
REFUSED_BEFORE_NAMES = ("game_over", "unknown_player", "inactive_player")
WARNING = {"severity": "warning"}
AUTHOR_ERRORS = ("resolver_error", "derivation_error")
PROBE_FAILED = re.compile(r'State "(?P<state>.*?)" failed during validation', re.DOTALL)
TESTS = "tests/conformance/test_deviations.py"


@dataclass(frozen=True)
class Demand:
    """What hotseat must answer: `holds` judges it, `text` says it to a reader.

    `holds` gets the answer, and a way to ask the live session for more. No demand lets
    a match change: what was refused has not happened.
    """

    text: str
    holds: Callable[[Json, Ask], bool]
    ends: bool = False
    min_players: int | None = None
    """With this `min_players` the game would do as recorded, and is played so too."""


@dataclass(frozen=True)
class Deviation:
    """One deliberate difference.

    `number` None: no matter of a match's meaning, but a limit, or a fault of the
    reference's that corrupts data.
    """

    number: int | None
    name: str
    reason: str
    test: str
    at_creation: Callable[[Case], Demand | None] = lambda case: None
    at_step: Callable[[Case, Step], Demand | None] = lambda case, step: None


def demand_at_creation(case: Case) -> Demand | None:
    """The demand of the first deviation that a case's creation meets."""
    return next(_found(d.at_creation(case) for d in DEVIATIONS), None)


def demand_at_step(case: Case, step: Step) -> Demand | None:
    """The demand of the first deviation that a step meets."""
    return next(_found(d.at_step(case, step) for d in DEVIATIONS), None)


def softened(game: Mapping[str, Json], diagnostic: Mapping[str, Json]) -> Json:
    """A recorded diagnostic as deviation 9 wants it: a failing probe only warns."""
    state = diagnostic.get("state")
    if diagnostic["code"] != "state_derivation_failed" or state is None:
        return diagnostic
    return diagnostic if state == game["initial"] else {**diagnostic, **WARNING}


def as_if_aliased(profile: Json, delta: Sequence[Json]) -> Json:
    """A delta as the reference's drafts record it: assigned values stay shared.

    A container that a recipe assigns is written into the operation itself, so what the
    recipe does to it afterwards is in that operation and in its own.
    """
    root = {"profile": copy.deepcopy(profile)}
    recorded: list[dict[str, Json]] = []
    for op in delta:
        entry = copy.deepcopy(dict(op))
        recorded.append(entry)
        path: list[Any] = ["profile", *op["path"]]
        container: Any = root
        for segment in path[:-1]:
            container = container[segment]
        last = path[-1]
        match op["op"]:
            case "set" if isinstance(container, list) and last == len(container):
                container.append(entry["value"])
            case "set":
                container[last] = entry["value"]
            case "push":
                container[last].append(entry["value"])
            case "inc":
                container[last] = container.get(last, 0) + op["value"]
            case _ if isinstance(container, list) or last in container:
                del container[last]
    return recorded


def kept_in_envelopes(given: Json, read: Json) -> Json:
    """A recorded envelope as deviation 6 wants it read: with the match's profiles."""
    profiles = given.get("match", {}).get("profiles")
    if profiles is None:
        return read
    return {**read, "match": {**read["match"], "profiles": profiles}}


def view_of_own_frame(case: Case, frame: Mapping[str, Json]) -> Json:
    """A recorded frame's view as deviation 6 wants it: of that frame.

    The reference takes the view of every frame of a batch after the whole batch.
    """
    following = case["frames"][frame["revision"] + 1 :][:1]
    ids = [_batch(frame), *map(_batch, following)]
    if frame["playerView"] is None or len(ids) < 2 or ids[0] != ids[1]:
        return frame["playerView"]
    views = case["game"].get("views") or {}
    if "player" not in views:
        return frame["G"] if not views else evaluate(views["public"], dict(frame))
    seat, position, G = case["envelope"]["playerID"], frame["position"], frame["G"]
    scope = {**frame, "viewer": seat, "player": {"id": seat}}
    scope |= {"phase": position["name"], "turn": position["turn"]}
    if case["kind"] == "gamekit":
        scope["G"] = {key: value for key, value in G.items() if key != "__gamekit"}
    return evaluate(views["player"], scope)


def _batch(frame: Mapping[str, Json]) -> Json:
    step = frame["step"]
    return None if step is None else step["event"]["actionID"]


def _found(demands: Iterable[Demand | None]) -> Iterator[Demand]:
    return (demand for demand in demands if demand is not None)


# --- what a demand asks for --------------------------------------------------------


def _refused(*codes: str, ends: bool) -> Demand:
    return Demand(
        f"refused with {' or '.join(codes)}, nothing changed",
        lambda answer, ask: answer.get("ok") is False and answer["error"] in codes,
        ends=ends,
    )


def _not_fired(*codes: str, ends: bool) -> Demand:
    return Demand(
        f"not fired ({' or '.join(codes)}), nothing changed",
        lambda answer, ask: (
            answer.get("fired") is False and answer.get("refused") in codes
        ),
        ends=ends,
    )


def _error_at_creation(why: str) -> Demand:
    return Demand(
        f"an error at creation: {why}",
        lambda answer, ask: "throws" in answer,
    )


# --- the judges --------------------------------------------------------------------


def _overflow(case: Case, step: Step) -> Demand | None:
    steps = step["expect"].get("steps") or []
    if len(steps) - 1 <= INTERNAL_EVENTS_MAX:
        return None
    refused = _not_fired if step["op"] == "fire_timeout" else _refused
    return refused("queue_overflow", ends=True)


def _internal_name(case: Case, step: Step) -> Demand | None:
    if step["op"] != "apply" or not step["event"].startswith(INTERNAL_NAMES):
        return None
    if step["expect"].get("error") in REFUSED_BEFORE_NAMES:
        return None
    return _refused("unknown_event", ends=step["after"] != "$unchanged")


def _wrong_players(case: Case) -> Demand | None:
    game, players = case["game"], case["session"]["match"].get("players")
    pool = game.get("playerIDs")
    if pool is None:
        pool = [str(seat) for seat in range(math.ceil(game.get("maxPlayers") or 0))]
    if not isinstance(players, list) or not players:
        return _error_at_creation("match.players is empty")
    if len(set(pool)) != len(pool):
        return _error_at_creation("the game names a seat twice")
    least = game.get("minPlayers", len(pool))
    if len({str(player) for player in players}) != len(players):
        return _error_at_creation("match.players names a seat twice")
    if any(player not in pool for player in players):
        return _error_at_creation("match.players names an unknown seat")
    if len(players) < least:
        demand = _error_at_creation("match.players is below min_players")
        return replace(demand, min_players=len(players))
    return None


def _public_view_only(case: Case, step: Step) -> Demand | None:
    views = {**(case["game"].get("views") or {}), **_core_views(case)}
    if step["op"] != "player_view" or "public" not in views or "player" in views:
        return None
    return Demand(
        "the seat sees the public view",
        lambda answer, ask: answer == ask({"op": "public_view"}),
    )


def _core_views(case: Case) -> Mapping[str, Json]:
    """The views of the core under a gamekit game."""
    core: Mapping[str, Json] = case["game"].get("core") or {}
    return core.get("views") or {}


def _not_i_json_at_creation(case: Case) -> Demand | None:
    if "throws" in case.get("create", {"throws": None}):
        return None
    given = (case["session"]["match"], case["create"]["state"])
    if not any(map(_beyond_i_json, given)):
        return None
    return _error_at_creation("an integer beyond 2^53-1, or a lone surrogate")


def _not_i_json_at_step(case: Case, step: Step) -> Demand | None:
    """A payload is refused as such; a state that would hold it is not stored."""
    expect = step["expect"]
    if "value" in expect and _beyond_i_json(expect["value"]):
        return Demand("an error: not I-JSON", lambda answer, ask: "throws" in answer)
    if step["op"] == "apply" and _beyond_i_json(step.get("payload")):
        if expect.get("error") in (*REFUSED_BEFORE_NAMES, "unknown_event"):
            return None
        return _refused("non_serializable_args", ends="steps" in expect)
    if "steps" in expect and _beyond_i_json([expect["steps"], step["after"]]):
        refused = _not_fired if step["op"] == "fire_timeout" else _refused
        return refused("invalid_transition_result", "derivation_error", ends=True)
    return None


def _author_error_at_step(case: Case, step: Step) -> Demand | None:
    if "throws" not in step["expect"]:
        return None
    operation, instant = step["op"], evaluate(step.get("at", step.get("now", 0)), {})
    if operation not in ("apply", "fire_timeout") or not math.isfinite(instant):
        return None  # a bad instant is the host's mistake, not the author's
    refused = _not_fired if operation == "fire_timeout" else _refused
    return refused(*AUTHOR_ERRORS, ends=False)


def _failing_probe(case: Case) -> Demand | None:
    thrown = case.get("create", {}).get("throws")
    found = PROBE_FAILED.match(thrown["message"]) if thrown else None
    if found is None or found["state"] == _initial(case["game"]):
        return None
    return Demand(
        f"a warning about the probe of state {found['state']!r}, no error",
        lambda answer, ask: (
            ["state_derivation_failed", "warning", found["state"]]
            in answer["diagnostics"]
        ),
    )


def _initial(game: Mapping[str, Json]) -> str:
    return game["initial"] if "initial" in game else first_phase(game)


def _too_deep(case: Case, step: Step) -> Demand | None:
    if step["op"] != "apply" or step["expect"].get("error") in REFUSED_BEFORE_NAMES:
        return None
    if _depth(step.get("payload")) <= NESTING_MAX:
        return None
    return _refused("too_deep", ends="steps" in step["expect"])


def _beyond_i_json(value: Json) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, int):
        return abs(value) > SAFE_INT_MAX
    if isinstance(value, str):
        return any("\ud800" <= unit <= "\udfff" for unit in value)
    if isinstance(value, Mapping):
        return any(map(_beyond_i_json, value)) or any(
            map(_beyond_i_json, value.values())
        )
    return isinstance(value, Sequence) and any(map(_beyond_i_json, value))


def _depth(value: Json) -> int:
    """Containers within containers, without recursion: the value may be hostile."""
    depth, level = 0, [value]
    while level := [item for item in level if isinstance(item, (dict, list))]:
        depth += 1
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        1,
        "queue_overflow",
        "a game that queues events for ever would hold its host for ever",
        f"{TESTS}::test_endless_queue_overflows",
        at_step=_overflow,
    ),
    Deviation(
        2,
        "move_bodies",
        "a body that runs for each outcome it could have had costs time for each",
        f"{TESTS}::test_move_body_runs_once",
    ),
    Deviation(
        3,
        "internal_names",
        "a player who can dispatch an internal event can forge a timeout",
        f"{TESTS}::test_players_cannot_dispatch_internal_names",
        at_step=_internal_name,
    ),
    Deviation(
        4,
        "wrong_players",
        "a match with the wrong seats fails late and in odd ways",
        f"{TESTS}::test_wrong_players_are_an_error_at_creation",
        at_creation=_wrong_players,
    ),
    Deviation(
        5,
        "public_view_only",
        "a game that declares what the public sees must not show its seats all of G",
        f"{TESTS}::test_seat_sees_the_public_view_when_it_has_no_own",
        at_step=_public_view_only,
    ),
    Deviation(
        6,
        "profiles_in_envelopes",
        "a game with stored profiles would replay to something else",
        f"{TESTS}::test_envelopes_keep_profiles",
    ),
    Deviation(
        6,
        "empty_seed_in_envelopes",
        "an envelope that can be written can be read",
        f"{TESTS}::test_an_envelope_may_have_an_empty_seed",
    ),
    Deviation(
        6,
        "view_of_own_frame",
        "a frame shows a seat what it saw then, not what it saw later",
        f"{TESTS}::test_frames_of_a_batch_have_their_own_views",
    ),
    Deviation(
        6,
        "timeouts_are_records",
        "a deadline that fired is part of the match: it is logged, replayed and found",
        f"{TESTS}::test_timeouts_replay_exactly",
    ),
    Deviation(
        8,
        "i_json",
        "other languages cannot hold the value, so copies of the state would differ",
        f"{TESTS}::test_values_beyond_i_json_are_refused",
        at_creation=_not_i_json_at_creation,
        at_step=_not_i_json_at_step,
    ),
    Deviation(
        9,
        "author_errors",
        "an exception of the author's is an answer, not a crash of the host",
        f"{TESTS}::test_author_exceptions_are_refusals",
        at_step=_author_error_at_step,
    ),
    Deviation(
        9,
        "failing_probes",
        "a label that is only valid late in a match is no fault of the game",
        f"{TESTS}::test_failing_probe_of_a_late_state_is_a_warning",
        at_creation=_failing_probe,
    ),
    Deviation(
        None,
        "draft_aliasing",
        "done to the profile, the recorded delta gave something else than the draft",
        f"{TESTS}::test_drafts_record_what_they_do",
    ),
    Deviation(
        None,
        "nesting_limit",
        "nothing is unbounded",
        f"{TESTS}::test_deep_payload_is_refused",
        at_step=_too_deep,
    ),
)
