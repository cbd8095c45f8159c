"""What a node tells of itself: who it is, what it serves and holds, all its numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ...runtime.budget import GuardStatistics
from ...runtime.hosting.outbox import OutboxStatistics
from ...runtime.hosting.replicated_committer import ReplicatedCommitterStatistics
from ...runtime.hosting.statistics import HostingStatistics
from ...runtime.journal import JournalStatistics
from ...runtime.link import EndpointStatistics
from ...runtime.replication.node_statistics import NodeStatistics
from ..operator.commands import Commands, CommandsStatistics
from ..supervisor.supervisor import SupervisorStatistics
from .collector import CollectorStatistics
from .hosting import Hosting
from .keeper import Keeper, KeeperStatistics
from .loop_watch import LoopWatchStatistics
from .outlet import NodeOutlet, OutletStatistics
from .parts import NodeParts
from .replicator import ReplicatorStatistics
from .router import Router
from .switchboard import Switchboard, SwitchboardStatistics

__all__ = ["STATISTICS", "NodeStatus"]

SET_APART_TOLD_MAX = 100
"""Matches set apart that `status` names; the statistics count them all."""

STATISTICS: Mapping[str, type] = {
    "supervisor": SupervisorStatistics,
    "links": EndpointStatistics,
    "switchboard": SwitchboardStatistics,
    "outlet": OutletStatistics,
    "keeper": KeeperStatistics,
    "guard": GuardStatistics,
    "collector": CollectorStatistics,
    "loop": LoopWatchStatistics,
    "replicator": ReplicatorStatistics,
    "committer": ReplicatedCommitterStatistics,
    "states": HostingStatistics,
    "replicas": NodeStatistics,
    "journal": JournalStatistics,
    "results": OutboxStatistics,
    "commands": CommandsStatistics,
}
"""What each part of a node tells, by the part's name."""


class NodeStatus:
    """Reads a node's parts; changes none. `pages_url`: of its metrics, if served."""

    def __init__(
        self,
        parts: NodeParts,
        hosting: Hosting,
        keeper: Keeper,
        switchboard: Switchboard,
        outlet: NodeOutlet,
        router: Router,
        commands: Commands,
        ready: Callable[[], bool],
    ) -> None:
        self._parts = parts
        self._hosting = hosting
        self._keeper = keeper
        self._switchboard = switchboard
        self._outlet = outlet
        self._router = router
        self._commands = commands
        self._ready = ready
        self.pages_url = ""

    def identify(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The door's operation of that name."""
        identity = self._parts.endpoint.identity
        return {
            "cluster": identity.cluster,
            "process": identity.process,
            "kind": identity.kind,
            "incarnation": identity.incarnation,
            "inbox": self._parts.endpoint.address.inbox,
            "dir": str(self._parts.home.path),
            "pages": self.pages_url,
            "shards": self._parts.config.cluster.shards,
            "nodes": list(self._parts.config.cluster.nodes),
            "copies": self._parts.config.cluster.copies,
            "min_isr": self._parts.config.cluster.min_isr,
            "durability": self._parts.config.cluster.durability,
        }

    def status(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The door's operation of that name."""
        identity, owned = self._parts.endpoint.identity, self._router.owned
        going_on, ended = self._hosting.states.counts(owned)
        return {
            "node": identity.process,
            "ready": self._ready(),
            "pages": self.pages_url,
            "shards": sorted(owned),
            "epochs": {str(shard): epoch for shard, epoch in sorted(owned.items())},
            **self._copies(),
            "matches": going_on,
            "ended": ended,
            "set_apart": [
                {"match": line.match, "shard": line.shard, "code": line.quarantined}
                for line in self._hosting.states.set_apart(SET_APART_TOLD_MAX)
            ],
            "games": [list(pair) for pair in identity.games],
            "statistics": {
                name: asdict(part) for name, part in self.statistics().items()
            },
        }

    def statistics(self) -> dict[str, Any]:
        """Of each part, by its name, as `STATISTICS` declares."""
        parts, hosting = self._parts, self._hosting
        runner = hosting.replicator.runner
        replicas = {} if runner is None else {"replicas": runner.core.statistics()}
        return {
            "supervisor": hosting.supervisor.statistics(),
            "links": parts.endpoint.statistics(),
            "switchboard": self._switchboard.statistics(),
            "outlet": self._outlet.statistics(),
            "keeper": self._keeper.statistics(),
            "guard": parts.guard.statistics(),
            "collector": parts.collector.statistics(),
            "replicator": hosting.replicator.statistics(),
            "committer": hosting.committer.statistics(),
            "states": hosting.states.statistics(),
            "results": hosting.reporter.statistics(),
            "commands": self._commands.statistics(),
            "journal": parts.journal.statistics(),
            **({} if parts.loop is None else {"loop": parts.loop.statistics()}),
            **replicas,
        }

    def _copies(self) -> dict[str, Any]:
        """Who holds copies of what this node serves, and what waits for them."""
        runner = self._hosting.replicator.runner
        if runner is None:
            return {"state": "up", "following": 0, "isr": {}, "lag": {}}
        core = runner.core
        isr: dict[str, list[str]] = {}
        lag: dict[str, int] = {}
        for shard in self._router.owned:
            record = core.record(shard)
            if record is not None:
                isr[str(shard)] = [node for node, _ in record.isr]
            lag[str(shard)] = core.uncommitted(shard)
        following = core.statistics().following
        state = core.placing.state
        return {"state": state, "following": following, "isr": isr, "lag": lag}
