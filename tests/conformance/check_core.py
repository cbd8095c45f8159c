"""The format of core_semantics.json: scripted scenarios on small games.

The creation of a session and every step of a script are compared exactly with the
recording: what was answered, and the whole state after. Where a deviation applies, its
demand is checked instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from hotseat.engine.definition import Game
from hotseat.engine.errors import EngineError
from hotseat.engine.validate import validate

from .deviations import Demand, demand_at_creation, demand_at_step
from .outcome import Outcome, Skip, difference, judge, skipped
from .scenario import Scenario
from .scenario_game import build_game

__all__ = ["check", "check_case", "is_core_case"]

Json = Any
Build = Callable[[Mapping[str, Json]], Game]
DOWN_TO_CANDIDATES = ("transition", "evaluations", "transitions")
Case = Mapping[str, Json]


def is_core_case(case: Json) -> bool:
    """Whether this is a scenario on a core game (gamekit and replay look alike)."""
    return (
        isinstance(case, Mapping)
        and {"game", "session"} <= case.keys()
        and case.keys().isdisjoint(("script", "envelope"))
        and isinstance(case["game"], Mapping)
        and {"states", "transitions", "events"} <= case["game"].keys()
    )


def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
    """One outcome for each case. One that needs JavaScript may differ."""
    for case in document["cases"]:
        yield check_case(case, is_core_case, build_game)


def check_case(case: Case, is_one: Callable[[Json], bool], build: Build) -> Outcome:
    """Judge one scenario, if it is one of the kind that `build` makes games of."""
    name = str(case.get("id", case.get("title", "unnamed")))
    outcome = judge(name, partial(_first_problem, case, is_one, build))
    if outcome.status == "failed" and case.get("js_only"):
        return skipped(name, f"depends on JavaScript: {outcome.text}")
    return outcome


def _first_problem(
    case: Case, is_one: Callable[[Json], bool], build: Build
) -> Iterator[str]:
    """After the first difference a case tells another story."""
    if not is_one(case):
        raise Skip("its game is of another kind")
    return islice(filter(None, problems(case, build)), 1)


def problems(case: Case, build: Build = build_game) -> Iterator[str]:
    """Play one case, yielding where it differs from the recording or a demand."""
    demand = demand_at_creation(case)
    try:
        game = build(case["game"])
    except EngineError as error:
        answer = {"throws": str(error), "diagnostics": []}
        if demand is not None:
            yield _unmet(demand, answer, lambda step: None, "define")
        elif "throws" not in case.get("define", case.get("create", {})):
            yield f"define: expected a game, actual error: {error}"
        return
    if "throws" in case.get("define", {}):
        yield "define: expected an error, actual a game"
        return
    if "defined" in case:
        actual = {"playerIDs": list(game.player_ids), "minPlayers": game.min_players}
        yield difference(case["defined"], actual, "defined")
    if demand is None:
        yield from _played(case, game)
        return
    _, answer = _created(case, game)
    answer["diagnostics"] = _diagnostics(game, case["session"])
    yield _unmet(demand, answer, lambda step: None, "create")
    if demand.min_players is not None:
        smaller = {**case["game"], "minPlayers": demand.min_players}
        yield from _played(case, build(smaller))


def _created(case: Case, game: Game) -> tuple[Scenario | None, dict[str, Json]]:
    try:
        scenario = Scenario(game, case["session"])
    except EngineError as error:
        return None, {"throws": f"{type(error).__name__}: {error}"}
    return scenario, {"ok": True, "state": scenario.state}


def _played(case: Case, game: Game) -> Iterator[str]:
    scenario, answer = _created(case, game)
    if "create" in case:
        yield _differing(case["create"], answer, "create")
    if scenario is None:
        return
    for index, step in enumerate(case.get("steps", [])):
        where = f"step {index} ({step['op']})"
        before = scenario.state
        answer = scenario.perform(step)
        demand = demand_at_step(case, step)
        if demand is None:
            yield _differing(step["expect"], answer, where)
            expected = before if step["after"] == "$unchanged" else step["after"]
            yield difference(expected, scenario.state, f"{where}: state")
            continue
        yield _unmet(demand, answer, scenario.perform, where)
        yield difference(before, scenario.state, f"{where}: state")
        if demand.ends:
            return


def _diagnostics(game: Game, options: Mapping[str, Json]) -> Json:
    try:
        report = validate(game, options["match"])
    except EngineError:
        return []
    return [[d.code, d.severity, d.state] for d in report.diagnostics]


def _unmet(
    demand: Demand, answer: Json, ask: Callable[[Json], Json], where: str
) -> str:
    if demand.holds(answer, ask):
        return ""
    return f"{where}: demanded {demand.text}; actual {_brief(answer)}"


def _differing(expected: Json, answer: Json, where: str) -> str:
    """An expected error is met by any error or refusal of ours, whatever its text."""
    if "throws" in expected:
        refused = answer.get("ok") is False or "refused" in answer
        if "throws" in answer or refused:
            return ""
        return f"{where}: expected an error, actual {_brief(answer)}"
    if "throws" in answer:
        return f"{where}: expected {_brief(expected)}, actual {_brief(answer)}"
    told = {key: value for key, value in answer.items() if key != "refused"}
    return difference(_wordless(_unfolded(expected, answer)), told, where)


def _wordless(expected: Json) -> Json:
    """Without a rejection's words that are null: hotseat does not tell them apart."""
    if isinstance(expected, list):
        return [_wordless(item) for item in expected]
    if not isinstance(expected, dict):
        return expected
    rejected = "error" in expected or "rejectedBy" in expected
    return {
        key: _wordless(value) if key in ("steps", *DOWN_TO_CANDIDATES) else value
        for key, value in expected.items()
        if not (rejected and key in ("reason", "details") and value is None)
    }


def _unfolded(expected: Json, answer: Json) -> Json:
    """ "$after" in a step's snapshot stands for the state after it."""
    if "steps" not in expected or "steps" not in answer:
        return expected
    finals = [step.get("snapshot") for step in answer["steps"]]
    return {
        **expected,
        "steps": [
            {**step, "snapshot": finals[index]}
            if step["snapshot"] == "$after" and index < len(finals)
            else step
            for index, step in enumerate(expected["steps"])
        ],
    }


def _brief(value: Json) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
