"""The format of profile.json: deltas, helpers, drafts, commits, and JSON itself.

Operations, results and reasons are compared exactly. What an error says is hotseat's
own, but a delta that does not apply is refused for the recorded reason, and a value
that is not JSON at the recorded path. Beyond the recording, every recipe's delta must
give what the recipe left in its draft.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hotseat.engine.definition import define_game, profile, state, transition
from hotseat.engine.errors import (
    EngineError,
    InvalidJsonValueError,
    ProfileDeltaError,
)
from hotseat.engine.frozen import freeze
from hotseat.engine.match_input import is_host
from hotseat.engine.profile_change import ProfileChanges, bind_profiles, update_profile
from hotseat.engine.profile_commit import commit_profiles
from hotseat.engine.profile_delta import apply_profile_delta, validate_profile_delta

from .deviations import as_if_aliased
from .encode import plain
from .language import evaluate
from .outcome import Outcome, difference, judge, skipped
from .recipe import read_recipe

__all__ = ["check"]

Json = Any
Case = Mapping[str, Json]
THROWN = (EngineError, LookupError, TypeError)


def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
    """One outcome for each case. One that needs JavaScript may differ."""
    for name, cases, problems in _sections(document):
        for index, case in enumerate(cases):
            said = case.get("note", case.get("id", case.get("recipe", "")))
            title = f"{name}[{index}] {said}".strip()
            outcome = judge(title, partial(problems, case))
            if outcome.status == "failed" and case.get("js_only"):
                outcome = skipped(title, f"depends on JavaScript: {outcome.text}")
            yield outcome


def _sections(
    document: Mapping[str, Json],
) -> Iterator[tuple[str, Sequence[Case], Callable[[Case], Iterator[str]]]]:
    yield "cases", document.get("cases", []), _delta_problems
    for name, problems in (("mutation", _mutation_problems), ("update", _update)):
        section = document.get(name, {"profiles": {}, "cases": []})
        yield name, section["cases"], partial(problems, section["profiles"])
    yield "commit", document.get("commit", []), _commit_problems
    yield "json", document.get("json", []), _json_problems
    yield "isHost", document.get("isHost", []), _host_problems


def _delta_problems(case: Case) -> Iterator[str]:
    data, delta = evaluate(case["data"], {}), evaluate(case["delta"], {})
    try:
        validate_profile_delta(delta)
        valid = True
    except ProfileDeltaError:
        valid = False
    yield difference(case["valid"], valid, "valid")
    expected, before = case["expect"], plain(freeze(data))
    try:
        actual = {"ok": True, "data": plain(apply_profile_delta(data, delta))}
    except ProfileDeltaError as error:
        actual = {"ok": False, **_rejection(error)}
    except InvalidJsonValueError as error:
        actual = {"throws": {"name": type(error).__name__}}
    yield difference(_nameless(expected), _nameless(actual), "applied")
    yield difference(before, plain(freeze(data)), "the data given")


def _rejection(error: ProfileDeltaError) -> Json:
    """As the reference tells it: a malformed delta is told without a place."""
    if error.reason == "invalid_delta":
        return {"error": error.reason}
    return {
        "error": error.reason,
        "reason": str(error).partition(": ")[2],
        "at": error.at,
    }


def _nameless(answer: Case) -> Case:
    """An expected exception is met by any of ours."""
    return {"throws": True} if "throws" in answer else answer


def _mutation_problems(profiles: Json, case: Case) -> Iterator[str]:
    method = getattr(ProfileChanges, case["method"])
    made = _made(lambda: method(bind_profiles(profiles), *case["args"]))
    yield difference(_nameless(case["expect"]), made, "deltas")


def _update(profiles: Json, case: Case) -> Iterator[str]:
    seat, steps = case["playerID"], read_recipe(case["recipe"])
    left: list[Json] = []

    def recipe(draft: Any) -> None:
        steps(draft)
        left.append(_copied(draft))

    made = _made(lambda: update_profile(profiles, seat, recipe))
    expected = _nameless(case["expect"])
    if difference(expected, made) and isinstance(made, dict) and seat in made:
        aliased = {seat: as_if_aliased(profiles[seat], made[seat])}
        yield difference(expected, aliased, "deltas")
    else:
        yield difference(expected, made, "deltas")
    if not left:
        return
    try:
        applied = apply_profile_delta(profiles[seat], made.get(seat, []))
    except ProfileDeltaError:
        return  # a removal of what was never there; the delta's cases judge that
    yield difference(left[0], plain(applied), "the draft, and the delta applied")


def _made(make: Callable[[], Json]) -> Json:
    try:
        return plain(freeze(make()))
    except THROWN:
        return {"throws": True}


def _copied(draft: Any) -> Json:
    if isinstance(draft, Mapping):
        return {key: _copied(value) for key, value in draft.items()}
    if isinstance(draft, Sequence) and not isinstance(draft, str):
        return [_copied(value) for value in draft]
    return draft


def _commit_problems(case: Case) -> Iterator[str]:
    game = define_game(
        name="commits",
        player_ids=case["players"],
        events=["end"],
        states={"play": state(active_players=case["players"])},
        initial="play",
        setup=lambda ctx: None,
        transitions=[transition("end", "play", "play")],
        profile=profile(case["default"], commit=lambda ctx: case["commit_returns"]),
    )
    match = {"players": case["players"]}
    try:
        done = commit_profiles(game, match, case["profilesBefore"], case["result"])
    except EngineError as error:
        actual: Json = {"throws": f"{type(error).__name__}: {error}"}
    else:
        actual = {
            "commitDelta": plain(done.deltas),
            "profilesAfter": plain(done.profiles),
            "rejections": [
                {"playerID": r.player_id, "error": r.reason}
                | (
                    {}
                    if r.reason == "invalid_delta"
                    else {"reason": r.message.partition(": ")[2]}
                )
                for r in done.rejections
            ],
        }
    yield difference(_nameless(case["expect"]), _nameless(actual), "commit")


def _json_problems(case: Case) -> Iterator[str]:
    actual: Json = {"ok": True}
    try:
        freeze(evaluate(case["value"], {}), label="label")
    except InvalidJsonValueError as error:
        actual = {"throws": True, "path": error.path}
    expected = case["expect"]
    if "throws" in expected:
        expected = {"throws": True, "path": expected["issues"][0]["path"]}
    yield difference(expected, actual, "checked")


def _host_problems(case: Case) -> Iterator[str]:
    actual = is_host(case["match"], case["playerID"])
    yield difference(case["expect"], actual, "is_host")
