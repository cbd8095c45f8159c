"""A supervisor as a node drives it, for tests: requests in, kept answers out."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec

from hotseat.engine.definition import Game
from hotseat.engine.record import Record, record_from_json
from hotseat.nodes.supervisor.supervisor import Supervisor
from hotseat.runtime.budget import NO_GUARD, Guard
from hotseat.runtime.clock import Clock
from hotseat.runtime.codec import pack, unpack
from hotseat.runtime.committer import Committer
from hotseat.runtime.frame import (
    Created,
    CreateMatch,
    FetchLog,
    LogPage,
    Refused,
    Request,
    Response,
    Sync,
    TakeSeat,
)
from hotseat.runtime.games import StaticGames
from hotseat.runtime.match_source import MatchSource
from hotseat.runtime.options import SupervisorOptions
from hotseat.runtime.route import Route

from .hosting import ALICE, BOB, TOKEN_A, TOKEN_B, HeldClock, KeptOutlet, dispatch
from .sample_games import PLAYERS

SHARDS = 4
EPOCH = 1


class NodeStage:
    """One node's supervisor, its outlet, and short words for what clients send."""

    def __init__(self, supervisor: Supervisor, outlet: KeptOutlet) -> None:
        self.supervisor = supervisor
        self.outlet = outlet
        self._requests = itertools.count(1)

    async def tell(self, *requests: tuple[Route, Request]) -> list[Response]:
        """Hand over one drain, let the actors work, return what went out."""
        self.supervisor.handle_batch(requests)
        await anyio.wait_all_tasks_blocked()
        return [frame for _, frame in self.outlet.take()]

    async def ask(self, route: Route, request: Request) -> Response:
        """Send one request; return its one answer."""
        number = next(self._requests)
        numbered = msgspec.structs.replace(request, request=number)
        answers = [
            frame for frame in await self.tell((route, numbered)) if frame.request
        ]
        assert [frame.request for frame in answers] == [number], answers
        return answers[0]

    async def refused(self, route: Route, request: Request) -> str:
        """Send one request that must be refused; return the code."""
        answer = await self.ask(route, request)
        assert isinstance(answer, Refused), answer
        return answer.code

    async def create(
        self, game: str, key: str = "key", match: Any = PLAYERS, **more: Any
    ) -> Response:
        return await self.ask(ALICE, create_frame(game, key, match, **more))

    async def seated(self, game: str, key: str = "key") -> str:
        """A match with Alice at seat 0 and Bob at seat 1; its id."""
        created = await self.create(game, key)
        assert isinstance(created, Created), created
        for route, seat, token in ((ALICE, "0", TOKEN_A), (BOB, "1", TOKEN_B)):
            take = TakeSeat(0, created.match, created.epoch, seat, token)
            await self.ask(route, take)
        return created.match

    async def act(
        self,
        match: str,
        seat: str,
        action: int,
        event: str,
        payload: Any = None,
        **more: Any,
    ) -> Response:
        route = ALICE if seat == "0" else BOB
        return await self.ask(
            route, dispatch(0, match, seat, action, event, payload, **more)
        )

    async def sync(self, route: Route, match: str, seat: str = "") -> Response:
        return await self.ask(route, Sync(0, match, EPOCH, seat, 1))

    async def log(self, match: str) -> list[Record]:
        """The whole log of a match that has ended."""
        records: list[Record] = []
        first: int | None = 0
        while first is not None:
            page = await self.ask(ALICE, FetchLog(0, match, EPOCH, first))
            assert isinstance(page, LogPage), page
            records += [record_from_json(r) for r in unpack(page.records)]
            first = page.next
        return records


@asynccontextmanager
async def node_stage(
    *games: Game,
    options: SupervisorOptions | None = None,
    clock: Clock | None = None,
    committer: Committer | None = None,
    shards: Iterable[int] = range(SHARDS),
    guard: Guard = NO_GUARD,
    source: MatchSource | None = None,
) -> AsyncIterator[NodeStage]:
    """A node that owns these shards in epoch 1."""
    outlet = KeptOutlet()
    numbers = itertools.count()
    supervisor = Supervisor(
        StaticGames(games),
        outlet,
        options,
        clock or HeldClock(),
        lambda size: next(numbers).to_bytes(size, "big"),
        shards=SHARDS,
        committer=committer,
        guard=guard,
        source=source,
    )
    async with supervisor:
        for shard in shards:
            supervisor.adopt(shard, EPOCH)
        yield NodeStage(supervisor, outlet)


def create_frame(
    game: str, key: str = "key", match: Any = PLAYERS, version: str = ""
) -> CreateMatch:
    """A request to create a match."""
    return CreateMatch(0, key, game, version, pack(match))
