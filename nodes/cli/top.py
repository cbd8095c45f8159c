"""`hotseat top`: nodes, shards and the hottest matches, live and full-screen."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Cluster, Dir, place

__all__ = ["top"]


def top(
    *,
    light: Annotated[
        bool, Parameter(negative=(), help="Colours for a light terminal.")
    ] = False,
    dir: Dir = None,
    cluster: Cluster = None,
) -> int:
    """Watch a cluster: nodes, shards, the matches in which most happens, alarms.

    ? shows the keys; q leaves. Rates are differences of two looks.
    """
    found = place(dir, cluster)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise OperatorError(
            "no_terminal",
            "hotseat top needs a terminal",
            hint="hotseat cluster watch --json prints the same for programs",
            exit_code=ExitCode.USAGE,
        )
    import anyio

    from ..operator.ask_cluster import find_cluster
    from ..top.app import TopApp
    from ..top.look import ClusterLooks

    anyio.run(find_cluster, found)  # that there is none is said before the screen
    app = TopApp(ClusterLooks(found), light=light)
    app.run()
    return ExitCode.OK if app.return_code in (0, None) else ExitCode.FAILED
