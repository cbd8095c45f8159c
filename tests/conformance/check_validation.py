"""The format of validation.json: every diagnostic of (mostly bad) definitions.

Compared are codes, severities, places and order, and the count of each code. Messages
and hints are for people and are hotseat's own, but a hint is there whenever the
reference has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hotseat.engine.errors import DefinitionError
from hotseat.engine.validate import Diagnostic, validate

from .deviations import softened
from .outcome import Outcome, difference, judge
from .scenario_game import build_game

__all__ = ["check"]

Json = Any


def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
    """One outcome for each case."""
    for case in document["cases"]:
        yield judge(str(case.get("id", case.get("title"))), partial(_problems, case))


def _problems(case: Mapping[str, Json]) -> Iterator[str]:
    expected = [
        softened(case["game"], diagnostic)
        for diagnostic in case["expect"]["diagnostics"]
    ]
    options = case["options"]
    try:
        game = build_game(case["game"])
    except DefinitionError as error:
        if not expected:
            yield f"define: expected a game, actual error: {error}"
        return
    if options is None:
        report = validate(game)
    else:
        given = {key: options[key] for key in ("now", "seed") if key in options}
        report = validate(game, options["match"], **given)
    actual = [_diagnostic_json(d) for d in report.diagnostics]
    hintless = [not d["hint"] for d in map(_place, expected)]
    for diagnostic, free in zip(actual, hintless, strict=False):
        if free:  # hotseat may say more than the reference
            diagnostic["hint"] = False
    yield difference([_place(d) for d in expected], actual, "diagnostics")
    ok = all(diagnostic["severity"] != "error" for diagnostic in expected)
    yield difference(ok, report.ok, "ok")


def _place(diagnostic: Mapping[str, Json]) -> Json:
    """A recorded diagnostic without its words; `hint` says whether it has one."""
    told = {key: value for key, value in diagnostic.items() if key != "message"}
    return {**told, "hint": "hint" in diagnostic}


def _diagnostic_json(diagnostic: Diagnostic) -> Json:
    told = {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "hint": diagnostic.hint is not None,
        "context": dict(diagnostic.context) or None,
        "event": diagnostic.event,
        "from": diagnostic.source,
        "to": diagnostic.target,
        "state": diagnostic.state,
    }
    return {key: value for key, value in told.items() if value is not None}
