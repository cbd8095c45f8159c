"""A cluster that has no folder on this machine.

It is known by one door that lies open to the network, and by the cluster's secret.
What that node knows of the others leads to their doors. All that commands ask of doors
can be asked; what only lies in a folder is not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .cluster_dir import ClusterDir
from .exit_codes import ExitCode
from .operator_error import OperatorError
from .redundancy import Redundancy

__all__ = ["ClusterAfar"]


@dataclass(frozen=True, slots=True)
class ClusterAfar(ClusterDir):
    """`path` is that node's folder, on its own machine: it is shown, never read."""

    entry: str = ""
    """The address of the door that was named."""
    entry_node: str = ""
    """Whose door that is."""
    learned: dict[str, str] = field(default_factory=dict, compare=False)
    """Doors of other nodes, as they were told last: one of them may be there still
    when the first is not."""

    @classmethod
    def read(
        cls, entry: str, identity: Mapping[str, Any], secret_file: Path
    ) -> ClusterAfar:
        """By what the door at `entry` answers to `identify`.

        Raises:
            OperatorError: outdated_node: it does not say enough.
        """
        try:
            return cls(
                path=Path(identity["dir"]),
                cluster=str(identity["cluster"]),
                shards=int(identity["shards"]),
                nodes=tuple(identity["nodes"]),
                redundancy=Redundancy(
                    identity["copies"], identity["min_isr"], identity["durability"]
                ),
                secret_file=secret_file,
                entry=entry,
                entry_node=str(identity["process"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise OperatorError(
                "outdated_node",
                f"the node at {entry} is of a build that cannot be asked from afar",
                hint="name a node that has been upgraded, or ask on its machine",
                exit_code=ExitCode.UNREACHABLE,
            ) from error

    def doors(self) -> dict[str, str]:
        """The doors that are known, by node."""
        return {**self.learned, self.entry_node: self.entry}

    def node_names(self) -> tuple[str, ...]:
        """None runs in a folder of this machine."""
        return ()

    def place(self) -> str:
        """No folder of this machine."""
        return ""
