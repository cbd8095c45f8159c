"""Which coordinator a node uses: etcd where an address is configured, else the file.

etcd's client brings an HTTP library: it is imported only where it is used.
"""

from __future__ import annotations

from ...runtime.coordinator import Coordinator
from ..cluster_dir import ClusterDir
from .sqlite import SqliteCoordinator

__all__ = ["coordinator_of"]


def coordinator_of(address: str | None, home: ClusterDir) -> Coordinator:
    """The coordinator at `address`, or in the cluster's folder; not entered.

    Raises:
        ValueError: It is no address of a coordinator.
    """
    if address is None:
        return SqliteCoordinator(home.coordinator_path, create=False)
    from .etcd import EtcdCoordinator

    return EtcdCoordinator(address)
