"""`hotseat demo`: nodes are killed while matches are played, and nothing is lost."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from .options import Json

__all__ = ["demo"]

NODES_MAX = 16


def _check_coordinator(_type: object, address: str | None) -> None:
    from ...runtime.coordinator_address import etcd_endpoints

    if address is not None:
        etcd_endpoints(address)


def demo(
    *,
    nodes: Annotated[
        int,
        Parameter(help="Node processes.", validator=Number(gte=2, lte=NODES_MAX)),
    ] = 3,
    matches: Annotated[
        int,
        Parameter(help="Matches played at a time.", validator=Number(gte=1)),
    ] = 150,
    kills: Annotated[
        int,
        Parameter(help="How often a node is killed.", validator=Number(gte=0)),
    ] = 3,
    seconds: Annotated[
        float,
        Parameter(help="How long is played, at least.", validator=Number(gt=0)),
    ] = 20.0,
    loop: Annotated[
        Literal["asyncio", "trio"],
        Parameter(help="The async library the players run on."),
    ] = "asyncio",
    coordinator: Annotated[
        str | None,
        Parameter(
            help="etcd://HOST:PORT[,HOST:PORT...] instead of a file.",
            validator=_check_coordinator,
            show_default=False,
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Kill nodes while matches are played, and see that nothing is lost.

    Starts a cluster in a temporary folder, lets simulated players play, kills nodes
    with SIGKILL, and holds what the players were told against the logs at the end.
    All of it is gone afterwards. Exit status 1 if an acknowledged action was lost,
    doubled or reordered, or if copies of a match differ.
    """
    from ..chaos.demo import DemoOptions, run

    return run(
        DemoOptions(
            nodes=nodes,
            matches=matches,
            kills=kills,
            seconds=seconds,
            loop=loop,
            coordinator=coordinator,
            json=json,
        )
    )
