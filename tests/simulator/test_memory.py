"""A process that lives long holds what is there now, and not what was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .hosting import hosting_of
from .memory import containers
from .scheduler import MS
from .settings import draw_settings, without_faults
from .world import World

LOOKS_S = (15, 50)


@pytest.mark.slow
@pytest.mark.parametrize("deadline_ms", [0, 400])
def test_nothing_grows_with_the_number_of_matches_played(deadline_ms: int) -> None:
    """Matches come and end; no container of a process is larger after so many more."""
    drawn = without_faults(draw_settings(1))
    settings = replace(
        drawn,
        nodes=3,
        shards=2,
        copies=2,
        min_isr=1,
        durability="disk",
        players=8,
        matches=4,
        goal=20,
        deadline_ms=deadline_ms,
        think_ms=60,
        faults_ms=LOOKS_S[-1] * 1_000 + 1,
        quiet_ms=4_500,
        checkpoint_ms=300,
        missing_version=False,
        impure=False,
        unwatch=True,
        options=replace(drawn.options, kept_entries=40),
    )
    world = World(settings, hosting_of("matches"))
    looks: list[tuple[int, dict[str, int]]] = []

    def look() -> None:
        largest: dict[str, int] = {}
        for process in world.network.processes.values():
            for place, count in containers(process).items():
                largest[place] = max(largest.get(place, 0), count)
        looks.append((len(world.history.matches), largest))

    for at_s in LOOKS_S:
        world.scheduler.after(at_s * 1_000 * MS, look)
    world.run()
    world.scheduler.clear()
    (few, before), (many, after) = looks
    assert many > 2.5 * few
    grown = {
        place: (before.get(place, 0), count)
        for place, count in after.items()
        if count > 1.5 * before.get(place, 0) + 16
    }
    assert not grown
