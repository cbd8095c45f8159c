"""Drafts: G as if it could be changed."""

from __future__ import annotations

import copy
import heapq
import json
import operator
import pickle
from collections.abc import Callable
from typing import Any

import msgpack
import msgspec
import pytest

from hotseat.engine import (
    DraftError,
    FrozenError,
    InvalidJsonValueError,
    Refusal,
    ResolverContext,
    TooDeepError,
    create_session,
    draft,
    enqueue,
    freeze,
    reject,
    state,
    timeout,
    transition,
)
from hotseat.engine.limits import NESTING_MAX

from .samples import MATCH, accepted, ask, one_state, refused
from .test_draft_twin import assert_same

SETUP: dict[str, Any] = {
    "board": [[0, 0, 0], [0, 0, 0]],
    "seats": {"0": {"hand": [1, 2]}, "1": {"hand": [3]}},
    "heap": [1, 3, 5],
    "moves": 0,
}


def apply(resolve: Callable[[ResolverContext[Any]], object], **more: Any) -> Any:
    """What a match with the G above answers to one action."""
    session = create_session(one_state(resolve, setup=SETUP, **more), MATCH)
    return session.apply("0", "go", now=1)


def place(G: Any) -> None:
    """A move, written as a change."""
    G["board"][1][2] = 7
    G["seats"]["0"]["hand"].append(4)
    G["moves"] += 1


PLACED = {
    "board": [[0, 0, 0], [0, 0, 7]],
    "seats": {"0": {"hand": [1, 2, 4]}, "1": {"hand": [3]}},
    "heap": [1, 3, 5],
    "moves": 1,
}


def test_a_draft_gives_what_a_returned_value_gives() -> None:
    """The same G, by value and digest, and the rest shared with the old one."""

    def write(ctx: ResolverContext[Any]) -> object:
        G = ctx.draft()
        place(G)
        return {"G": G}

    written = create_session(one_state(write, setup=SETUP), MATCH)
    returned = create_session(one_state(lambda ctx: {"G": PLACED}, setup=SETUP), MATCH)
    before = written.snapshot.G
    for session in (written, returned):
        accepted(session.apply("0", "go", now=1))
    assert_same(written.snapshot.G, returned.snapshot.G)
    assert written.digest == returned.digest
    after = written.snapshot.G
    assert before == SETUP
    assert after["board"][0] is before["board"][0]
    assert after["seats"]["1"] is before["seats"]["1"]
    assert after["heap"] is before["heap"]


def test_a_draft_returned_by_itself_is_the_new_G() -> None:
    """Short for a result of G alone, even if G has the keys of a result."""

    def write(ctx: ResolverContext[Any]) -> object:
        G = ctx.draft()
        G.update(kind="reject", result=1, turn="increment")
        return G

    snapshot = accepted(apply(write)).snapshot
    assert snapshot.G == {**SETUP, "kind": "reject", "result": 1, "turn": "increment"}
    assert snapshot.meta.result is None
    assert snapshot.position.turn == 1


def test_asking_again_gives_the_same_draft() -> None:
    """Functions that a resolver calls can each ask for it."""

    def write(ctx: ResolverContext[Any]) -> object:
        ctx.draft()["moves"] += 1
        ctx.draft()["moves"] += 1
        return {"G": ctx.draft()}

    assert accepted(apply(write)).snapshot.G["moves"] == 2


def test_parts_may_be_results_and_payloads() -> None:
    """Whatever stands in an answer is frozen as it is at its end."""

    def write(ctx: ResolverContext[Any]) -> object:
        G = ctx.draft()
        hand = G["seats"]["0"]["hand"]
        queued = enqueue("told", hand)
        hand.append(9)
        return {"G": G, "enqueue": [queued], "result": {"hand": hand}}

    game = {"events": ["go", "told"]}
    edges = [
        transition("go", "play", "play", write),
        transition("told", "play", "play"),
    ]
    batch = accepted(apply(write, transitions=edges, **game))
    assert batch.steps[1].event.payload == [1, 2, 9]
    assert batch.snapshot.meta.result == {"hand": [1, 2, 9]}
    assert batch.snapshot.meta.result["hand"] is batch.snapshot.G["seats"]["0"]["hand"]


def test_an_untouched_draft_is_the_same_G() -> None:
    """Reading through a draft changes nothing, not even identity."""

    def read(ctx: ResolverContext[Any]) -> object:
        G = ctx.draft()
        assert [sum(row) for row in G["board"]] == [0, 0]
        assert sorted(G["seats"].items())
        G["moves"] = G["moves"]
        return {"G": G}

    session = create_session(one_state(read, setup=SETUP), MATCH)
    before = session.snapshot.G
    assert accepted(session.apply("0", "go", now=1)).snapshot.G is before


