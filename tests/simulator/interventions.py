"""An operator who edits, upgrades, resigns and ends matches, faults or not.

Each command is asked for until it is answered, at whoever owns the match by then, and
now and then once more. It is held to what players' actions are held to: what was told
as done stands in the log, once, where it was told.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from hotseat.runtime.command import (
    Answer,
    Applied,
    Denied,
    Edit,
    Intervention,
    ResignSeat,
    Terminate,
    Upgrade,
)

from .game import GAME_NEXT_VERSION, GAME_VERSION
from .history import Key
from .scheduler import MS
from .violation import Violation

if TYPE_CHECKING:
    from .world import World

__all__ = ["INTERVENTIONS", "Intervener", "key_of"]

INTERVENTIONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "edit": "An operator edits a match, or undoes the last edit.",
        "upgrade": "An operator lets a match go on under another version of its game, "
        "or goes back.",
        "resign_seat": "An operator gives up a seat.",
        "terminate": "An operator ends a match.",
    }
)
"""What they are, by the name under which they are counted."""

_NAMES: Final[Mapping[type[Intervention], str]] = MappingProxyType(
    {
        Edit: "edit",
        Upgrade: "upgrade",
        ResignSeat: "resign_seat",
        Terminate: "terminate",
    }
)

AGAIN_MS = 400
"""After so long a command that has no answer is asked for again."""

RETRIED = frozenset(
    {"retry", "moved", "busy", "not_committed", "no_owner", "degraded", "stopping"}
    | {"match_lost", "unknown_match"}  # of a node that is behind
)


def key_of(op: str) -> Key:
    """How the history names a command."""
    return (f"op {op}", 0, 0)


class Intervener:
    """Commands have numbers, which rise."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._draw = random.Random(f"interventions {world.settings.seed}")
        self._waiting: dict[str, tuple[str, Intervention]] = {}
        self._done: dict[str, tuple[str, Intervention]] = {}
        self._commands = 0

    def begin(self) -> None:
        """Until the world is healed."""
        if self._world.settings.interventions_ms:
            self._later()

    def check(self) -> None:
        """
        Raises:
            Violation: A command never had an answer.
        """
        lost = self._world.lost_shards()
        for op, (match, asked) in self._waiting.items():
            if self._world.places.of(match) not in lost:
                raise Violation("I13", f"{asked} of {match} has no answer: {op}")

    def _later(self) -> None:
        mean_ms = self._world.settings.interventions_ms
        delay_ms = min(self._draw.expovariate(1 / mean_ms), 4 * mean_ms)
        self._world.scheduler.after(int(delay_ms * MS), self._work)

    def _work(self) -> None:
        world = self._world
        if world.healed:
            return
        self._later()
        if self._done and self._draw.random() < 0.2:
            op = self._draw.choice(list(self._done))
            self._waiting[op] = self._done[op]
            self._ask(op)
            return
        matches = [m for m in sorted(world.history.matches) if self._goes_on(m)]
        if matches:
            self._commands += 1
            op = f"{self._commands:06}"
            match, asked = self._draw.choice(matches), self._drawn(op)
            self._waiting[op] = (match, asked)
            world.trace.struck(_NAMES[type(asked)], f"{match} {op}")
            self._ask(op)

    def _goes_on(self, match: str) -> bool:
        return match not in self._world.account.over or self._draw.random() < 0.1

    def _drawn(self, op: str) -> Intervention:
        dice, who = self._draw.random(), (op, "sim", "")
        if dice < 0.45:
            path = self._draw.choice(["/lapses", "/dice", "/none"])
            value = self._draw.randint(0, 6)
            return Edit(*who, patch=[{"op": "replace", "path": path, "value": value}])
        if dice < 0.6:
            return Edit(*who, undo=True)
        if dice < 0.85:
            to = self._draw.choice([GAME_VERSION, GAME_NEXT_VERSION])
            return Upgrade(*who, to=to)
        if dice < 0.93:
            return ResignSeat(*who, seat=self._draw.choice(["0", "1"]))
        return Terminate(*who)

    def _ask(self, op: str) -> None:
        """At whoever is the owner now; and again, until there is an answer."""
        if op not in self._waiting:
            return
        match, asked = self._waiting[op]
        owner = self._world.owner(self._world.places.of(match))
        if owner is not None:
            owner.intervene(match, asked, lambda answer: self._told(op, answer))
        self._world.scheduler.after(AGAIN_MS * MS, self._ask, op)

    def _told(self, op: str, answer: Answer) -> None:
        counts = self._world.trace.counts
        match, asked = self._waiting.get(op) or self._done.get(op) or ("", None)
        if asked is None:
            return  # it was refused, and is asked for no longer
        if isinstance(answer, Denied):
            code = answer.refusal.code
            counts[f"intervention_{code}"] += 1
            if code not in RETRIED:
                self._waiting.pop(op, None)
            return
        assert isinstance(answer, Applied), answer
        counts[f"intervention_{type(asked).__name__}"] += 1
        self._waiting.pop(op, None)
        self._done[op] = (match, asked)
        self._world.account.intervened(match, key_of(op), answer)
