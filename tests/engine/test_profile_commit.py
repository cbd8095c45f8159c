"""Profiles in a match: what resolvers answer, and what a result leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hotseat.engine import (
    Batch,
    Game,
    InvalidMatchError,
    ProfileCommitError,
    Refusal,
    commit_profiles,
    create_session,
    define_game,
    is_host,
    join_profile_deltas,
    profile,
    state,
    transition,
)

MATCH = {"players": ["0", "1"]}


def game(
    resolve: Callable[[Any], Any] = lambda ctx: {},
    commit: Callable[[Any], Any] | None = None,
    parse: Callable[[Any], Any] | None = None,
) -> Game:
    return define_game(
        name="keeps",
        max_players=3,
        min_players=2,
        events=["go"],
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: {"wins": [p["wins"] for p in ctx.profiles.values()]},
        transitions=[transition("go", "play", "play", resolve, label="go")],
        profile=profile({"wins": 0, "log": []}, parse=parse, commit=commit),
    )


def applied(resolve: Callable[[Any], Any]) -> Batch | Refusal:
    return create_session(game(resolve), MATCH).apply("0", "go", now=1)


def test_resolver_changes_profiles_through_its_context() -> None:
    """`ctx.profile` makes what a result's `profile` holds; the match has it then."""

    def resolve(ctx: Any) -> Any:
        assert ctx.profiles["1"] == {"wins": 0, "log": []}
        return {
            "profile": join_profile_deltas(
                ctx.profile.inc(ctx.player_id, "wins", 1),
                ctx.profile.update("1", lambda d: d["log"].append("lost")),
            )
        }

    batch = applied(resolve)
    assert isinstance(batch, Batch)
    assert batch.snapshot.meta.match["profiles"] == {
        "0": {"wins": 1, "log": []},
        "1": {"wins": 0, "log": ["lost"]},
    }
    recorded = batch.steps[0].transition.profile
    assert recorded is not None
    assert list(recorded) == ["0", "1"]


@pytest.mark.parametrize(
    ("deltas", "told"),
    [
        ({"0": [{"op": "inc", "path": ["log"], "value": 1}]}, "not a number"),
        ({"0": [{"op": "zap", "path": []}]}, "op is one of set, inc, push, remove"),
        ({"1": [{"op": "set", "path": "wins", "value": 1}]}, "needs a path, a list"),
        ({"1": [{"op": "push", "path": ["log"]}]}, "push needs a value"),
        ({"1": {"op": "set"}}, "a delta is a list of operations, not dict"),
        ({"1": ["set"]}, "an operation is an object with op and path, not str"),
        ({"1": [{"op": "inc", "path": ["wins"], "value": "1"}]}, "is a number"),
        ({"1": [{"op": "remove", "path": [None]}]}, "no key and no index"),
        ([1], "profile must map players to deltas"),
    ],
)
def test_wrong_delta_is_refused_with_its_player_and_operation(
    deltas: Any, told: str
) -> None:
    """The refusal says whose delta, which operation, and what is wrong with it."""
    refusal = applied(lambda ctx: {"profile": deltas})
    assert isinstance(refusal, Refusal)
    assert refusal.code == "invalid_transition_result"
    assert told in refusal.message
    if isinstance(deltas, dict):
        (player,) = deltas
        assert f"of player '{player}'" in refusal.message


def test_commit_is_done_to_the_profiles_as_stored() -> None:
    """Defaults for who has none, `parse` for who has, and nothing of strangers."""

    def commit(ctx: Any) -> Any:
        assert ctx.match["players"] == ["0", "1"]
        strangers = {"2": [{"op": "inc", "path": ["wins"], "value": 1}]}
        return ctx.profile.inc(ctx.result["winner"], "wins", 1) | strangers

    done = commit_profiles(
        game(commit=commit, parse=lambda data: {"log": [], **data}),
        MATCH,
        {"1": {"wins": 7}, "2": {"wins": 1}},
        {"winner": "1"},
    )
    assert done.profiles == {"0": {"wins": 0, "log": []}, "1": {"wins": 8, "log": []}}
    assert list(done.deltas) == ["1"]
    assert done.rejections == ()


def test_commit_of_one_player_may_fail_alone() -> None:
    """A delta that does not apply is reported; the other player's still counts."""

    def commit(ctx: Any) -> Any:
        good, bad = ctx.profile.inc("1", "wins", 1), ctx.profile.inc("0", "log", 1)
        return join_profile_deltas(bad, good)

    done = commit_profiles(game(commit=commit), MATCH, {}, None)
    assert done.profiles["0"] == {"wins": 0, "log": []}
    assert done.profiles["1"]["wins"] == 1
    (rejection,) = done.rejections
    assert (rejection.player_id, rejection.reason, rejection.at) == (
        "0",
        "type_mismatch",
        0,
    )


@pytest.mark.parametrize(
    "op",
    [
        {"op": "inc", "path": ["wins"], "value": 1},
        {"op": "inc", "path": ["rate"], "value": 1e308},
    ],
)
def test_commit_that_leaves_the_numbers_of_json_fails_alone(op: Any) -> None:
    """A counter at its end: that delta does not apply, and the others do."""

    def commit(ctx: Any) -> Any:
        return {"0": [op], "1": [{"op": "inc", "path": ["wins"], "value": 1}]}

    full = {"wins": 2**53 - 1, "rate": 1e308}
    stored = {"0": full, "1": {"wins": 3}}
    done = commit_profiles(game(commit=commit), MATCH, stored, {})
    (rejection,) = done.rejections
    assert (rejection.player_id, rejection.reason, rejection.at) == ("0", "not_json", 0)
    assert done.profiles == {"0": full, "1": {"wins": 4}}


def test_game_without_commit_keeps_profiles() -> None:
    """Nothing is committed, and the profiles are those of the players."""
    done = commit_profiles(game(), MATCH, {"0": {"wins": 3}}, None)
    assert done.deltas == {}
    assert done.profiles == {"0": {"wins": 3}, "1": {"wins": 0, "log": []}}


def fails(ctx: Any) -> Any:
    raise LookupError("the author's mistake")


@pytest.mark.parametrize(
    ("commit", "told"),
    [
        (fails, "the author's mistake"),
        (lambda ctx: [1], "commit answers with deltas by player"),
        (lambda ctx: {"0": [{"op": "set", "path": [], "value": {1}}]}, "not JSON"),
    ],
)
def test_commit_that_fails(commit: Callable[[Any], Any], told: str) -> None:
    """The author's mistake is one clear error, with the fault for the operator."""
    with pytest.raises(ProfileCommitError, match=told) as caught:
        commit_profiles(game(commit=commit), MATCH, {}, None)
    if commit is fails:
        assert caught.value.fault is not None
        assert "LookupError" in caught.value.fault.traceback


def test_stored_profile_that_cannot_be_read_stops_the_commit() -> None:
    """`parse` guards a commit as it guards a start."""
    with pytest.raises(InvalidMatchError):
        commit_profiles(game(parse=fails), MATCH, {}, None)


def test_host_of_a_match() -> None:
    """Only the named player is the host, and nobody is when there is none."""
    assert is_host({"hostPlayerID": "0"}, "0")
    assert not is_host({"hostPlayerID": "0"}, "1")
    assert not is_host({"hostPlayerID": None}, "0")
    assert not is_host({}, "0")
