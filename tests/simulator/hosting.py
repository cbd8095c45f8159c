"""The product's matches behind the cores: states, actors, committer, all of it.

Put together as a node does, but for the supervisor's tasks: it is driven step by step.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from hotseat.engine.machine import Machine
from hotseat.engine.record import RecordKind
from hotseat.nodes.supervisor.supervisor import Supervisor
from hotseat.runtime.command import Answer, Intervention
from hotseat.runtime.fitness import Games
from hotseat.runtime.frame import Request
from hotseat.runtime.games import StaticGames, UnknownGame
from hotseat.runtime.hosting.options import HostingOptions
from hotseat.runtime.hosting.replica_host import ReplicaHost
from hotseat.runtime.hosting.replica_states import ReplicaStates
from hotseat.runtime.hosting.replicated_committer import ReplicatedCommitter
from hotseat.runtime.journal import MatchLine, StoreOp
from hotseat.runtime.options import MatchOptions, SupervisorOptions
from hotseat.runtime.record_codec import unpack_record
from hotseat.runtime.replication.message import Raw
from hotseat.runtime.replication.recovered import Recovered
from hotseat.runtime.route import Route

from . import history
from .game import GAME_NAME, GAME_NEXT_VERSION, GAME_VERSION, duel_game
from .interventions import key_of
from .process import Process, WallClock
from .settings import Settings
from .world import Hosting

__all__ = ["hosting_of"]

RECORD_BYTES = 1 << 20

IMPURE = 0.02
"""How often an impure game asks what it should not."""

HOSTING = HostingOptions(
    hot_max=3,
    passivate_idle_s=2,
    ended_kept_s=1,
    checkpoint_entries=40,
    checkpoint_age_s=1,
    transfer_bytes=2_000,
)
"""Small, so that states are saved, put away and woken all the time."""

SUPERVISOR = SupervisorOptions(
    match=MatchOptions(allow_edits=True), rest_after_s=1, put_away_after_s=2
)


def hosting_of(name: str) -> Hosting:
    """The product's own is `matches`."""
    return {"matches": MATCHES}[name]


class HostedByProduct:
    """One process's matches."""

    def __init__(self, process: Process) -> None:
        world = process.world
        draw = random.Random(f"host {world.settings.seed} {process.boot}")
        clock = WallClock(process)
        games = _games(*_games_of(world.settings, process.node))
        if world.settings.impure:
            games = _impure_games(draw)
        runner = process.runner

        def find_machine(name: str, version: str) -> Machine | None:
            try:
                return games.get(name, version)
            except UnknownGame:
                return None

        self.states = ReplicaStates(find_machine, process.disk.store, HOSTING)
        self.committer = ReplicatedCommitter(
            runner,
            self.states,
            process.now_ms,
            shards=world.settings.shards,
            pins=process.core.pins,
        )
        self.supervisor = Supervisor(
            games,
            process,
            SUPERVISOR,
            clock,
            draw.randbytes,
            shards=world.settings.shards,
            committer=self.committer,
            source=self.states,
            pins=process.core.pins,
        )
        self._host = ReplicaHost(
            self.states,
            self.committer,
            self.supervisor,
            clock,
            ask_state=runner.ask_state,
            alarm=process.alarm,
            now_ms=process.now_ms,
        )
        self._process = process
        self._swept_ms = 0
        self.demoted = self._host.demoted
        self.install = self._host.install
        self.judge = self._host.judge
        self.split = self._host.split
        self.pin_asked = self._host.pin_asked
        self.carry = self._host.carry
        self.fixed = self._host.fixed
        self.come = self._host.come
        self.gone = self._host.gone
        self.take_leaving = self._host.take_leaving
        self.committed = self._host.committed
        self.serving = self._host.serving
        self.confirmed = self._host.confirmed
        self.feed = self._host.feed
        self.state = self._host.state
        self.copied = self._host.copied

    def recover(self, recovered: Recovered) -> None:
        self.states.recover(recovered)

    def handle_batch(self, requests: Sequence[tuple[Route, Request]]) -> None:
        self.supervisor.handle_batch(requests)

    def intervene(
        self, match: str, asked: Intervention, tell: Callable[[Answer], None]
    ) -> None:
        self.supervisor.ask(match, asked, tell)

    def peer_gone(self, peer: str) -> None:
        self.supervisor.peer_gone(peer)

    def tick(self, now_ms: int) -> None:
        self.supervisor.tick(now_ms)

    def next_due_ms(self) -> int | None:
        return self.supervisor.next_due_ms()

    def settled(self) -> None:
        self.supervisor.work()

    def checkpoint(
        self, now_ms: int, *, everything: bool = False
    ) -> tuple[StoreOp, ...]:
        if not everything:
            self.states.sweep(now_ms)
        return self.states.checkpoint(now_ms, 64 * 1024, everything=everything)

    def written(self, ops: Sequence[StoreOp]) -> None:
        self.states.written(ops)

    def failed(self, ops: Sequence[StoreOp]) -> None:
        self.states.failed(ops)

    def lines(self, shard: int) -> Sequence[MatchLine]:
        return list(self.states.lines(shard, ended=True))

    def games(self) -> Mapping[int, Games]:
        return self.states.games()

    def account(self, match: str) -> list[bytes]:
        records: list[bytes] = []
        while page := self.states.records(match, len(records), RECORD_BYTES):
            records += [record.digest for record in page]
        return records


@cache
def _games(*names: tuple[str, str]) -> StaticGames:
    return StaticGames([duel_game(version) for _, version in names])


def _impure_games(draw: random.Random) -> StaticGames:
    """The game asks now and then what another replica would be told otherwise."""
    return StaticGames([duel_game(impure=lambda: draw.random() < IMPURE)])


def _games_of(settings: Settings, node: str) -> tuple[tuple[str, str], ...]:
    if settings.missing_version and node == "n3":
        return (("sim-duel", "0"),)
    if settings.interventions_ms:
        return ((GAME_NAME, GAME_VERSION), (GAME_NAME, GAME_NEXT_VERSION))
    return (("sim-duel", "1"),)


def _read(raw: Raw) -> history.Committed:
    record = unpack_record(bytes(raw))
    given = record.input
    key = None
    op = given.get("operator", given).get("op")
    if op is not None:
        key = key_of(op)
    elif record.kind is RecordKind.ACTION:
        key = (given["seat"], given["session"], given["action"])
    return history.Committed(
        record.kind.value,
        record.revision_after,
        int(record.time_ms),
        key,
        record.prev_digest,
        record.digest,
    )


MATCHES = Hosting("matches", HostedByProduct, _read, _games_of)
