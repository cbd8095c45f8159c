"""The format of validation.json: every diagnostic of (mostly bad) definitions.

Everything is compared, order included. The words may differ where the reference speaks
of itself: its names for things, its hints about them, and its host's exceptions. Where
it has no hint, hotseat has one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hotseat.engine.errors import DefinitionError
from hotseat.engine.validate import Diagnostic, Report, validate

from .deviations import softened
from .outcome import Outcome, difference, judge
from .scenario_game import build_game

__all__ = ["check"]

Json = Any

# Hints about what only the reference has, and exceptions that only JavaScript words so.
OWN_WORDS = re.compile("@openturn|activePlayers")
HOST_EXCEPTION = re.compile(r'(State ".*" failed during validation: )Cannot read ')


def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
    """One outcome for each case."""
    for case in document["cases"]:
        yield judge(str(case.get("id", case.get("title"))), partial(_problems, case))


def _problems(case: Mapping[str, Json]) -> Iterator[str]:
    expected = [
        dict(softened(case["game"], diagnostic))
        for diagnostic in case["expect"]["diagnostics"]
    ]
    softening = expected != case["expect"]["diagnostics"]
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
    for theirs, ours in zip(expected, actual, strict=False):
        _forgive(theirs, ours)
    yield difference(expected, actual, "diagnostics")
    ok = all(diagnostic["severity"] != "error" for diagnostic in expected)
    yield difference(ok, report.ok, "ok")
    if softening:
        return  # what the recording sums up is not what is expected
    yield difference(case["expect"]["ok"], report.ok, "ok")
    if "summary" in case["expect"]:
        yield difference(case["expect"]["summary"], _summary(report), "summary")


def _forgive(theirs: dict[str, Json], ours: dict[str, Json]) -> None:
    """Take hotseat's words where the recorded ones are the reference's own."""
    theirs["message"] = theirs["message"].replace("activePlayers", "active_players")
    exception = HOST_EXCEPTION.match(theirs["message"])
    if exception is not None and ours["message"].startswith(exception[1]):
        theirs["message"] = ours["message"]
    if OWN_WORDS.search(theirs.get("hint", "activePlayers")):
        theirs["hint"] = ours.get("hint", "any hint")


def _summary(report: Report) -> Json:
    """How many there are: of each code and severity, in the order of the first."""
    counts = Counter((d.code, d.severity) for d in report.diagnostics)
    return {
        "errors": len(report.errors),
        "warnings": len(report.warnings),
        "byCode": [
            {"code": code, "severity": severity, "count": count}
            for (code, severity), count in counts.items()
        ],
    }


def _diagnostic_json(diagnostic: Diagnostic) -> Json:
    told = {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "hint": diagnostic.hint,
        "context": dict(diagnostic.context) or None,
        "event": diagnostic.event,
        "from": diagnostic.source,
        "to": diagnostic.target,
        "state": diagnostic.state,
    }
    return {key: value for key, value in told.items() if value is not None}
