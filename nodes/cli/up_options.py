"""The longer options of `hotseat up`."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

__all__ = [
    "Bot",
    "Coordinator",
    "Copies",
    "Durability",
    "Game",
    "Gateway",
    "MinInSync",
    "Nodes",
    "Shards",
]

NODES_MAX = 64
"""More processes than that on one machine serve nobody."""

SHARDS_MAX = 4096
COPIES_MAX = 7


def _check_coordinator(_type: object, address: str | None) -> None:
    from ...runtime.coordinator_address import etcd_endpoints

    if address is not None:
        etcd_endpoints(address)


Nodes = Annotated[
    int | None,
    Parameter(
        help="For a new cluster: how many nodes; 3 if not said.",
        validator=Number(gte=1, lte=NODES_MAX),
        show_default=False,
    ),
]
Shards = Annotated[
    int | None,
    Parameter(
        help="For a new cluster: how many sets of matches; 16 if not said.",
        validator=Number(gte=1, lte=SHARDS_MAX),
        show_default=False,
    ),
]
Coordinator = Annotated[
    str | None,
    Parameter(
        help="For a new cluster: etcd://HOST:PORT[,HOST:PORT...] of an etcd that "
        "holds who owns what; a file in the folder if not said.",
        validator=_check_coordinator,
        show_default=False,
    ),
]
Copies = Annotated[
    int | None,
    Parameter(
        help="For a new cluster: nodes that hold each match; 2 if not said.",
        validator=Number(gte=1, lte=COPIES_MAX),
        show_default=False,
    ),
]
MinInSync = Annotated[
    int | None,
    Parameter(
        help="For a new cluster: copies in sync without which no action is taken; "
        "1 if not said.",
        validator=Number(gte=1, lte=COPIES_MAX),
        show_default=False,
    ),
]
Durability = Annotated[
    Literal["disk", "memory"] | None,
    Parameter(
        help="For a new cluster: what an answer waits for at every copy in sync; "
        "disk if not said.",
        show_default=False,
    ),
]
Game = Annotated[
    list[str] | None,
    Parameter(
        help="Host this game (module:attribute) beside the installed ones. "
        "May be repeated.",
        negative=(),
        show_default=False,
    ),
]
Gateway = Annotated[
    str | None,
    Parameter(
        help="Let players in at HOST:PORT: start a gateway beside the nodes, and a "
        "process that plays for bots. On loopback anybody may open a lobby.",
        show_default=False,
    ),
]
Bot = Annotated[
    list[str] | None,
    Parameter(
        help="With --gateway: have this bot, too, as NAME=module:attribute. May be "
        "repeated.",
        negative=(),
        show_default=False,
    ),
]
