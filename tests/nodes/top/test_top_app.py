"""`hotseat top` on textual's own stage: looks in, characters on the screen out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import cycle

from textual.pilot import Pilot

from hotseat.nodes.operator.rows import MatchRow
from hotseat.nodes.operator.survey import Survey
from hotseat.nodes.operator.survey_rows import AlarmRow, ClusterRow, NodeRow, ShardRow
from hotseat.nodes.operator_error import OperatorError
from hotseat.nodes.top.app import TopApp
from hotseat.nodes.top.keys import TOP_KEYS
from hotseat.nodes.top.look import Look

Play = Callable[[Pilot[None], TopApp], Awaitable[None]]

FIRST, SECOND = "a" * 26, "b" * 26


def match(name: str, records: int, game: str = "pig-dice") -> MatchRow:
    """A match that is played."""
    return MatchRow(
        match=name,
        shard=0,
        game=game,
        version="1",
        state="running",
        tier="hot",
        to_act=("0",),
        records=records,
        idle_s=float(records),
        node="n1",
    )


def look(at_s: float, *matches: MatchRow, committed: int = 0, short: int = 0) -> Look:
    """A cluster of two nodes, one of which is silent."""
    alarm = AlarmRow(code="node_silent", at="n2", message="it does not answer")
    cluster = ClusterRow(
        cluster="c1",
        dir="/c",
        shards=2,
        shards_owned=2,
        shards_in_sync=2 - bool(short),
        copies=2,
        min_isr=1,
        durability="disk",
        copies_short=short,
        matches=len(matches),
        ended=0,
        quarantined=0,
        alarms=(alarm,),
        rates=None,
        nodes=(
            NodeRow(
                node="n1",
                door="ipc://1",
                reachable=True,
                ready=True,
                shards=2,
                counters={"records": committed},
            ),
            NodeRow(
                node="n2", door="ipc://2", reachable=False, error="door_unreachable"
            ),
        ),
    )
    shards = (
        ShardRow(shard=0, owner="n1", serving=True, epoch=3, isr=("n1",), short=short),
        ShardRow(shard=1, owner="n1", serving=True, epoch=4, isr=("n1",), matches=7),
    )
    return Look(Survey(cluster, shards, at_s), matches)


class Looks:
    """Gives these looks, again and again; None: there is none."""

    def __init__(self, *looks: Look | None) -> None:
        self._looks = cycle(looks)
        self.asked = 0

    async def look(self) -> Look:
        self.asked += 1
        found = next(self._looks)
        if found is None:
            raise OperatorError("no_cluster", "there is none")
        return found


def staged(looks: Looks, play: Play, size: tuple[int, int] = (80, 24)) -> None:
    """Run the app without a terminal, on the loop that textual needs."""

    async def main() -> None:
        app = TopApp(looks)
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await play(pilot, app)

    asyncio.run(main())


def screen(app: TopApp) -> list[str]:
    """The characters that stand on the screen, row by row."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


async def wait_until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Let the app run until something is so; the test's timeout is the bound."""
    while not is_so():
        await pilot.pause(0.01)


def has(app: TopApp, *parts: str) -> bool:
    """Whether one row of the screen has all of these."""
    return any(all(part in row for part in parts) for row in screen(app))


def test_it_fits_80_by_24_and_tells_its_keys() -> None:
    """Totals, alarms, matches and keys are all there."""

    async def play(pilot: Pilot[None], app: TopApp) -> None:
        await wait_until(pilot, lambda: has(app, FIRST, "pig-dice"))
        assert [len(row) for row in screen(app)] == [80] * 24
        assert has(app, "cluster c1", "nodes 1/2", "shards 2/2", "matches 1")
        assert has(app, "node_silent at n2")
        assert has(app, "1 matches", "2 shards", "3 nodes", "4 alarms")
        assert "q quit" in screen(app)[-1]
        await pilot.press("question_mark")
        await pilot.pause()
        for key in TOP_KEYS:
            assert has(app, key.does), key

    staged(Looks(look(1, match(FIRST, 3))), play)


