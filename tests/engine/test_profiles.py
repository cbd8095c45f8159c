"""Profiles: read at the start of a match, changed by deltas, all or none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hotseat.engine import (
    Game,
    InvalidJsonValueError,
    InvalidMatchError,
    Profile,
    define_game,
    freeze,
    profile,
    state,
    transition,
)
from hotseat.engine.errors import ProfileDeltaError
from hotseat.engine.profile_delta import apply_profile_delta
from hotseat.engine.profiles import apply_profile_deltas, hydrate_profiles

DATA = freeze(
    {"wins": 1, "items": ["a", "b", "c"], "deep": {"x": {"y": 2}}, "grid": [[1, 2]]}
)


def game(profile: Profile | None) -> Game:
    return define_game(
        name="profiles",
        max_players=2,
        events=["go"],
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: None,
        transitions=[transition("go", "play", "play")],
        profile=profile,
    )


def hydrated(declared: Profile | None, profiles: object) -> Any:
    match = freeze({"players": ["0", "1"], "profiles": profiles})
    return hydrate_profiles(game(declared), match)["profiles"]


@pytest.mark.parametrize(
    ("op", "path", "value", "changed"),
    [
        ("set", ["wins"], 9, {"wins": 9}),
        ("set", ["new"], None, {"new": None}),
        ("set", ["deep", "x", "y"], [1], {"deep": {"x": {"y": [1]}}}),
        ("set", ["items", 1], "B", {"items": ["a", "B", "c"]}),
        ("set", ["items", "1"], "B", {"items": ["a", "B", "c"]}),
        ("set", ["items", 3], "d", {"items": ["a", "b", "c", "d"]}),
        ("set", ["grid", 0, 1], 9, {"grid": [[1, 9]]}),
        ("set", [0], "k", {"0": "k"}),
        ("inc", ["wins"], -3.5, {"wins": -2.5}),
        ("inc", ["new"], 4, {"new": 4}),
        ("inc", ["toString"], 1, {"toString": 1}),
        ("push", ["items"], {"n": 1}, {"items": ["a", "b", "c", {"n": 1}]}),
        ("remove", ["items", 0], None, {"items": ["b", "c"]}),
        ("remove", ["items", ""], None, {"items": ["b", "c"]}),
    ],
)
def test_operation(op: str, path: list[Any], value: Any, changed: Any) -> None:
    """Each operation changes its place and nothing else."""
    delta = [{"op": op, "path": path, "value": value}]
    assert apply_profile_delta(DATA, delta) == {**DATA, **changed}


def test_remove_takes_a_key_away() -> None:
    """A removed key is gone, not null."""
    assert apply_profile_delta({"a": 1, "b": 2}, [{"op": "remove", "path": ["a"]}]) == {
        "b": 2
    }


def test_set_at_the_root_replaces_everything() -> None:
    """An empty path is the whole profile; it may start from nothing."""
    delta = [{"op": "set", "path": [], "value": {"n": 1}}]
    assert apply_profile_delta(None, delta) == {"n": 1}


def test_what_did_not_change_is_shared() -> None:
    """A delta copies the way to its place, and nothing beside it."""
    changed = apply_profile_delta(DATA, [{"op": "inc", "path": ["wins"], "value": 1}])
    assert changed["deep"] is DATA["deep"]
    assert changed["items"] is DATA["items"]


@pytest.mark.parametrize(
    ("op", "path", "value", "reason"),
    [
        ("set", ["deep", "z", "y"], 1, "missing_path"),
        ("set", ["grid", 5, 0], 1, "missing_path"),
        ("set", ["grid", 0.5, 0], 1, "missing_path"),
        ("set", ["wins", "x"], 1, "invalid_container"),
        ("set", ["wins", "x", "y"], 1, "invalid_container"),
        ("set", ["items", 4], 1, "out_of_range"),
        ("set", ["items", -1], 1, "out_of_range"),
        ("set", ["items", "x"], 1, "out_of_range"),
        ("inc", ["items"], 1, "type_mismatch"),
        ("inc", [], 1, "empty_path"),
        ("push", ["wins"], 1, "type_mismatch"),
        ("push", ["new"], 1, "type_mismatch"),
        ("push", [], 1, "empty_path"),
        ("remove", ["new"], None, "missing_path"),
        ("remove", ["items", 3], None, "out_of_range"),
        ("remove", [], None, "empty_path"),
        ("inc", ["wins"], "1", "invalid_delta"),
        ("inc", ["wins"], True, "invalid_delta"),
        ("zap", ["wins"], 1, "invalid_delta"),
        ("set", "wins", 1, "invalid_delta"),
        ("set", [None], 1, "invalid_delta"),
        ("set", [True], 1, "invalid_delta"),
    ],
)
def test_operation_that_does_not_apply(
    op: str, path: Any, value: Any, reason: str
) -> None:
    """Each way to fail has its reason."""
    with pytest.raises(ProfileDeltaError) as caught:
        apply_profile_delta(DATA, [{"op": op, "path": path, "value": value}])
    assert caught.value.reason == reason


def test_first_failing_operation_is_named() -> None:
    """`at` counts the operations of the delta; nothing is applied."""
    good = {"op": "inc", "path": ["wins"], "value": 1}
    bad = {"op": "inc", "path": ["items"], "value": 1}
    with pytest.raises(ProfileDeltaError) as caught:
        apply_profile_delta(DATA, [good, bad, good])
    assert caught.value.at == 1


@pytest.mark.parametrize("value", [float("nan"), 2**53, object()])
def test_values_must_be_json(value: object) -> None:
    """What cannot be stored is an error, wherever it comes from."""
    with pytest.raises(InvalidJsonValueError):
        apply_profile_delta(DATA, [{"op": "set", "path": ["a"], "value": value}])


def test_deltas_of_strangers_are_checked_and_dropped() -> None:
    """Only seated players' profiles change, but every delta must be well formed."""
    match = freeze({"players": ["0"], "profiles": {"0": {"n": 0}}})
    inc = [{"op": "inc", "path": ["n"], "value": 1}]
    changed, recorded = apply_profile_deltas(match, {"0": inc, "zz": inc})
    assert changed["profiles"] == {"0": {"n": 1}}
    assert recorded == {"0": inc}
    assert apply_profile_deltas(match, {"zz": inc}) == (match, None)
    assert apply_profile_deltas(match, {"0": []})[1] == {"0": []}
    for malformed in ({"zz": "no"}, "no", None, [1]):
        with pytest.raises(ProfileDeltaError):
            apply_profile_deltas(match, malformed)


