"""The format of roundrobin.json: whose turn it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hotseat.engine.turn import turn_of

from .encode import turn_json
from .outcome import Outcome, difference, judge, skipped

__all__ = ["check"]


def check(document: Mapping[str, Any]) -> Iterator[Outcome]:
    """One outcome for each pair of players and turn."""
    for case in document.get("cases", []):
        yield judge(_name(case), partial(_problems, case))
    for case in document.get("js_only", []):
        yield skipped(_name(case), f"depends on JavaScript: {case.get('note', '')}")


def _name(case: Mapping[str, Any]) -> str:
    return f"{case.get('players')} turn {case.get('turn')}"


def _problems(case: Mapping[str, Any]) -> Iterator[str]:
    turn = turn_of(case["players"], case["turn"])
    actual = {
        "expect": turn_json(turn),
        "roundRobin_activePlayers": [turn.current_player],
        "roundRobin_currentPlayer": turn.current_player,
    }
    for key, value in actual.items():
        if key in case:
            yield difference(case[key], value, key)
