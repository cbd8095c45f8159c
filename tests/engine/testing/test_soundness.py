"""The checks of the engine's own promises: each finds what it is for."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hotseat.engine import (
    Batch,
    FDict,
    FrozenError,
    Snapshot,
    create_session,
    freeze,
)
from hotseat.engine.games.pig_dice import game as pig_dice
from hotseat.engine.testing import GameFault, check_game
from hotseat.engine.testing.soundness import (
    Seals,
    batch_faults,
    is_frozen,
    snapshot_faults,
)

from ..samples import MATCH, accepted, one_state

replace = msgspec.structs.replace

MACHINE = create_session(pig_dice, MATCH).machine
START = create_session(pig_dice, MATCH).snapshot


def rolled() -> Batch:
    """A batch with a draw."""
    return accepted(create_session(pig_dice, MATCH).apply("0", "roll", now=1))


def changed(batch: Batch, **parts: Any) -> Batch:
    """The batch with parts of its one step replaced."""
    (step,) = batch.steps
    for part, values in parts.items():
        step = replace(step, **{part: replace(getattr(step, part), **values)})
    return replace(batch, steps=(step,), snapshot=step.snapshot)


def test_a_sound_match_has_no_faults() -> None:
    """What the engine makes keeps its promises."""
    assert list(snapshot_faults(MACHINE, START)) == []
    assert list(batch_faults(MACHINE, START, rolled())) == []


BROKEN: list[Callable[[Snapshot], Snapshot]] = [
    lambda s: replace(s, G={}),
    lambda s: replace(s, G=freeze({"a": [1]}) | {"b": 1}),
    lambda s: replace(s, revision=-1),
    lambda s: replace(s, position=replace(s.position, turn=0)),
    lambda s: replace(s, position=replace(s.position, name="nowhere")),
    lambda s: replace(s, position=replace(s.position, path=())),
    lambda s: replace(s, meta=replace(s.meta, seed="another")),
    lambda s: replace(s, meta=replace(s.meta, result=1.0)),
    lambda s: replace(s, meta=replace(s.meta, rng=replace(s.meta.rng, draws=-1))),
]


@pytest.mark.parametrize("break_it", BROKEN)
def test_a_broken_snapshot_is_found(break_it: Callable[[Snapshot], Snapshot]) -> None:
    """Every promise about a snapshot is looked at."""
    assert list(snapshot_faults(MACHINE, break_it(START))) != []


BROKEN_BATCHES: list[dict[str, dict[str, Any]]] = [
    {"snapshot": {"revision": 2}},
    {"event": {"turn": 9}},
    {"event": {"at": 9}},
    {"transition": {"turn": "preserve"}},
    {"transition": {"rng": None}},
    {"transition": {"target": "over"}},
    {"transition": {"source": "over"}},
    {"transition": {"matched_from": "over"}},
    {"transition": {"enqueued": (1,)}},
]


@pytest.mark.parametrize("parts", BROKEN_BATCHES)
def test_a_broken_batch_is_found(parts: dict[str, dict[str, Any]]) -> None:
    """Every promise about a step is looked at."""
    assert list(batch_faults(MACHINE, START, changed(rolled(), **parts))) != []


def test_frozen_means_frozen_all_the_way() -> None:
    """One plain container, or one value that is stored otherwise, is found."""
    assert is_frozen(freeze({"a": [1, {"b": None}], "é": 1.5}))
    deep = freeze([[[1]]])
    bad: list[Any] = [[1], {}, 1.0, float("nan"), {1}, 2**60, "\ud800", deep]
    for child in bad:
        value = freeze({"a": [1]})
        dict.__setitem__(value, "a", child)
        assert not is_frozen(value)
    value = freeze({"a": [1]})
    dict.__setitem__(value, 1, 2)
    assert not is_frozen(value)


def test_the_ways_that_python_offers_a_class_are_closed() -> None:
    """Neither `super` of the object's own class nor its operators get past."""
    G = freeze({"a": [1]})
    with pytest.raises(FrozenError):
        super(type(G), G).__setitem__("a", 2)
    with pytest.raises(FrozenError):
        G["a"] += [2]
    with pytest.raises(FrozenError):
        G["a"][0], G["b"] = 1, 2
    with pytest.raises(TypeError):
        G.__class__ = dict
    assert G == {"a": [1]}


TAMPERING: list[Callable[[Any], object]] = [
    lambda G: dict.__setitem__(G, "moves", 9),
    lambda G: super(FDict, G).update(moves=9),
    lambda G: list.append(G["heap"], 9),
    lambda G: heapq.heappush(G["heap"], 0),
    lambda G: dict.__setitem__(G, "moves", [9]),
]


@pytest.mark.parametrize("tamper", TAMPERING)
def test_a_change_behind_the_methods_is_found(tamper: Callable[[Any], object]) -> None:
    """Python lets C functions write into a frozen value; the seals tell."""
    seals = Seals()
    session = create_session(one_state(setup={"moves": 0, "heap": [1, 2]}), MATCH)
    seals.add(session.snapshot)
    assert list(seals.faults()) == []
    tamper(session.snapshot.G)
    (fault,) = seals.faults()
    assert "changed in place" in fault


def test_check_game_finds_a_game_that_tampers() -> None:
    """Authors learn of it from their own tests."""

    def resolve(ctx: Any) -> object:
        heapq.heappush(ctx.G["heap"], len(ctx.G["heap"]))
        return {"result": 1} if len(ctx.G["heap"]) > 2 else {"turn": "increment"}

    game = one_state(
        resolve,
        setup={"heap": []},
        legal_actions=lambda ctx, seat: [("go", None)],
        open_information=True,
    )
    with pytest.raises(GameFault, match=r"changed in place.*ctx\.draft\(\)"):
        check_game(game)