def test_a_change_that_is_not_returned_is_a_fault() -> None:
    """A forgotten return is named, instead of losing the change."""

    def forget(ctx: ResolverContext[Any]) -> object:
        ctx.draft()["moves"] = 1
        return {"turn": "increment"}

    fault = refused(apply(forget), "resolver_error").fault
    assert fault is not None
    assert fault.exception_type == "DraftError"
    assert 'return {"G": draft}' in fault.message


def test_a_change_to_no_json_that_is_not_returned_is_the_same_fault() -> None:
    """What was forgotten is the draft, whatever stood in it."""

    def resolve(ctx: ResolverContext[Any]) -> object:
        ctx.draft()["bad"] = {1}
        return {}

    fault = refused(apply(resolve), "resolver_error").fault
    assert fault is not None
    assert fault.exception_type == "DraftError"


def test_a_timeout_that_forgets_its_draft_is_a_fault() -> None:
    """A timeout that answers nothing would match, and lose the change."""

    def expire(ctx: ResolverContext[Any]) -> None:
        ctx.draft()["moves"] = 1

    game = one_state(
        setup=SETUP,
        states={"play": state(active_players=["0"], deadline=5)},
        transitions=[timeout("play", "play", expire)],
    )
    refused(create_session(game, MATCH).fire_timeout(5), "resolver_error")


@pytest.mark.parametrize("answer", [None, False, reject("no")])
def test_a_draft_is_thrown_away_with_a_no(answer: object) -> None:
    """To write first and refuse then is fine."""

    def write(ctx: ResolverContext[Any]) -> object:
        place(ctx.draft())
        return answer

    refused(apply(write), "invalid_event")


def test_a_part_is_not_taken_for_the_whole() -> None:
    """Returning a part by itself is a mistake, not a new G."""
    answer = apply(lambda ctx: ctx.draft()["seats"])
    fault = refused(answer, "resolver_error").fault
    assert fault is not None
    assert "part of a draft" in fault.message


def test_a_trial_needs_no_return() -> None:
    """`draft(G)` by hand is for looking ahead."""

    def look(ctx: ResolverContext[Any]) -> object:
        trial = draft(ctx.G)
        place(trial)
        return {"result": trial["moves"]}

    snapshot = accepted(apply(look)).snapshot
    assert snapshot.meta.result == 1
    assert snapshot.G == SETUP


def test_after_its_step_a_draft_is_of_no_use() -> None:
    """Neither it nor a part can be read, changed or returned: the error says so."""
    kept: list[Any] = []

    def keep(ctx: ResolverContext[Any]) -> object:
        if kept:
            return {"G": kept[0]}
        G = ctx.draft()
        kept.extend([G, G["seats"], G["board"], G["board"].pop()])
        return {"G": G}

    session = create_session(one_state(keep, setup=SETUP), MATCH)
    accepted(session.apply("0", "go", now=1))
    uses: list[Callable[[Any], object]] = [
        len,
        list,
        lambda x: x[0],
        lambda x: x["0"],
        lambda x: x == {},
        lambda x: 1 in x,
        lambda x: x.copy(),
        lambda x: x.clear(),
        json.dumps,
        copy.deepcopy,
    ]
    for part in kept:
        for use in uses:
            with pytest.raises(DraftError, match="finished"):
                use(part)
        assert "finished draft" in repr(part)
    fault = refused(session.apply("0", "go", now=2), "resolver_error").fault
    assert fault is not None
    assert "another step" in fault.message


def test_every_method_of_a_finished_part_raises() -> None:
    """No way to read or change is forgotten."""
    untold = {
        *("__class_getitem__", "__format__", "__getattribute__", "__getstate__"),
        *("__new__", "__init__", "__repr__", "__str__", "__sizeof__", "__dir__"),
        *("__subclasshook__", "__init_subclass__", "__reduce__", "__hash__"),
        *("__class__", "__doc__", "__setattr__", "__delattr__", "fromkeys"),
        *("__lt__", "__le__", "__gt__", "__ge__"),
    }
    for value, kind in (({}, dict), ([], list)):
        part = draft(value)
        freeze(part)
        finished = vars(type(part))
        names = set(dir(kind)) - untold | ({"__lt__"} if kind is list else set())
        assert names <= finished.keys()


