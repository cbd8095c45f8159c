"""What a chaos run does: the players, their pace, and the faults in their order.

Pure: nothing here runs anything.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from enum import StrEnum

from ...engine.definition import Game
from ...engine.games.connect_four import game as connect_four
from .cluster import ClusterPlan

__all__ = ["ChaosPlan", "Fault", "FaultKind", "Pace"]


class FaultKind(StrEnum):
    """What is done to a cluster."""

    KILL = "kill"
    """SIGKILL of one node; it is started again."""
    FREEZE = "freeze"
    """SIGSTOP of one node for a while, then SIGCONT."""
    ISOLATE = "isolate"
    """All links between one node and the others are cut for a while."""
    CUT_TO = "cut_to"
    """What one node sends to another is lost for a while; the way back stays."""
    VANISH = "vanish"
    """One node's machine is gone for a while, and no connection is reset."""
    RESTART_ALL = "restart_all"
    """SIGKILL of every node at once; all are started again."""
    MIGRATE = "migrate"
    """Planned work, no fault: every shard is moved to one node, which is drained."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `lasts_s`: how long, for what does not end by itself."""

    kind: FaultKind
    lasts_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ChaosPlan:
    """All that a run needs.

    matches: Played at any time; one that ends is followed by another.
    rate: Actions per second of all matches together, offered whatever comes back.
    seconds: How long is played at least; longer if the faults take longer.
    rest_s: Play before the first fault, and after each has healed.
    heal_s: How long a fault may take to heal before the run has failed.
    even: Before each fault, shards are to be spread evenly again.
    clients: Endpoints that the players are spread over.
    """

    cluster: ClusterPlan = field(default_factory=ClusterPlan)
    matches: int = 200
    rate: float = 200.0
    seconds: float = 20.0
    faults: tuple[Fault, ...] = ()
    rest_s: float = 2.0
    heal_s: float = 60.0
    even: bool = False
    clients: int = 2
    game: Game = connect_four
    seed: str = "chaos"

    def __post_init__(self) -> None:
        if self.matches < 1 or not self.rate > 0:
            raise ValueError("a run needs at least one match, and a positive rate")

    def pace(self, slot: int) -> Pace:
        """When the players of one match act."""
        period_s = self.matches / self.rate
        offset_s = random.Random(f"{self.seed}/{slot}").random() * period_s
        return Pace(period_s, offset_s)


class Pace:
    """The planned times of one match's actions: every `period_s`, open loop.

    Times that could not be kept are made up for by one action, not by a burst. A time
    that is asked for in between moves none of those that are planned: or all matches
    that one fault has hit would go on acting at the same moments.
    """

    def __init__(self, period_s: float, offset_s: float) -> None:
        self._period_s = period_s
        self._next_s = offset_s
        self._extra_s = math.inf
        self.missed = 0

    def begin(self, now_s: float) -> None:
        """The clock of these times starts."""
        self._next_s += now_s

    @property
    def next_s(self) -> float:
        return min(self._next_s, self._extra_s)

    def hurry(self, now_s: float) -> None:
        """Act now, once, beside the planned times."""
        self._extra_s = now_s

    def taken(self, now_s: float) -> None:
        """The next time is used up."""
        if self._extra_s < self._next_s:
            self._extra_s = math.inf
            return
        self._extra_s = math.inf
        self._next_s += self._period_s
        if self._next_s < now_s:
            behind = int((now_s - self._next_s) / self._period_s) + 1
            self.missed += behind
            self._next_s += behind * self._period_s
