"""One chaos run: players at their tables, faults in their order, then the account.

After each fault it waits until every shard has all its copies again, and every match
that was hit has been heard; so faults do not add up, unless the plan says so.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
from anyio.abc import TaskGroup

from ...engine.machine import compile_game
from ...runtime.match_id import shard_of
from ..client import ClientOptions, connect
from ..client.outcome import Refusal
from ..client.shell import Client
from ..load.latency import Latencies
from ..node.collector import Collector, bounded_pauses
from ..operator_error import OperatorError
from .account import MatchAccount, Verdict
from .cluster import ChaosCluster, Health, chaos_cluster
from .migration import Migration, drain, gather_at, move_matches
from .netns import NetworkNamespaces
from .plan import ChaosPlan, Fault, FaultKind
from .silence import Silence, Silences
from .table import Table
from .verify import Played, verify

__all__ = ["ChaosRun", "Strike", "run_chaos"]

PATIENT = ClientOptions(timeout_s=30.0, requests_max=16_384, watches_max=65_536)
"""A player asks until it is answered: how long that took is what is measured."""

CREATIONS_PER_S = 400.0
BEGIN_S = 60.0

MATCHES_MOVED = 20
"""Each by itself, before all shards are moved."""

EVEN_S = 10.0
"""Before a fault: for shards to be spread evenly again, if that is not turned off."""

WALKED_MIN = 20_000_000
"""Of the collector here: the players must not stand still themselves."""


@dataclass(slots=True)
class Strike:
    """A fault that has happened: when, to whom, and what became of it.

    failovers: Shards that another node owns since. healed_s: Until all copies were in
    sync again and every match had been heard; None while that is waited for.
    """

    number: int
    kind: FaultKind
    nodes: tuple[str, ...]
    at_s: float
    matches: int
    failovers: int = 0
    healed_s: float | None = None


@dataclass(slots=True)
class ChaosRun:
    """What is going on, for who watches; what was found, for who reports.

    It is the tables' `Scorer`.
    """

    plan: ChaosPlan
    cluster: ChaosCluster
    phase: str = "starting"
    playing: dict[str, Table] = field(default_factory=dict)
    played: list[Played] = field(default_factory=list)
    acked: int = 0
    ended: int = 0
    gone: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    latencies: Latencies = field(default_factory=Latencies)
    migrating: bool = False
    migrating_latencies: Latencies = field(default_factory=Latencies)
    """Of the actions that were acknowledged while shards were moved."""
    migrations: list[Migration] = field(default_factory=list)
    silences: Silences = field(default_factory=Silences)
    strikes: list[Strike] = field(default_factory=list)
    verdict: Verdict = field(default_factory=Verdict)
    judged: int = 0
    played_s: float = 0.0
    health: Health | None = None
    collector: Collector = field(default_factory=Collector)
    """Of this process: players do not stand still when a fault strikes."""
    _tables: list[Table] = field(default_factory=list)
    _told: anyio.Event = field(default_factory=anyio.Event)

    # What the tables tell.

    def began(self, table: Table, account: MatchAccount) -> None:
        assert table.match is not None
        self.playing[table.match.id] = table
        self._told.set()
        self.played.append(Played(table.match, account))

    def acknowledged(self, table: Table, at_s: float, latency_s: float) -> None:
        assert table.match is not None
        self.acked += 1
        self.latencies.add(latency_s)
        if self.migrating:
            self.migrating_latencies.add(latency_s)
        self.silences.acknowledged(table.match.id, at_s)
        self._told.set()

    def refused(self, refusal: Refusal) -> None:
        self.refusals[refusal.code] += 1

    def ended_at(self, table: Table, gone: str = "") -> None:
        assert table.match is not None
        self.playing.pop(table.match.id, None)
        self.silences.dropped(table.match.id)
        self._told.set()
        if gone:
            self.gone[gone] += 1
            self.verdict.strange += 1
            match = table.match.id
            self.verdict.fault(f"match {match} could not be played on: {gone}")
        else:
            self.ended += 1

    # The run.

    @property
    def failovers(self) -> int:
        return sum(strike.failovers for strike in self.strikes)

    def silence(self, *kinds: FaultKind) -> Silence:
        """Of all matches that faults of these kinds (none: of any) hit."""
        chosen = (
            strike.number
            for strike in self.strikes
            if not kinds or strike.kind in kinds
        )
        return self.silences.of(chosen)

    async def run(self, clients: Sequence[Client]) -> None:
        """Play, strike, verify.

        Raises:
            OperatorError: not_healed, not_begun.
        """
        await self.cluster.until_full(self.plan.heal_s)
        failure: OperatorError | None = None
        async with anyio.create_task_group() as playing:
            try:
                await self._seat_all(playing, clients)
                await self._play()
            except OperatorError as error:
                failure = error  # raised below, outside the group that would wrap it
                playing.cancel_scope.cancel()
        if failure is not None:
            raise failure
        await self.cluster.until_folded(self.plan.heal_s)
        self.phase = "verifying"
        self.health = await self.cluster.until_full(self.plan.heal_s)
        await verify(
            self.cluster,
            self.health,
            self.played,
            compile_game(self.plan.game),
            self.verdict,
            judged=self._count_judged,
        )
        self.phase = "done"

    async def _play(self) -> None:
        began_s = time.monotonic()
        self.phase = "playing"
        await self._strike_all()
        left_s = self.plan.seconds - (time.monotonic() - began_s)
        await anyio.sleep(max(0.0, left_s))
        self.played_s = time.monotonic() - began_s
        self.phase = "finishing"
        for table in self._tables:
            table.close()

    async def _seat_all(self, playing: TaskGroup, clients: Sequence[Client]) -> None:
        """Begin every table, at a bounded rate; return when all play."""
        self.phase = "seating"
        for number in range(self.plan.matches):
            client = clients[number % len(clients)]
            table = Table(number, self.plan, client, self)
            self._tables.append(table)
            playing.start_soon(table.play)
            await anyio.sleep(1 / CREATIONS_PER_S)
        if not await self._until(self._all_play, BEGIN_S):
            raise OperatorError(
                "not_begun",
                f"{len(self.playing)} of {self.plan.matches} matches were played after "
                f"{BEGIN_S:g} s: {dict(self.refusals)}",
            )

    async def _strike_all(self) -> None:
        draw = random.Random(f"{self.plan.seed}/victims")
        await anyio.sleep(self.plan.rest_s)
        for fault in self.plan.faults:
            if self.plan.even:
                await self.cluster.until_even(EVEN_S)
            before = await self.cluster.until_full(self.plan.heal_s)
            strike = await self._strike(fault, before, draw)
            self.phase = f"healing from {fault.kind.value}"
            after = await self._until_healed(strike)
            strike.failovers = sum(
                after.owners[shard] != owner for shard, owner in before.owners.items()
            )
            self.phase = "playing"
            await anyio.sleep(self.plan.rest_s)

    async def _strike(
        self, fault: Fault, health: Health, draw: random.Random
    ) -> Strike:
        owners = sorted(set(health.owners.values()))
        victim = draw.choice(owners)
        processes, links = self.cluster.processes, self.cluster.links
        if fault.kind is FaultKind.RESTART_ALL:
            strike = self._note(fault, owners, health, processes.kill(owners))
        elif fault.kind is FaultKind.KILL:
            strike = self._note(fault, [victim], health, processes.kill([victim]))
        elif fault.kind is FaultKind.MIGRATE:
            strike = await self._migrate(fault, victim, health)
        elif fault.kind is FaultKind.FREEZE:
            strike = self._note(fault, [victim], health, processes.freeze(victim))
            try:
                await anyio.sleep(fault.lasts_s)
            finally:
                processes.thaw(victim)
        else:
            assert links is not None, "plan.cluster.network says how links are cut"
            others = [node for node in self.cluster.nodes if node != victim]
            at_s = time.monotonic()
            if fault.kind is FaultKind.ISOLATE:
                links.isolate(victim)
            elif fault.kind is FaultKind.CUT_TO:
                links.cut(victim, draw.choice(others), one_way=True)
            else:
                assert isinstance(links, NetworkNamespaces)
                links.vanish(victim)
                processes.kill([victim])
            strike = self._note(fault, [victim], health, at_s)
            await anyio.sleep(fault.lasts_s)
            links.heal()
        return strike

    async def _migrate(self, fault: Fault, node: str, health: Health) -> Strike:
        """Nobody acts otherwise than planned: what is asked for is what players notice
        who know of nothing."""
        home = self.cluster.home
        self.phase, self.migrating = f"moving all shards to {node}", True
        chosen = list(self.playing)[:MATCHES_MOVED]
        matches = await move_matches(home, node, chosen)
        moves = await gather_at(home, node, health.owners)
        gathered = replace(health, owners=dict.fromkeys(health.owners, node))
        strike = self._note(fault, [node], gathered, time.monotonic(), hurry=False)
        self.migrations.append(await drain(home, node, moves, matches))
        self.migrating = False
        return strike

    def _note(
        self,
        fault: Fault,
        nodes: Sequence[str],
        health: Health,
        at_s: float,
        *,
        hurry: bool = True,
    ) -> Strike:
        """It has struck: whoever is to move in a match of these nodes asks now, in a
        `hurry`."""
        shards = self.cluster.home.shards
        hit = {
            match: table
            for match, table in self.playing.items()
            if health.owners.get(shard_of(match, shards)) in nodes
        }
        self.collector.hold(time.monotonic())
        number = self.silences.struck(hit, at_s)
        if hurry:
            for table in hit.values():
                table.hurry()
        strike = Strike(number, fault.kind, tuple(nodes), at_s, len(hit))
        self.strikes.append(strike)
        self.phase = f"{fault.kind.value} {', '.join(nodes)}"
        return strike

    async def _until_healed(self, strike: Strike) -> Health:
        if not await self._until(self._all_heard, self.plan.heal_s):
            raise OperatorError(
                "not_healed",
                f"{self.silences.waiting} matches are silent {self.plan.heal_s:g} s "
                f"after {strike.kind.value} of {', '.join(strike.nodes)}",
            )
        self.collector.go_on()
        health = await self.cluster.until_full(self.plan.heal_s)
        strike.healed_s = time.monotonic() - strike.at_s
        return health

    def _all_play(self) -> bool:
        return len(self.playing) >= self.plan.matches

    def _all_heard(self) -> bool:
        return not self.silences.waiting

    async def _until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait until something that a table tells makes it true."""
        with anyio.move_on_after(timeout_s):
            while not condition():
                self._told = anyio.Event()
                await self._told.wait()
        return condition()

    def _count_judged(self) -> None:
        self.judged += 1


async def run_chaos(
    plan: ChaosPlan,
    *,
    say: Callable[[str], None] = lambda line: None,
    watch: Callable[[ChaosRun], None] = lambda run: None,
    keep: Path | None = None,
) -> ChaosRun:
    """Start a cluster, run the plan on it, end it; `watch` is given the run first.
    If that fails, the nodes' logs are kept in `keep`.

    Raises:
        OperatorError: The cluster could not be started, or did not heal.
    """
    async with chaos_cluster(plan.cluster, say=say, keep=keep) as cluster:
        run = ChaosRun(plan, cluster)
        watch(run)
        async with AsyncExitStack() as stack:
            run.collector = stack.enter_context(bounded_pauses(WALKED_MIN))
            clients = [
                await stack.enter_async_context(
                    connect(cluster.home, options=PATIENT, inbox=cluster.inbox)
                )
                for _ in range(plan.clients)
            ]
            await run.run(clients)
        return run
