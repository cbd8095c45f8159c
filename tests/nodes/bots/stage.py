"""A cluster of one node in memory, a human at it, and bots whose thoughts are ours."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from hotseat.engine.definition import Game
from hotseat.nodes.block_failure import BlockFailure
from hotseat.nodes.bots.decision import Answer, Ask
from hotseat.nodes.bots.player import BotCounts, BotPlayer, Given, PlayerOptions
from hotseat.nodes.client import Client, RemoteMatch, Seat, View
from hotseat.nodes.lobby.door import Door
from hotseat.nodes.lobby.room_game import DOOR, ROOM_GAME
from hotseat.nodes.lobby.room_game import game as room_game
from hotseat.nodes.lobby.room_setup import BotOffer, RoomSetup
from hotseat.nodes.lobby.room_view import RoomView, read_room
from hotseat.nodes.seat_secret import seat_secrets

from ..client.test_client_supervisor import OneNode, client_of, one_node

__all__ = ["Brain", "Stage", "first_legal", "opened_room", "seen", "stage", "until"]

SECRET = seat_secrets(b"s" * 32)
Thought = Callable[[Ask], Answer]


def first_legal(ask: Ask) -> Answer:
    """The first of the legal actions."""
    return Answer(*ask.legal[0])


class Brain:
    """Decides for bots; a thought may be held up."""

    def __init__(self, think: Thought = first_legal) -> None:
        self.think = think
        self.asked: list[Ask] = []
        self.free = anyio.Event()
        self.free.set()
        self._news = anyio.Event()

    def hold(self) -> None:
        """Answer nothing until `free` is set."""
        self.free = anyio.Event()

    async def asked_again(self, times: int) -> Ask:
        """Wait until it has been asked so many times; the last question."""
        while len(self.asked) < times:
            await self._news.wait()
        return self.asked[times - 1]

    async def decide(self, ask: Ask) -> Answer:
        self.asked.append(ask)
        self._news.set()
        self._news = anyio.Event()
        await self.free.wait()
        return self.think(ask)


class Stage:
    """What a test has at hand."""

    def __init__(
        self, node: OneNode, human: Client, bots: Client, tasks: TaskGroup
    ) -> None:
        self.node, self.human, self.bots = node, human, bots
        self.tasks = tasks
        self.brain = Brain()
        self.counts = BotCounts()

    async def create(self, game: Game, players: Sequence[str] = ("0", "1")) -> Any:
        match = await self.human.create(game.name, players=players)
        assert isinstance(match, RemoteMatch), match
        return match

    async def sit(self, match: RemoteMatch, seat: str) -> Seat:
        taken = await match.take(seat, secrets.token_hex(16))
        assert isinstance(taken, Seat), taken
        return taken

    def bot(
        self,
        match: RemoteMatch,
        seat: str,
        *,
        spare: bool = False,
        options: PlayerOptions | None = None,
        brain: Brain | None = None,
        counts: BotCounts | None = None,
    ) -> BotPlayer:
        """A bot that was given a seat."""
        return BotPlayer(
            self.bots.join(match.id, match.epoch),
            Given("b", seat, "g", "1", ("0", "1")),
            SECRET(match.id, seat),
            (brain or self.brain).decide,
            options or PlayerOptions(seed="s"),
            counts or self.counts,
            spare=spare,
        )


async def until(true: Callable[[], bool]) -> None:
    """Wait until something is so that tells nobody."""
    while not true():  # noqa: ASYNC110  # plain numbers
        await anyio.sleep(0.01)


async def seen(seat: Seat, wanted: Callable[[View], bool]) -> View:
    """The next view that is as wanted."""
    async for view in seat.views(legal=True):
        if wanted(view):
            return view
    raise AssertionError("the match has ended")


@asynccontextmanager
async def stage(games: Sequence[Game]) -> AsyncIterator[Stage]:
    failure = BlockFailure()
    async with AsyncExitStack() as stack:
        stack.enter_context(failure)
        node = await stack.enter_async_context(one_node([room_game, *games]))
        human = await stack.enter_async_context(client_of(node, "human"))
        bots = await stack.enter_async_context(client_of(node, "bots"))
        tasks = await stack.enter_async_context(anyio.create_task_group())
        with failure.kept():
            yield Stage(node, human, bots, tasks)
        tasks.cancel_scope.cancel()


async def opened_room(
    client: Client,
    game: Game,
    seats: Sequence[str],
    humans: int,
    *,
    bot: str = "random",
    secret: Callable[[str, str], str] = SECRET,
    kept_ms: int = 86_400_000,
) -> tuple[RemoteMatch, RoomView]:
    """A room whose match is there; the first seats are a human's, the others bots'."""
    setup = RoomSetup(
        game=game.name,
        version=game.version,
        seats=list(seats),
        minPlayers=len(seats),
        capacity=len(seats),
        bots=[BotOffer(bot, "Bot")],
        config=None,
        host="u0",
        hostName="Ann",
        reservationMs=60_000,
        idleMs=600_000,
        keptMs=kept_ms,
    )
    room = await client.create(
        ROOM_GAME, players=[DOOR], data=msgspec.to_builtins(setup)
    )
    assert isinstance(room, RemoteMatch), room
    door = Door(client, room, secret(room.id, DOOR))

    async def say(event: str, user: str, **more: Any) -> None:
        refusal = await door.play(
            event, {"op": secrets.token_hex(8), "user": user, **more}
        )
        assert refusal is None, refusal

    for index in range(len(seats)):
        if index < humans:
            await say("take_seat", f"u{index}", seat=index, name="Ann")
            await say("set_ready", f"u{index}", ready=True)
        else:
            await say("assign_bot", "u0", seat=index, bot=bot)
    await say("start", "u0")
    starting = await _look(room)
    await door.open_match(lambda: starting)
    return room, await _look(room)


async def _look(room: RemoteMatch) -> RoomView:
    view = await room.watch().resync()
    assert isinstance(view, View), view
    said = read_room(view)
    assert said is not None
    return said
