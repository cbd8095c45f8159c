"""Drafts of a profile, and the helpers: what is done is what is recorded."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotseat.engine import (
    InvalidJsonValueError,
    ProfileDraftError,
    apply_profile_delta,
    bind_profiles,
    draft_profile,
    join_profile_deltas,
    update_profile,
)

PROFILE = {
    "wins": 1,
    "items": ["a", "b"],
    "deep": {"n": 1, "grid": [[1], [2], [3]]},
}


def recorded(recipe: Callable[[Any], object]) -> list[tuple[Any, ...]]:
    """What a recipe records, one tuple for an operation; its delta gives its draft."""
    left: list[Any] = []

    def watched(draft: Any) -> None:
        recipe(draft)
        left.append(plain(draft))

    delta = draft_profile(PROFILE, watched)
    assert apply_profile_delta(PROFILE, delta) == left[0]
    return [tuple(op.values()) for op in delta]


def plain(value: Any) -> Any:
    if hasattr(value, "items"):
        return {key: plain(item) for key, item in value.items()}
    if hasattr(value, "append"):
        return [plain(item) for item in value]
    return value


def add_one(draft: Any) -> None:
    draft["wins"] += 1


def extend(draft: Any) -> None:
    draft["items"] += ["c", "d"]


def update(draft: Any) -> None:
    draft.update(wins=2, new=[])
    draft.setdefault("new", "unused").append(1)
    draft.setdefault("log", []).append("x")


def shrink(draft: Any) -> None:
    draft["items"].pop()
    draft["items"].remove("a")
    assert draft["items"] == []


def cut(draft: Any) -> None:
    del draft["deep"]["grid"][::2]


def copy_of_a_part(draft: Any) -> None:
    draft["copies"] = [draft["deep"]["grid"]]
    draft["deep"]["grid"][0][0] = 9


@pytest.mark.parametrize(
    ("recipe", "operations"),
    [
        (add_one, [("set", ["wins"], 2)]),
        (lambda d: d.inc("wins", 2), [("inc", ["wins"], 2)]),
        (lambda d: d.inc("new", 2.0), [("inc", ["new"], 2)]),
        (
            lambda d: d["deep"]["grid"][1].inc(-1, 3),
            [("inc", ["deep", "grid", 1, 0], 3)],
        ),
        (extend, [("push", ["items"], "c"), ("push", ["items"], "d")]),
        (
            update,
            [
                ("set", ["wins"], 2),
                ("set", ["new"], []),
                ("push", ["new"], 1),
                ("set", ["log"], []),
                ("push", ["log"], "x"),
            ],
        ),
        (shrink, [("remove", ["items", 1]), ("remove", ["items", 0])]),
        (cut, [("remove", ["deep", "grid", 0]), ("remove", ["deep", "grid", 1])]),
        (lambda d: d["items"].insert(2, "c"), [("push", ["items"], "c")]),
        (lambda d: d.pop("wins"), [("remove", ["wins"])]),
        (
            copy_of_a_part,
            [
                ("set", ["copies"], [[[1], [2], [3]]]),
                ("set", ["deep", "grid", 0, 0], 9),
            ],
        ),
        (lambda d: d["wins"] if "none" in d else len(d["items"]), []),
    ],
)
def test_recipe_is_recorded(
    recipe: Callable[[Any], object], operations: list[tuple[Any, ...]]
) -> None:
    """Each change of a draft is one operation, in order; reading is none."""
    before = copy.deepcopy(PROFILE)
    assert recorded(recipe) == operations
    assert before == PROFILE


def test_a_part_knows_where_it_has_moved() -> None:
    """What shifts because something before it goes is recorded at its new place."""

    def recipe(draft: Any) -> None:
        last = draft["deep"]["grid"][2]
        del draft["deep"]["grid"][0]
        last.append(4)

    assert recorded(recipe)[1] == ("push", ["deep", "grid", 1], 4)


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        (lambda d: d["items"].sort(), "assign it whole: draft['items'] = ["),
        (lambda d: d["items"].reverse(), "reverse()"),
        (lambda d: d["items"].insert(0, "x"), "insert()"),
        (lambda d: d["items"].__setitem__(slice(0, 1), []), "assigning a slice"),
        (lambda d: d.inc("wins", "1"), "inc adds a number, not '1'"),
        (lambda d: d.inc("wins", True), "inc adds a number"),
        (lambda d: d.remove(1), "keys of an object are strings"),
        (lambda d: d.pop("items").append(1), "removed from the profile or replaced"),
    ],
)
def test_what_no_delta_can_say_is_refused(
    recipe: Callable[[Any], object], told: str
) -> None:
    """The error says what to write instead."""
    with pytest.raises(ProfileDraftError) as caught:
        draft_profile(PROFILE, recipe)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("recipe", "error"),
    [
        (lambda d: d["none"], KeyError),
        (lambda d: d.__delitem__("none"), KeyError),
        (lambda d: d["items"].__delitem__(9), IndexError),
        (lambda d: d["items"].__setitem__(2, "c"), IndexError),
        (lambda d: d.setdefault("empty", []).pop(), IndexError),
        (lambda d: d.__setitem__("x", float("nan")), InvalidJsonValueError),
        (lambda d: d["items"].append({1}), InvalidJsonValueError),
    ],
)
def test_mistakes_are_those_of_dict_and_list(
    recipe: Callable[[Any], object], error: type[Exception]
) -> None:
    """A draft raises what the container would, and no delta comes of it."""
    with pytest.raises(error):
        draft_profile(PROFILE, recipe)


def test_draft_ends_with_its_recipe() -> None:
    """A draft that was kept neither reads nor writes."""
    kept: list[Any] = []
    draft_profile(PROFILE, lambda d: kept.extend([d, d["items"]]))
    for use in (
        lambda: kept[0]["wins"],
        lambda: kept[0].inc("wins", 1),
        lambda: kept[1].append("late"),
        lambda: len(kept[1]),
    ):
        with pytest.raises(ProfileDraftError, match="ends with its recipe"):
            use()
    assert repr(kept[1]) == "<draft of a profile, ended>"


def test_root_may_be_a_list_but_no_scalar() -> None:
    """What is pushed at the root is recorded as what a delta can say there."""
    delta = draft_profile([1], lambda d: d.append(2))
    assert apply_profile_delta([1], delta) == [1, 2]
    with pytest.raises(ProfileDraftError, match="object or a list"):
        draft_profile(5, lambda d: None)


def test_drafts_compare_and_show_themselves_by_value() -> None:
    """A draft equals what it stands for, and one part is always the same object."""

    def recipe(draft: Any) -> None:
        assert draft["items"] == ["a", "b"]
        assert draft["items"] is draft["items"]
        assert draft["deep"] == {"n": 1, "grid": [[1], [2], [3]]}
        assert draft["items"][:1] == ["a"]
        assert draft["items"] != "ab"
        assert repr(draft["items"]) == "<draft of ['a', 'b']>"

    assert draft_profile(PROFILE, recipe) == []


def test_helpers_make_deltas_for_one_player() -> None:
    """Each helper gives one player's delta; a place may be a path."""
    profile = bind_profiles({"0": PROFILE})
    assert profile.inc("0", "wins", 2) == {
        "0": [{"op": "inc", "path": ["wins"], "value": 2}]
    }
    assert profile.push("0", ["deep", "grid"], [4]) == {
        "0": [{"op": "push", "path": ["deep", "grid"], "value": [4]}]
    }
    assert profile.remove("0", "wins") == {"0": [{"op": "remove", "path": ["wins"]}]}
    assert profile.set("0", [], None) == {
        "0": [{"op": "set", "path": [], "value": None}]
    }
    assert profile.update("0", lambda d: d["deep"].inc("n", 1)) == {
        "0": [{"op": "inc", "path": ["deep", "n"], "value": 1}]
    }
    assert update_profile({"0": PROFILE}, "0", lambda d: None) == {}


