"""`hotseat loadtest`: simulated players play real matches, and all is checked."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from cyclopts.validators import Number

from .options import Cluster, Dir, Json, place

__all__ = ["loadtest"]

AT_LEAST_ONE = Number(gte=1)
POSITIVE = Number(gt=0)

Seed = Annotated[
    str | None,
    Parameter(
        help="What games, arrivals and choices are drawn from; drawn itself, and "
        "reported, if not said.",
        show_default=False,
    ),
]


def loadtest(
    *,
    matches: Annotated[
        int, Parameter(help="How many matches to play.", validator=AT_LEAST_ONE)
    ] = 200,
    game: Annotated[
        list[str] | None,
        Parameter(
            help="Play this game only (module:attribute, or an installed name); "
            "all installed ones in turn if not said. May be repeated.",
            negative=(),
            show_default=False,
        ),
    ] = None,
    rate: Annotated[
        float,
        Parameter(
            help="Matches that begin per second, however many still run.",
            validator=POSITIVE,
        ),
    ] = 40.0,
    timeout: Annotated[
        float,
        Parameter(
            help="Seconds after which a match that has not ended is given up.",
            validator=POSITIVE,
        ),
    ] = 60.0,
    clients: Annotated[
        int,
        Parameter(
            help="Connections that the players are spread over.",
            validator=Number(gte=1, lte=64),
        ),
    ] = 4,
    seed: Seed = None,
    loop: Annotated[
        Literal["asyncio", "trio"], Parameter(help="The async library to run on.")
    ] = "asyncio",
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Let simulated players play, and check it all.

    Every finished match is replayed from its log, and what each player saw last is
    compared with it. Exit status 1 if any match ended wrong or did not end.
    """
    from ..load.command import run
    from ..load.plan import LoadOptions

    return run(
        LoadOptions(
            cluster=place(dir, cluster),
            matches=matches,
            games=tuple(game or ()),
            seed=seed,
            rate=rate,
            clients=clients,
            timeout_s=timeout,
            json=json,
            loop=loop,
        )
    )