def test_the_hottest_matches_come_first() -> None:
    """By the records that their logs gained between two looks; or by how many."""

    async def play(pilot: Pilot[None], app: TopApp) -> None:
        await pilot.press("plus", "plus")  # as often as it can
        await wait_until(pilot, lambda: has(app, "per second: 10.0 records"))
        await pilot.press("space")
        await pilot.pause()
        order = [row[:26] for row in screen(app) if row[:26] in (FIRST, SECOND)]
        assert order == [SECOND, FIRST]
        assert has(app, SECOND, "5.0")
        await pilot.press("s")
        await pilot.pause()
        order = [row[:26] for row in screen(app) if row[:26] in (FIRST, SECOND)]
        assert order == [FIRST, SECOND]
        assert has(app, "by records")
        assert app.model.paused

    before = look(1, match(FIRST, 100), match(SECOND, 10), committed=40)
    after = look(3, match(FIRST, 100), match(SECOND, 20), committed=60)
    staged(Looks(before, after), play)


def test_panels_show_shards_nodes_and_alarms() -> None:
    """Each by its number, or with Tab."""

    async def play(pilot: Pilot[None], app: TopApp) -> None:
        await wait_until(pilot, lambda: has(app, "no match goes on"))
        await pilot.press("2")
        await pilot.pause()
        assert has(app, "0 n1", "n1 (1 short)")
        await pilot.press("s", "s")
        await pilot.pause()
        assert has(app, "by matches")
        rows = [row for row in screen(app) if " n1 " in row and "  n1" in row[20:]]
        assert rows[0].lstrip().startswith("1 n1")
        await pilot.press("tab")
        await pilot.pause()
        assert has(app, "n2", "no answer (door_unreachable)")
        await pilot.press("4")
        await pilot.pause()
        assert has(app, "node_silent", "it does not answer")

    staged(Looks(look(1, short=1)), play)


def test_what_a_match_is_called_cannot_steer_the_terminal() -> None:
    """Nor be read as markup."""

    async def play(pilot: Pilot[None], app: TopApp) -> None:
        await wait_until(pilot, lambda: has(app, FIRST))
        assert has(app, "[red]\\x1b[2J")
        assert not any("\x1b" in row for row in screen(app))

    staged(Looks(look(1, match(FIRST, 1, "[red]\x1b[2J"))), play)


def test_a_cluster_that_is_gone_is_asked_again() -> None:
    """The error stands in the header, and what was known stays."""

    async def play(pilot: Pilot[None], app: TopApp) -> None:
        await wait_until(pilot, lambda: has(app, "no_cluster: there is none"))
        await pilot.press("plus", "plus")
        await wait_until(pilot, lambda: has(app, FIRST))

    staged(Looks(None, look(1, match(FIRST, 1))), play)


def test_it_stands_still_while_it_is_paused() -> None:
    """Nobody is asked meanwhile."""

    async def play(pilot: Pilot[None], app: TopApp) -> None:
        await wait_until(pilot, lambda: has(app, FIRST))
        await pilot.press("space")
        asked = looks.asked
        for _ in range(5):  # each wakes it
            await pilot.press("plus")
            await pilot.pause()
        assert looks.asked == asked
        assert has(app, "paused")
        await pilot.press("space", "plus")
        await wait_until(pilot, lambda: looks.asked > asked)

    looks = Looks(look(1, match(FIRST, 1)))
    staged(looks, play)


def test_q_and_ctrl_c_leave() -> None:
    """Both are an orderly end."""
    for key in ("q", "ctrl+c"):

        async def play(pilot: Pilot[None], app: TopApp, key: str = key) -> None:
            await pilot.press(key)
            await pilot.pause()
            assert app.return_code == 0

        staged(Looks(look(1)), play)
