"""Bots play where a room has put them, and nowhere else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.bots.player import PlayerOptions
from hotseat.nodes.bots.pool import open_pool
from hotseat.nodes.bots.rooms import Rooms
from hotseat.nodes.bots.serve import STATISTICS
from hotseat.nodes.client import RemoteMatch, View
from hotseat.nodes.node.metrics import Metrics, metric_names
from hotseat.nodes.operator_error import OperatorError

from .stage import SECRET, Stage, opened_room, seen, stage, until


class Listed:
    """The rooms that a cluster tells of."""

    def __init__(self, *rooms: RemoteMatch) -> None:
        self.all = {room.id: room for room in rooms}
        self.fails = 0
        self.looks = 0

    async def rooms(self) -> Sequence[str]:
        self.looks += 1
        if self.fails:
            self.fails -= 1
            raise OperatorError("cluster_unreachable", "no node answers")
        return list(self.all)

    async def epoch(self, room: str) -> int:
        return self.all[room].epoch


def bots(here: Stage, listed: Listed, rooms_max: int = 100) -> Rooms:
    return Rooms(
        listed,
        here.bots,
        SECRET,
        here.brain.decide,
        PlayerOptions(seed="s"),
        poll_s=1.0,
        rooms_max=rooms_max,
    )


@asynccontextmanager
async def running(rooms: Rooms) -> AsyncIterator[Rooms]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(rooms.run)
        yield rooms
        tasks.cancel_scope.cancel()


async def test_bots_play_until_the_room_is_done(autojump_clock: object) -> None:
    """The bot's seat is played, never the human's; at the end the room ends, too."""
    async with stage([tic_tac_toe]) as here:
        room, said = await opened_room(here.human, tic_tac_toe, ["0", "1"], 1)
        assert said.match is not None
        async with running(bots(here, Listed(room))) as rooms:
            match = here.human.join(said.match, said.epoch or 0)
            await until(lambda: rooms.statistics().taken == 1)
            await anyio.sleep(60.0)
            assert here.brain.asked == []  # the human's turn is the human's
            human = await here.sit(match, "0")
            for cell in (8, 7, 5, 3, 2):
                view = await seen(human, lambda view: view.my_turn or view.ended)
                if view.ended:
                    break
                await human.dispatch("place", {"cell": cell})
            async for view in room.watch().views():
                last = view
            assert last.ended
            assert {ask.seat for ask in here.brain.asked} == {"1"}
            await until(lambda: rooms.statistics().rooms == 0)
            assert rooms.statistics().seats == 0


async def test_a_process_that_is_started_anew_goes_on(autojump_clock: object) -> None:
    """It remembers nothing, and finds all that there is to do."""
    async with stage([tic_tac_toe]) as here:
        room, said = await opened_room(here.human, tic_tac_toe, ["0", "1"], 1)
        match = here.human.join(said.match or "", said.epoch or 0)
        human = await here.sit(match, "0")
        here.brain.hold()
        async with running(bots(here, Listed(room))):
            await human.dispatch("place", {"cell": 8})
            await here.brain.asked_again(1)
        here.brain.free.set()
        async with running(bots(here, Listed(room))) as rooms:
            view = await seen(human, lambda view: view.my_turn and view.revision == 2)
            assert view.view["board"].count("O") == 1
            assert rooms.statistics().taken == 1


async def test_rooms_without_bots_are_left_alone(autojump_clock: object) -> None:
    """They are looked at once."""
    async with stage([tic_tac_toe]) as here:
        room, said = await opened_room(here.human, tic_tac_toe, ["0", "1"], 2)
        listed = Listed(room)
        async with running(bots(here, listed)) as rooms:
            await until(lambda: listed.looks > 5)
            assert (rooms.statistics().rooms, rooms.statistics().taken) == (0, 0)
        assert said.phase == "active"


async def test_what_is_counted_is_told(autojump_clock: object) -> None:
    """As metrics, by the names that the page on bots lists."""
    async with stage([tic_tac_toe]) as here:
        rooms = bots(here, Listed())
        async with open_pool((), (), workers=3, limit_s=1.0) as pool:

            def parts() -> dict[str, object]:
                return {
                    "bots": rooms.statistics(),
                    "bot_pool": pool.statistics(),
                    "client": here.bots.statistics(),
                }

            assert parts().keys() == STATISTICS.keys()
            told = Metrics(parts, {"kind": "bots"}).text().decode()
        for metric in metric_names(STATISTICS):
            assert f"\n{metric.name} " in told


async def test_a_cluster_that_does_not_answer_is_asked_again(
    autojump_clock: object,
) -> None:
    """And no more rooms are served than may be."""
    async with stage([tic_tac_toe]) as here:
        opened = [
            await opened_room(here.human, tic_tac_toe, ["0", "1"], 1) for _ in range(3)
        ]
        listed = Listed(*(room for room, _ in opened))
        listed.fails = 3
        async with running(bots(here, listed, rooms_max=2)) as rooms:
            await until(lambda: listed.looks > 6)
            assert rooms.statistics().rooms == rooms.statistics().seats == 2


async def test_matches_that_were_left_make_way(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many people leave without a word, bots play where somebody waits; and
    who comes back finds the bot again, which has left no record meanwhile."""
    monkeypatch.setattr("hotseat.nodes.bots.rooms.IDLE_S", 3.0)
    monkeypatch.setattr("hotseat.nodes.bots.rooms.REST_S", 5.0)
    async with stage([tic_tac_toe]) as here:
        left = [
            await opened_room(here.human, tic_tac_toe, ["0", "1"], 1) for _ in range(2)
        ]
        listed = Listed(*(room for room, _ in left))
        async with running(bots(here, listed, rooms_max=2)) as rooms:
            await until(lambda: rooms.statistics().taken == 2)
            await anyio.sleep(6.0)
            room, said = await opened_room(here.human, tic_tac_toe, ["0", "1"], 1)
            listed.all[room.id] = room
            human = await here.sit(
                here.human.join(said.match or "", said.epoch or 0), "0"
            )
            await human.dispatch("place", {"cell": 8})
            view = await seen(human, lambda view: view.my_turn and view.revision == 2)
            assert view.view["board"].count("O") == 1
            await anyio.sleep(30.0)
            assert rooms.statistics().rooms in (1, 2)
            assert rooms.statistics().taken == 3
            for _, one in left:
                match = here.human.join(one.match or "", one.epoch or 0)
                human = await here.sit(match, "0")
                await human.dispatch("place", {"cell": 8})
                await seen(human, lambda view: view.my_turn and view.revision == 2)


async def test_a_room_hears_that_there_is_play(autojump_clock: object) -> None:
    """So it stays as long as the match goes on, and whoever is started anew for its
    bots finds it; where nothing happens nothing is said."""

    async def told() -> int:
        place = room.watch()
        view = await place.resync()
        place.close()
        assert isinstance(view, View)
        return view.revision

    async with stage([tic_tac_toe]) as here:
        room, said = await opened_room(
            here.human, tic_tac_toe, ["0", "1"], 1, kept_ms=60_000
        )
        match = here.human.join(said.match or "", said.epoch or 0)
        human = await here.sit(match, "0")
        async with running(bots(here, Listed(room))):
            for cell in (8, 2):
                before = await told()
                await human.dispatch("place", {"cell": cell})
                await seen(human, lambda view: view.my_turn)
                await anyio.sleep(30.0)
                assert await told() == before + 1