def test_deltas_are_joined_in_order() -> None:
    """Deltas of several players, and several of one player, become one answer."""
    profile = bind_profiles({"0": PROFILE, "1": PROFILE})
    parts = [
        profile.inc("0", "wins", 1),
        profile.inc("1", "wins", 2),
        profile.remove("0", "items"),
    ]
    joined = join_profile_deltas(*parts)
    assert [op["op"] for op in joined["0"]] == ["inc", "remove"]
    assert joined["1"] == parts[1]["1"]
    assert len(parts[0]["0"]) == 1


def test_helpers_need_a_profile() -> None:
    """A player without a profile is named, and who has one."""
    profile = bind_profiles({"0": PROFILE})
    told = r"no profile for player '9'.*'0'"
    with pytest.raises(ProfileDraftError, match=told):
        profile.inc("9", "wins", 1)
    with pytest.raises(ProfileDraftError, match=told):
        profile.update("9", lambda d: None)


leaves = st.none() | st.integers(-5, 5) | st.sampled_from(["a", "b"])
trees = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3)
    ),
    max_leaves=8,
)
roots = st.dictionaries(st.sampled_from("xyz"), trees, max_size=3)


@settings(deadline=None)
@given(roots, st.data())
def test_delta_gives_what_the_recipe_left(profile: Any, data: st.DataObject) -> None:
    """Whatever is done to whichever part, draft and delta agree."""
    left: list[Any] = []

    def recipe(draft: Any) -> None:
        for _ in range(data.draw(st.integers(1, 6))):
            part = draft
            while inner := [p for p in children(part) if data.draw(st.booleans())]:
                part = data.draw(st.sampled_from(inner))
            change(part, data)
        left.append(plain(draft))

    delta = draft_profile(profile, recipe)
    assert apply_profile_delta(profile, delta) == left[0]


def children(part: Any) -> list[Any]:
    items = part.values() if hasattr(part, "items") else part
    return [item for item in items if hasattr(item, "inc")]


def change(part: Any, data: st.DataObject) -> None:
    value = data.draw(trees)
    if hasattr(part, "items"):
        key = data.draw(st.sampled_from("xyz"))
        if data.draw(st.booleans()):
            part[key] = value
        else:
            part.pop(key, None)
    elif len(part) and data.draw(st.booleans()):
        index = data.draw(st.integers(-len(part), len(part) - 1))
        if data.draw(st.booleans()):
            part[index] = value
        else:
            del part[index]
    else:
        part.append(value)
