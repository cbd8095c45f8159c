"""Reads a result: what it is worth to each player, from 0 to 1. Pure.

A result may be any JSON. What is understood: `winner` (a seat, or a list of them),
`winners`, `draw`, `scores` (a number for each seat: more is better), `ranking` (seats,
the best first). Anything else is worth the same to all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["EVEN", "rewards"]

EVEN = 0.5
"""A draw; and what nobody can tell."""


def rewards(result: Any, players: Sequence[str]) -> Mapping[str, float]:
    """What the result is worth, by player; None: the match was not played out."""
    if isinstance(result, Mapping):
        winners = _winners(result)
        if winners:
            return {seat: float(seat in winners) for seat in players}
        scores = _scores(result, players)
        if scores is not None:
            return _by_rank(scores, players)
    return dict.fromkeys(players, EVEN)


def _winners(result: Mapping[str, Any]) -> Sequence[str]:
    said = result.get("winner")
    if said is None:
        said = result.get("winners")
    if isinstance(said, str):
        return (said,)
    return said if isinstance(said, list | tuple) else ()


def _scores(
    result: Mapping[str, Any], players: Sequence[str]
) -> Mapping[str, float] | None:
    scores, ranking = result.get("scores"), result.get("ranking")
    if isinstance(scores, Mapping):
        said = {seat: scores.get(seat) for seat in players}
        numbers = {s: float(v) for s, v in said.items() if isinstance(v, int | float)}
        return numbers if len(numbers) == len(players) else None
    if isinstance(ranking, list | tuple):
        places = {seat: -float(place) for place, seat in enumerate(ranking)}
        return {seat: places.get(seat, -float(len(ranking))) for seat in players}
    return None


def _by_rank(
    scores: Mapping[str, float], players: Sequence[str]
) -> Mapping[str, float]:
    """The part of the others that each has beaten; a tie is half."""
    others = max(1, len(players) - 1)
    found = {}
    for seat in players:
        mine = scores[seat]
        beaten = sum(mine > scores[other] for other in players)
        tied = sum(mine == scores[other] for other in players) - 1
        found[seat] = (beaten + tied / 2) / others
    return found
