"""What a node's shards share about the node itself: one `Me` per process.

`NodeReplicas` owns it and keeps it up to date; shards only read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..control_plane import Keys
from .handovers import Handovers
from .pin_board import PinBoard

__all__ = ["Me"]


@dataclass(slots=True)
class Me:
    """Who this replica is."""

    node: str
    nonce_prefix: str
    """This process's boot string: its writes are told by it."""
    ident: str = ""
    """The replica identity; "" until it is known."""
    boot: int = 0
    """Counts the starts of the process on the same data (`disk`)."""
    min_isr: int = 1
    durability: Literal["memory", "disk"] = "memory"
    serving_allowed: bool = False
    """The boot protocol is done, and the node is not stopping: it may claim, and
    answer what owners send. Nothing is taken from a frame before."""
    registered: frozenset[str] = frozenset()
    """Nodes that are registered now: a hint. Asked only whether it has a node."""
    unfit: dict[int, frozenset[str]] = field(default_factory=dict)
    """By shard: nodes without a game version that it uses. They learn, but do not join
    the in-sync set; and who is in it already claims only after the others."""
    keys: Keys | None = None
    """Where the coordinator's records are."""
    pins: PinBoard = field(default_factory=PinBoard)
    idents: dict[str, str] = field(default_factory=dict)
    """Of each node: the identity of its data, by its record."""
    heard: dict[str, int] = field(default_factory=dict)
    """When something was last heard of a node (`now_ms`): any message of it counts."""
    leaving: set[str] = field(default_factory=set)
    """Nodes that said in their last beat that they are about to go: they leave in-sync
    sets, and join none."""
    handovers: Handovers = field(default_factory=Handovers)
    clock_ms: int = 0
    """The wall clock in this step, for what owners tell followers."""