def test_a_draft_is_a_dict_or_list_to_everyone() -> None:
    """Checks of type, encoders, copies and patterns work as on plain values."""
    G = draft(SETUP)
    place(G)
    assert isinstance(G, dict)
    assert isinstance(G["board"], list)
    assert json.loads(json.dumps(G)) == PLACED
    assert msgspec.json.decode(msgspec.json.encode(G)) == PLACED
    assert msgpack.unpackb(msgpack.packb(G)) == PLACED
    assert pickle.loads(pickle.dumps(G)) == PLACED
    assert type(copy.deepcopy(G)["board"]) is list
    assert str(G) == str(PLACED)
    match G:
        case {"board": [_, [*_, last]], **rest}:
            assert (last, rest["moves"]) == (7, 1)
        case _:
            pytest.fail("a draft matches the pattern of its value")


def test_copies_share_their_parts_as_plain_copies_do() -> None:
    """A shallow copy is plain; what is inside it is still the draft's."""
    for shallow in (dict, copy.copy, lambda x: x.copy(), lambda x: {**x}):
        G = draft(SETUP)
        twin = shallow(G)
        assert type(twin) is dict
        twin["moves"] = 9
        twin["board"][0][0] = 1
        assert G["moves"] == 0
        assert G["board"][0] == [1, 0, 0]
    rows = draft(SETUP)["board"]
    add = operator.add
    sums = (add(rows, [9]), add([9], rows), operator.mul(rows, 1))
    for few in (list(rows), rows[:], sorted(rows), *sums):
        few[1].append(1)
    assert len(rows[0]) + len(rows[1]) == 12


def test_the_same_part_in_two_places_is_one() -> None:
    """One object within the step, equal values after it."""
    G = draft(SETUP)
    G["copy"] = [G["board"], G["board"]]
    G["copy"][0][0][0] = 5
    assert G["copy"][1][0][0] == 5
    frozen = freeze(G)
    assert frozen["board"] == [[5, 0, 0], [0, 0, 0]]
    assert frozen["copy"] == [frozen["board"], frozen["board"]]


def test_a_part_may_move() -> None:
    """Out of one place, into another, and then be changed."""
    G = draft(SETUP)
    seat = G["seats"].pop("0")
    G["left"] = {"seat": seat}
    seat["hand"].clear()
    frozen = freeze(G)
    assert frozen["left"] == {"seat": {"hand": []}}
    assert list(frozen["seats"]) == ["1"]


def test_frozen_values_become_parts_where_they_are_put() -> None:
    """What stands in a draft can be changed, wherever it came from."""
    old = freeze({"row": [1]})
    G = draft({"a": 1, "rows": []})
    G["a"] = old
    G["rows"].append(old["row"])
    G["a"]["row"].append(2)
    G["rows"][0].append(3)
    assert freeze(G) == {"a": {"row": [1, 2]}, "rows": [[1, 3]]}
    assert old == {"row": [1]}


def test_a_part_inside_itself_is_refused() -> None:
    """A circle has no JSON; the path leads to where it closes."""

    def circle(ctx: ResolverContext[Any]) -> object:
        G = ctx.draft()
        G["seats"]["0"]["hand"].append(G["seats"])
        return {"G": G}

    answer = refused(apply(circle), "too_deep")
    assert "$.seats.0.hand[2]: it contains itself" in answer.message


def test_what_is_not_json_is_refused_with_its_path() -> None:
    """A draft is checked like any other answer, and can be mended and frozen again."""
    G = draft(SETUP)
    G["board"][1][1] = {1, 2}
    with pytest.raises(InvalidJsonValueError, match=r"\$\.board\[1\]\[1\]"):
        freeze(G)
    G["board"][1][1] = 1
    G[3] = 1
    with pytest.raises(InvalidJsonValueError, match="keys are strings"):
        freeze(G)
    del G[3]
    G["half"] = [2.0]
    frozen = freeze(G)
    assert frozen["board"] == [[0, 0, 0], [0, 1, 0]]
    assert type(frozen["half"][0]) is int


def test_a_draft_that_grows_too_deep_is_refused() -> None:
    """Moving a part down counts, though nothing in it is new."""
    deep: Any = 1
    for _ in range(NESTING_MAX - 1):
        deep = [deep]
    G = draft({"deep": deep})
    assert freeze(draft({"deep": deep})) == {"deep": deep}
    G["deeper"] = [G["deep"]]
    with pytest.raises(TooDeepError):
        freeze(G)


