"""What an ended match leaves to its players' profiles. Pure but for the game, which is
played back.

A cluster keeps no profiles: whoever opens matches keeps them, gives them to a match at
its creation, and has here what became of them. The deltas are for the profiles as they
are stored by then: those of the moves, in order, then those of the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ...engine.errors import EngineError
from ...engine.frozen import thaw
from ...engine.machine import Machine
from ...engine.profile_commit import commit_profiles
from ...engine.record import Record
from ...engine.replay import open_timeline
from ..client import Refusal

__all__ = ["KeptProfiles", "PlayerProfile", "kept_profiles"]

NO_PROFILES = Refusal("no_profiles", "That game keeps no profiles.")
IMPOSSIBLE = Refusal("replay_impossible", "That match cannot be played back.")


class PlayerProfile(msgspec.Struct, frozen=True):
    """What one player keeps. `deltas` are lists of operations, each list applied as a
    whole; `after` is what they make of `before`. `problem` says why the result's do not
    apply."""

    seat: str
    before: Any
    deltas: list[list[dict[str, Any]]]
    after: Any
    problem: str | None = None


class KeptProfiles(msgspec.Struct, frozen=True):
    """By seat. `match` names what the deltas come from: apply those of a match once."""

    match: str
    game: str
    version: str
    profiles: list[PlayerProfile]


def kept_profiles(
    machine: Machine, records: list[Record], match: str
) -> KeptProfiles | Refusal:
    """Of a match that has ended.

    Refusals: no_profiles; replay_impossible: the game does not play its log back, or
    fails on its result.
    """
    try:
        timeline = open_timeline(machine, records)
        if machine.game.profile is None:
            return NO_PROFILES
        last = timeline.frame(0)
        before = last.snapshot.meta.match["profiles"]
        deltas: dict[str, list[Any]] = {seat: [] for seat in before}
        for frame in timeline.frames(1):
            last = frame
            if frame.step is not None and frame.step.transition.profile is not None:
                _add(deltas, frame.step.transition.profile)
        game = (last.machine or machine).game
        meta = last.snapshot.meta
        commit = commit_profiles(game, meta.match, meta.match["profiles"], meta.result)
    except EngineError:
        return IMPOSSIBLE
    problems = {no.player_id: no.message for no in commit.rejections}
    _add(deltas, {s: d for s, d in commit.deltas.items() if s not in problems})
    return KeptProfiles(
        match,
        game.name,
        game.version,
        [
            PlayerProfile(
                seat,
                thaw(before[seat]),
                deltas[seat],
                thaw(commit.profiles[seat]),
                problems.get(seat),
            )
            for seat in before
        ],
    )


def _add(deltas: dict[str, list[Any]], more: Mapping[str, Any]) -> None:
    for seat, delta in more.items():
        deltas[seat].append(thaw(delta))
