"""Pinned matches: who pins and moves them, and what must hold of them (I15).

At each time a match has one place: its home, or the shard that its pin key names.
Nothing of it is committed anywhere else.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from hotseat.runtime.control_plane import PinRecord, decode_record
from hotseat.runtime.coordinator import Change
from hotseat.runtime.replication.message import Entry
from hotseat.runtime.replication.parcel import is_parcel

from .history import History
from .operators import Operator
from .scheduler import MS
from .violation import Violation

if TYPE_CHECKING:
    from .world import World

__all__ = ["Pinner", "Places"]


class Places:
    """Where each match is, by the coordinator's keys."""

    def __init__(self, world: World, history: History) -> None:
        self._world = world
        self._history = history
        self.pins: dict[str, int] = {}
        self.folded_us: dict[str, int] = {}
        """When a match came home last."""

    def of(self, match: str) -> int:
        """The shard that the match is in."""
        return self.pins.get(match) or self._history.matches[match].shard

    def changed(self, change: Change) -> None:
        """A key was written."""
        match = self._world.keys.pin_of(change.key)
        if match is None:
            return
        records = self._history.matches[match].records
        last = records[-1]
        if change.value is None and match not in self.pins:
            return  # an operator deletes what a backup had brought back
        if change.value is None:
            self._world.trace.note(f"{match} is pinned no longer")
            self._world.trace.counts["folded"] += 1
            came = self._history.parcels.get(match, -1)
            if last.kind != "attach" or came != len(records) - 1:
                raise Violation(
                    "I15",
                    f"{match} is pinned no longer though its last record is {last}, and"
                    f" it came home as of {came} of {len(records)}",
                )
            del self.pins[match]
            self.folded_us[match] = self._world.scheduler.now_us
            return
        shard = decode_record(PinRecord, change.key, change.value).shard
        if self.pins.get(match) == shard:
            return  # an operator wrote it again
        self._world.trace.note(f"{match} is pinned to {shard}")
        self._world.trace.counts["pinned"] += 1
        if last.kind != "detach":
            raise Violation(
                "I15", f"{match} is pinned to {shard} though its last record is {last}"
            )
        self.pins[match] = shard

    def committed(self, shard: int, entry: Entry, who: str) -> None:
        """An entry is committed, and nobody knew of it before."""
        if is_parcel(entry.record):
            return
        place = self.of(entry.match)
        if place != shard:
            raise Violation(
                "I15",
                f"{entry.match}#{entry.index} is committed in shard {shard} ({who}),"
                f" but the match is in {place}",
            )


class Pinner:
    """An operator who pins matches, and moves them about, faults or not."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._draw = random.Random(f"pins {world.settings.seed}")
        self._operator = Operator(world, self._draw, "pinner")

    def begin(self) -> None:
        """Until the world is healed."""
        if self._world.settings.pins_ms:
            self._later()

    def _later(self) -> None:
        mean_ms = self._world.settings.pins_ms
        delay_ms = min(self._draw.expovariate(1 / mean_ms), 4 * mean_ms)
        self._world.scheduler.after(int(delay_ms * MS), self._work)

    def _work(self) -> None:
        world = self._world
        if world.healed:
            return
        self._later()
        pinned = sorted(world.places.pins.items())
        going_on = {shard for match, shard in pinned if match not in world.account.over}
        dice = self._draw.random()
        if dice < 0.4 or not going_on:
            self.pin()
        elif dice < 0.6:
            self.fold()
        elif dice < 0.9:
            self._operator.move(self._draw.choice(sorted(going_on)))
        else:
            self._operator.edit_want(self._draw.choice(sorted(going_on)))

    def fold(self) -> None:
        """Ask the owner of some pinned match's shard to fold it back."""
        pinned = sorted(self._world.places.pins.items())
        if pinned:
            match, shard = self._draw.choice(pinned)
            owner = self._world.owner(shard)
            if owner is not None:
                self._world.trace.struck("fold", f"{match} at {owner.boot}")
                owner.fold(match)

    def pin(self) -> None:
        """Ask the owner of some match's home."""
        world = self._world
        known = [
            match
            for match in sorted(world.history.matches)
            if match not in world.places.pins and match not in world.account.over
        ]
        if not known:
            return
        match = self._draw.choice(known)
        owner = world.owner(world.places.of(match))
        if owner is not None:
            world.trace.struck("pin", f"{match} at {owner.boot}")
            owner.pin(match)