def test_profile_starts_from_nothing_in_a_game_without_profiles() -> None:
    """A missing profile is null, which only a whole new value can replace."""
    match = freeze({"players": ["0"]})
    whole = {"0": [{"op": "set", "path": [], "value": {"a": 1}}]}
    assert apply_profile_deltas(match, whole)[0]["profiles"] == {"0": {"a": 1}}
    with pytest.raises(ProfileDeltaError):
        apply_profile_deltas(match, {"0": [{"op": "inc", "path": ["a"], "value": 1}]})


def test_profiles_are_read_when_a_match_starts() -> None:
    """Defaults for new players, `parse` for all, and no profiles of strangers."""
    declared = profile({"wins": 0}, parse=lambda data: {**data, "read": True})
    assert hydrated(declared, {"1": {"wins": 9}, "zz": 1}) == {
        "0": {"wins": 0, "read": True},
        "1": {"wins": 9, "read": True},
    }


def test_undeclared_profiles_pass_through() -> None:
    """A game that declares no profile is given what there is."""
    assert hydrated(None, {"1": {"w": 3}, "zz": 5}) == {"1": {"w": 3}, "zz": 5}


def raises(data: Any) -> Any:
    raise KeyError("wins")


@pytest.mark.parametrize("parse", [raises, lambda data: object()])
def test_profile_that_cannot_be_read(parse: Callable[[Any], Any]) -> None:
    """A stored profile that `parse` does not take is an error of the match."""
    with pytest.raises(InvalidMatchError) as caught:
        hydrated(profile({}, parse=parse), {})
    assert caught.value.code == "invalid_profile"


def test_profiles_that_are_no_object() -> None:
    """Profiles are a mapping of players."""
    with pytest.raises(InvalidMatchError):
        hydrated(profile({}), [1])
