"""`hotseat play`: play a game in the terminal, here or in a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .options import place

__all__ = ["play"]


def play(
    game: Annotated[str, Parameter(help="module:attribute, or an installed name.")],
    /,
    *,
    seat: Annotated[
        list[str] | None,
        Parameter(
            help="Who sits at a seat, as 0=human or 1=bot. May be repeated. If not "
            "said, the first seat is yours and bots take the others.",
            negative=(),
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        str | None,
        Parameter(
            help="What dice and bots are drawn from; a cluster draws its own dice.",
            show_default=False,
        ),
    ] = None,
    profiles: Annotated[
        Path | None,
        Parameter(
            help="The folder of what players keep between matches played here; "
            "--seat 0=human:ann says whose profile a seat has, else it is the seat's.",
            show_default=False,
        ),
    ] = None,
    dir: Annotated[
        Path | None,
        Parameter(help="Play in the cluster of this folder.", show_default=False),
    ] = None,
    cluster: Annotated[
        str | None,
        Parameter(
            help="Play in the cluster that has this command door.", show_default=False
        ),
    ] = None,
) -> int:
    """Play a game in the terminal, with people and random bots.

    Without --dir and --cluster the match is played in this process. A module may
    have a function `render(view)` beside its game, which draws a view as text.
    """
    from ..play.command import PlayOptions, run

    remote = None if dir is None and cluster is None else place(dir, cluster)
    return run(PlayOptions(game, tuple(seat or ()), seed, remote, profiles))
