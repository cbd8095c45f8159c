"""A node in a few lines, on memory links: the real match machine, no actors.

It answers what it owns, says `moved` for what it does not, and can be told to lose
or hold back answers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio.abc import TaskStatus

from hotseat.engine.definition import Game
from hotseat.engine.machine import compile_game
from hotseat.engine.record import Record, record_to_json
from hotseat.nodes.client.match import RemoteMatch, Seat
from hotseat.nodes.client.options import ClientOptions
from hotseat.nodes.client.shell import Client, open_client
from hotseat.nodes.client.view import View
from hotseat.runtime import command
from hotseat.runtime.codec import pack, unpack
from hotseat.runtime.errors import LinkError
from hotseat.runtime.frame import (
    Accepted,
    Created,
    CreateMatch,
    Dispatch,
    FetchLog,
    FetchTable,
    LogPage,
    Moved,
    NodeEntry,
    Refused,
    Request,
    Response,
    Seated,
    ShardEntry,
    Sync,
    TableSnapshot,
    TakeSeat,
    Unwatch,
    ViewUpdate,
)
from hotseat.runtime.hello import Credential
from hotseat.runtime.link import Arrival, Identity, PeerAddress, PeerUp
from hotseat.runtime.link_options import LinkOptions
from hotseat.runtime.match import create_match, decide
from hotseat.runtime.match_id import match_id, shard_of
from hotseat.runtime.match_state import MatchState
from hotseat.runtime.refusal import RUNTIME_REFUSALS
from hotseat.runtime.testing.memory_link import MemoryEndpoint, MemoryNetwork

SECRET = Credential(b"s" * 32)
LINKS = LinkOptions(heartbeat_s=0.5, silence_s=3.0)
LOG_PAGE = 4  # records: several pages even for a short match


@dataclass
class Cluster:
    """What all small nodes of a test share: who owns what, and the matches."""

    games: Sequence[Game]
    shards: int = 4
    revision: int = 1
    owners: dict[int, str] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    nodes: dict[str, PeerAddress] = field(default_factory=dict)
    network: MemoryNetwork = field(default_factory=MemoryNetwork)

    def table(self, request: int) -> TableSnapshot:
        return TableSnapshot(
            request,
            self.revision,
            tuple(
                ShardEntry(s, self.owners.get(s, ""), self.epochs.get(s, 0))
                for s in range(self.shards)
            ),
            tuple(
                NodeEntry(a.process, a.inbox, a.incarnation)
                for a in self.nodes.values()
            ),
        )

    def give(self, shard: int, owner: str) -> None:
        self.owners[shard] = owner
        self.epochs[shard] = self.epochs.get(shard, 0) + 1
        self.revision += 1

    async def locate(self) -> Sequence[PeerAddress]:
        return list(self.nodes.values())

    @asynccontextmanager
    async def node(self, name: str, incarnation: str = "1") -> AsyncIterator[SmallNode]:
        """Run a node of that name; it claims the shards that nobody owns."""
        identity = Identity("test", name, "node", incarnation)
        endpoint = MemoryEndpoint(self.network, identity, SECRET, LINKS)
        async with endpoint, anyio.create_task_group() as tasks:
            self.nodes[name] = endpoint.address
            node = SmallNode(self, name, endpoint)
            tasks.start_soon(node.serve)
            yield node
            tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def client(
        self, options: ClientOptions | None = None, name: str = "client-1"
    ) -> AsyncIterator[Client]:
        identity = Identity("test", name, "client", "c1")
        endpoint = MemoryEndpoint(self.network, identity, SECRET, LINKS)
        async with open_client(self.locate, endpoint, options) as client:
            yield client

    @asynccontextmanager
    async def client_and_restart(
        self,
    ) -> AsyncIterator[tuple[Client, RemoteMatch, Seat, tuple[str, Any], SmallNode]]:
        """A client that sits in a match whose node has been started anew."""
        options = ClientOptions(timeout_s=20.0, attempt_s=0.5, watch_idle_s=1.0)
        async with anyio.create_task_group() as tasks:
            _, first_life = await tasks.start(self._live, "1")
            async with self.client(options) as client:
                game = self.games[0].name
                match = await client.create(game, players=["0", "1"])
                assert isinstance(match, RemoteMatch)
                seat = await match.take("0")
                assert isinstance(seat, Seat)
                view = await seat.resync(legal=True)
                assert isinstance(view, View)
                assert view.legal
                first_life.cancel()
                await anyio.sleep(0.1)  # of the jumping clock: until it is gone
                node, second_life = await tasks.start(self._live, "2")
                yield client, match, seat, view.legal[0], node
                second_life.cancel()

    async def _live(
        self,
        incarnation: str,
        *,
        task_status: TaskStatus[tuple[SmallNode, anyio.CancelScope]],
    ) -> None:
        with anyio.CancelScope() as life:
            async with self.node("n1", incarnation) as node:
                task_status.started((node, life))
                await anyio.sleep_forever()


@dataclass
class Hosted:
    """One match and its log, as this node holds it."""

    state: MatchState
    epoch: int
    key: tuple[str, str, Any]
    records: list[Record]
    watchers: dict[tuple[str, str], bool] = field(default_factory=dict)


class SmallNode:
    """See the module. `lose` and `seen` are for the test to use."""

    def __init__(self, cluster: Cluster, name: str, endpoint: MemoryEndpoint) -> None:
        self.cluster = cluster
        self.name = name
        self.endpoint = endpoint
        self.matches: dict[str, Hosted] = {}
        self.seen: list[Request] = []
        self.lose: Callable[[Response], bool] = lambda answer: False
        self.answer_instead: Callable[[Request], Response | None] = lambda frame: None
        self.now_ms = 1_000
        for shard in range(cluster.shards):
            if cluster.owners.get(shard) in (None, "", name):
                cluster.give(shard, name)
        self._principals: dict[str, str] = {}

    async def serve(self) -> None:
        while True:
            for event in await self.endpoint.receive():
                if isinstance(event, PeerUp):
                    self._principals[event.peer.process] = event.peer.principal
                elif isinstance(event, Arrival) and isinstance(event.frame, Request):
                    self.seen.append(event.frame)
                    self._handle(event.process, event.frame)

    def count(self, kind: type[Request]) -> int:
        """Requests of a kind that have arrived here."""
        return sum(1 for frame in self.seen if isinstance(frame, kind))

    def hand_over(self, other: SmallNode, match: str) -> None:
        """Give the shard of a match to another node, with the match."""
        hosted = self.matches.pop(match)
        hosted.watchers.clear()
        other.matches[match] = hosted
        self.cluster.give(shard_of(match, self.cluster.shards), other.name)

    def _handle(self, peer: str, frame: Request) -> None:
        instead = self.answer_instead(frame)
        if instead is not None:
            self._send(peer, instead)
        elif isinstance(frame, FetchTable):
            self._send(peer, self.cluster.table(frame.request))
        else:
            name = (
                match_id(self._principals[peer], frame.key)
                if isinstance(frame, CreateMatch)
                else frame.match
            )
            shard = shard_of(name, self.cluster.shards)
            owner = self.cluster.owners[shard]
            if owner != self.name:
                epoch = self.cluster.epochs[shard]
                self._send(peer, Moved(frame.request, shard, epoch, owner))
            else:
                self._serve(peer, name, frame)

    def _serve(self, peer: str, name: str, frame: Request) -> None:
        if isinstance(frame, CreateMatch):
            self._create(peer, name, frame)
            return
        assert not isinstance(frame, FetchTable)
        hosted = self.matches.get(name)
        if hosted is None or hosted.epoch != frame.epoch:
            current = self.cluster.epochs[shard_of(name, self.cluster.shards)]
            lost = frame.epoch < current
            self._refuse(peer, frame, "match_lost" if lost else "unknown_match")
        elif isinstance(frame, TakeSeat):
            take = command.TakeSeat(frame.seat, "d" * 32, frame.resume, frame.fresh)
            self._decide(peer, hosted, frame, take)
        elif isinstance(frame, Dispatch):
            act = command.Act(
                frame.seat,
                frame.session,
                frame.action,
                frame.event,
                unpack(frame.payload),
                frame.base_revision,
            )
            self._decide(peer, hosted, frame, act)
        elif isinstance(frame, Sync):
            hosted.watchers[peer, frame.seat] = frame.legal
            self._view(peer, hosted, frame.seat, frame.request)
        elif isinstance(frame, Unwatch):
            hosted.watchers.pop((peer, frame.seat), None)
        elif isinstance(frame, FetchLog):
            self._log(peer, hosted, frame)
        else:
            self._refuse(peer, frame, "undo_not_allowed")

    def _create(self, peer: str, name: str, frame: CreateMatch) -> None:
        epoch = self.cluster.epochs[shard_of(name, self.cluster.shards)]
        match = unpack(frame.match)
        if name not in self.matches:
            game = next((g for g in self.cluster.games if g.name == frame.game), None)
            if game is None:
                self._refuse(peer, frame, "unknown_game")
                return
            change = create_match(
                compile_game(game),
                match=name,
                epoch=epoch,
                creation="c",
                match_input=match,
                seed="seed",
                now_ms=self.now_ms,
            )
            key = (frame.game, frame.version, match)
            self.matches[name] = Hosted(change.state, epoch, key, [change.record])
        hosted = self.matches[name]
        if hosted.key != (frame.game, frame.version, match):
            self._refuse(peer, frame, "key_reused")
            return
        seats = tuple(hosted.state.seats)
        game = hosted.state.machine.game
        created = Created(frame.request, name, epoch, game.name, game.version, seats)
        self._send(peer, created)

    def _decide(
        self, peer: str, hosted: Hosted, frame: Request, asked: command.Command
    ) -> None:
        assert isinstance(frame, TakeSeat | Dispatch)
        self.now_ms += 1
        decision = decide(hosted.state, asked, self.now_ms)
        hosted.state = decision.state
        answer = decision.answer
        change = decision.change
        if change is not None:
            hosted.records.append(change.record)
        if change is not None and change.batch is not None:
            for watcher, seat in tuple(hosted.watchers):
                self._view(watcher, hosted, seat, 0)
        if isinstance(answer, command.SeatHeld):
            self._send(
                peer,
                Seated(
                    frame.request,
                    frame.match,
                    answer.seat,
                    answer.session,
                    answer.token,
                    answer.next_action,
                ),
            )
        elif isinstance(answer, command.Applied):
            self._send(
                peer,
                Accepted(frame.request, frame.match, answer.revision, answer.index),
            )
        else:
            assert isinstance(answer, command.Denied)
            no = answer.refusal
            self._send(
                peer,
                Refused(
                    frame.request,
                    no.code,
                    no.message,
                    no.reason,
                    pack(no.details),
                    answer.revision,
                ),
            )

    def _view(self, peer: str, hosted: Hosted, seat: str, request: int) -> None:
        state = hosted.state
        machine, snapshot = state.machine, state.snapshot
        legal = None
        if hosted.watchers.get((peer, seat)) and seat:
            legal = [list(pair) for pair in machine.legal_actions(snapshot, seat)]
        active = () if state.ended else snapshot.derived.active_players
        update = ViewUpdate(
            request,
            state.match,
            hosted.epoch,
            seat,
            state.revision,
            snapshot.position.turn,
            snapshot.position.name,
            tuple(active),
            None,
            state.ended,
            pack(
                machine.player_view(snapshot, seat)
                if seat
                else machine.public_view(snapshot)
            ),
            pack(snapshot.meta.result),
            pack(legal),
        )
        self._send(peer, update)

    def _log(self, peer: str, hosted: Hosted, frame: FetchLog) -> None:
        if not hosted.state.ended:
            self._refuse(peer, frame, "match_running")
            return
        page = hosted.records[frame.first : frame.first + LOG_PAGE]
        end = frame.first + len(page)
        more = end if end < len(hosted.records) else None
        records = pack([record_to_json(record) for record in page])
        self._send(
            peer, LogPage(frame.request, frame.match, frame.first, records, more)
        )

    def _refuse(self, peer: str, frame: Request, code: str) -> None:
        self._send(peer, Refused(frame.request, code, RUNTIME_REFUSALS[code]))

    def _send(self, peer: str, answer: Response) -> None:
        if self.lose(answer):
            return
        with suppress(LinkError):  # the client has gone, or asks again
            self.endpoint.send(peer, answer)