def test_the_height_is_that_of_what_is_left() -> None:
    """A draft cannot make G taller than it is, step by step."""
    tall = freeze({"a": [[[1]]], "b": [[2]], "c": 3})
    G = draft(tall)
    G["a"] = 0
    assert_same(freeze(G), freeze({"a": 0, "b": [[2]], "c": 3}))
    rows = draft([[1], [[[2]]], [3]])
    rows.pop(1)
    assert_same(freeze(rows), freeze([[1], [3]]))
    rows = draft([[1], [[[2]]]])
    rows.pop()
    rows.append(0)
    assert_same(freeze(rows), freeze([[1], 0]))


def test_a_list_that_c_code_writes_into_is_noticed() -> None:
    """heapq goes behind the methods of a list, and no change of it is lost."""
    G = draft(SETUP)
    heapq.heapreplace(G["heap"], 4)
    assert freeze(G)["heap"] == [3, 4, 5]
    G = draft(SETUP)
    heapq.heappush(G["heap"], 2**60)
    with pytest.raises(InvalidJsonValueError):
        freeze(G)


@pytest.mark.parametrize("equal", [True, 1.5 - 0.5])
def test_what_c_code_writes_is_noticed_though_it_is_equal(equal: Any) -> None:
    """True equals 1, but it is another value of JSON."""
    rows = draft([1, 3])
    heapq.heapreplace(rows, equal)
    assert_same(freeze(rows), freeze([equal, 3]))


def test_a_key_that_is_put_back_comes_last() -> None:
    """Order is kept as a plain dict keeps it."""
    G = draft({"a": 1, "b": 2})
    G["a"] = G.pop("a")
    assert list(freeze(G)) == ["b", "a"]


def test_only_containers_have_drafts() -> None:
    """G that is a number or a word is returned anew."""
    for value in (None, 1, "word"):
        with pytest.raises(DraftError, match="a dict or a list"):
            draft(value)
    with pytest.raises(TypeError, match=r"ctx\.draft\(\)"):
        type(draft({}))({"a": 1})


def test_a_frozen_G_tells_of_the_draft() -> None:
    """Whoever tries to change G is told how to."""

    def change(ctx: ResolverContext[Any]) -> object:
        ctx.G["moves"] = 1
        return {"G": ctx.G}

    fault = refused(apply(change), "resolver_error").fault
    assert fault is not None
    assert fault.exception_type == FrozenError.__name__
    assert "ctx.draft()" in fault.message
    assert "{**old, key: value}" in fault.message


def test_every_candidate_has_a_draft_of_its_own() -> None:
    """What one branch wrote before it said no is not seen by the next."""

    def write(ctx: ResolverContext[Any]) -> object:
        ctx.draft()["moves"] += 1
        return None if ctx.draft()["moves"] > 1 else {"G": ctx.draft()}

    def no(ctx: ResolverContext[Any]) -> object:
        ctx.draft()["moves"] = 99
        return None

    edges = [
        transition("go", "play", "play", no, label="no"),
        transition("go", "play", "play", write, label="write"),
    ]
    assert accepted(apply(write, transitions=edges)).snapshot.G["moves"] == 1


def test_a_list_can_be_drafted_too() -> None:
    """G need not be a dict."""

    def write(ctx: ResolverContext[Any]) -> object:
        G = ctx.draft()
        G.append(len(G))
        return G

    session = create_session(one_state(write, setup=[0]), MATCH)
    for now in (1, 2):
        accepted(session.apply("0", "go", now=now))
    assert session.snapshot.G == [0, 1, 2]


def test_an_answer_without_a_draft_is_read_as_ever() -> None:
    """Nothing changes for games that do not ask for one."""
    assert accepted(ask(lambda ctx: True)).snapshot.G == {}


def fail() -> object:
    raise ValueError


@pytest.mark.parametrize("spoil", [fail, lambda: {"G": 0, "enqueue": 7}])
def test_a_draft_of_a_failed_call_is_of_no_use_later(
    spoil: Callable[[], object],
) -> None:
    """A resolver that keeps its draft does not bring an old G back after a failure."""
    kept: list[Any] = []

    def resolve(ctx: ResolverContext[Any]) -> object:
        if kept:
            return {"G": kept[0]}
        kept.append(ctx.draft())
        place(kept[0])
        answer = spoil()
        return {**answer, "G": kept[0]} if isinstance(answer, dict) else answer

    session = create_session(one_state(resolve, setup=SETUP), MATCH)
    assert isinstance(session.apply("0", "go", now=1), Refusal)
    later = refused(session.apply("0", "go", now=2), "resolver_error")
    assert later.fault is not None
    assert "another step" in later.fault.message
    assert session.snapshot.G == SETUP
