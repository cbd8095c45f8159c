"""The format of gamekit.json: scenarios on gamekit games, modifiers, view helpers.

Scenarios on games of the core may stand among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any

from hotseat.engine.errors import EngineError
from hotseat.engine.gamekit import Modifier, evaluate_number, view

from .check_core import check_case, is_core_case
from .gamekit_game import build_gamekit_game
from .outcome import Outcome, difference, judge
from .scenario_game import build_game

__all__ = ["check", "is_gamekit_case"]

Json = Any

ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "add": lambda value, n: value + n,
    "sub": lambda value, n: value - n,
    "mul": lambda value, n: value * n,
    "set": lambda value, n: n,
}


def is_gamekit_case(case: Json) -> bool:
    """Whether this is a scenario on a gamekit game."""
    return (
        isinstance(case, Mapping)
        and {"game", "session"} <= case.keys()
        and case.keys().isdisjoint(("script", "envelope"))
        and isinstance(case["game"], Mapping)
        and "moves" in case["game"]
    )


def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
    """One outcome for each scenario, each evaluation, and each view."""
    for case in document.get("cases", ()):
        if is_gamekit_case(case):
            yield check_case(case, is_gamekit_case, build_gamekit_game)
        else:
            yield check_case(case, is_core_case, build_game)
    for case in document.get("modifiers", ()):
        name = f"modifiers {case.get('id', 'unnamed')}"
        yield judge(name, partial(_modifier_problems, case))
    for index, case in enumerate(document.get("view_helpers", ())):
        yield judge(f"view_helpers[{index}]", partial(_view_problems, case))


def _modifier_problems(case: Mapping[str, Json]) -> Iterator[str]:
    expected = case["expect"]
    try:
        done = evaluate_number(
            case["base"],
            [_modifier(each) for each in case["modifiers"]],
            stage_order=case.get("stageOrder", ()),
        )
    except EngineError as error:
        if "throws" not in expected:
            yield f"expected {expected}, actual error: {error}"
        return
    applied = [
        {"id": a.id, "index": a.index, "priority": a.priority, "stage": a.stage}
        for a in done.applied
    ]
    yield difference(expected, {"applied": applied, "value": done.value})


def _modifier(spec: Mapping[str, Json]) -> Modifier[float]:
    change, n = ARITHMETIC[spec["op"]], spec.get("n", 0)
    given = {key: spec[key] for key in ("priority", "stage") if key in spec}
    return Modifier(spec["id"], lambda value, ctx: change(value, n), **given)


def _view_problems(case: Mapping[str, Json]) -> Iterator[str]:
    ctx: Any = SimpleNamespace(C=case["C"])
    if case["fn"] == "view.merge":
        actual = view.merge(case["base"], ctx, *case["keys"])
    else:
        actual = view.computed(ctx, *case["keys"])
    yield difference(case["expect"], actual)
