"""A node's matches and their copies, joined: states, actors, replicas, journal.

Nothing is decided here. What is committed lies in the states; the supervisor's actors
play what this node serves; the committer takes what they cause to the replication core;
the replicator carries out what the core asks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from ...engine.machine import Machine
from ...runtime.budget import Guard
from ...runtime.clock import Clock, SystemClock
from ...runtime.control_plane import ClusterRecord, Keys
from ...runtime.coordinator import Coordinator
from ...runtime.games import GameRegistry, UnknownGame
from ...runtime.hosting.options import HostingOptions
from ...runtime.hosting.replica_host import ReplicaHost
from ...runtime.hosting.replica_states import ReplicaStates
from ...runtime.hosting.replicated_committer import ReplicatedCommitter
from ...runtime.hosting.result_options import ResultOptions
from ...runtime.journal import Journal, MatchLine
from ...runtime.link import Endpoint
from ...runtime.options import SupervisorOptions
from ...runtime.pin_table import PinTable
from ...runtime.placement import initial_layout
from ...runtime.replica_runner import ReplicaRunner
from ...runtime.replication.node import NodeReplicas
from ...runtime.replication.options import ReplicationOptions
from ...runtime.replication.recovered import Recovered
from ...runtime.route import Outlet
from ...runtime.traces import Traces
from ..supervisor.supervisor import Supervisor
from .replicator import Replicator
from .result_reporter import ResultReporter, TakenAndTold, sinks_of

__all__ = ["Hosting", "HostingParts"]


@dataclass(frozen=True, slots=True)
class HostingParts:
    """What a node's hosting stands on."""

    endpoint: Endpoint
    coordinator: Coordinator
    journal: Journal
    recovered: Recovered
    games: GameRegistry
    outlet: Outlet
    guard: Guard
    supervisor: SupervisorOptions
    replication: ReplicationOptions
    hosting: HostingOptions
    results: ResultOptions = field(default_factory=ResultOptions)
    alive_ms: int = 0
    """When an earlier process of this node lived last; 0: unknown."""
    clock: Clock = field(default_factory=SystemClock)
    traces: Traces | None = None
    """What is remembered of the newest actions; the outlet notes answers in it."""


class Hosting:
    """`supervisor` is to be entered, `replicator.run` to be run, by the caller.

    `adopted(shard, epoch)` and `released(shard)` tell what is served; the supervisor
    knows already, or will next.
    """

    def __init__(
        self,
        parts: HostingParts,
        cluster: ClusterRecord,
        *,
        adopted: Callable[[int, int], None],
        released: Callable[[int], None],
        pins: PinTable | None = None,
        node_gone: Callable[[str], None],
    ) -> None:
        """`cluster` is the record as it should be; `begin` brings the one that is."""
        self._parts = parts
        self.traces = parts.traces
        self._pins = PinTable(cluster.shards) if pins is None else pins
        self._adopted = adopted
        self._released = released
        self._recovered = parts.recovered
        self.states = ReplicaStates(
            self._find_machine,
            parts.journal,
            parts.hosting,
            keep_unreported=parts.results.wanted,
        )
        unreadable = self.states.recover(self._recovered)
        if unreadable:
            self._recovered = _without(self._recovered, unreadable)
        self.replicator = Replicator(
            parts.coordinator,
            parts.endpoint,
            parts.journal,
            self.states,
            self._build,
            parts.clock,
            node_gone,
        )
        self.reporter = ResultReporter(
            parts.results,
            sinks_of(parts.results),
            self.states,
            self._note_delivered,
            parts.clock,
        )
        self.committer = ReplicatedCommitter(
            self.replicator,
            TakenAndTold(self.states, self.reporter),
            self.replicator.now_ms,
            shards=cluster.shards,
            pins=self._pins,
        )
        self.supervisor = Supervisor(
            parts.games,
            parts.outlet,
            parts.supervisor,
            parts.clock,
            shards=cluster.shards,
            committer=self.committer,
            guard=parts.guard,
            source=self.states,
            pins=self._pins,
            traces=parts.traces,
        )

    # The host's `Matches`: the supervisor, and whoever routes.

    def adopt(
        self, shard: int, epoch: int, outage_ms: int = 0, ahead_ms: int = 0
    ) -> None:
        """Serve the shard."""
        self._adopted(shard, epoch)
        self.supervisor.adopt(shard, epoch, outage_ms, ahead_ms)
        self.reporter.adopt(shard)

    def release(self, shard: int) -> None:
        """Serve the shard no longer."""
        self._released(shard)
        self.reporter.release(shard)
        self.supervisor.release(shard)

    def work(self) -> None:
        """Let those actors work that were woken."""
        self.supervisor.work()

    def detach(self, match: str, *, again: bool = False) -> None:
        """Log that the match leaves its home, and hold it from then on."""
        self.supervisor.detach(match, again=again)

    def attach(self, match: str) -> None:
        """Log that it stays there, or goes there."""
        self.supervisor.attach(match)

    def arrived(self, line: MatchLine) -> None:
        """It has come home: its deadline counts here, and so does its result."""
        self.supervisor.arrived(line)
        self.reporter.arrived(line)

    def forsake(self, match: str) -> None:
        """It is in another shard from now on."""
        self.supervisor.forsake(match)

    def _note_delivered(self, match: str, index: int) -> bool:
        return self.supervisor.note_delivered(match, index)

    def _build(self, cluster: ClusterRecord, io: Replicator) -> ReplicaRunner:
        parts, identity = self._parts, self._parts.endpoint.identity
        core = NodeReplicas(
            Keys(cluster.cluster),
            identity.process,
            identity.incarnation,
            cluster,
            parts.replication,
            self._recovered,
            initial_layout(cluster.shards, cluster.nodes, cluster.copies),
            self._pins,
        )
        runner = ReplicaRunner(core, io, parts.clock.now_ms)
        runner.host = ReplicaHost(
            self.states,
            self.committer,
            self,
            parts.clock,
            ask_state=runner.ask_state,
            alarm=io.alarm,
            now_ms=io.now_ms,
            alive_ms=parts.alive_ms,
            traces=parts.traces,
        )
        return runner

    def _find_machine(self, name: str, version: str) -> Machine | None:
        try:
            return self._parts.games.get(name, version)
        except UnknownGame:
            return None


def _without(recovered: Recovered, unreadable: Collection[int]) -> Recovered:
    """Data that lost something are a new replica's: they were promised as whole."""
    kept = {n: s for n, s in recovered.shards.items() if n not in unreadable}
    return replace(recovered, ident="", nonce="", shards=kept)
