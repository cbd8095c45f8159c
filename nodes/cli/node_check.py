"""`hotseat node check`: is one node ready? For health checks, and scripts that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Dir, Json, folder, seconds

if TYPE_CHECKING:
    from pathlib import Path

    from ..cluster_dir import ClusterDir

__all__ = ["check"]

LOOK_S = 0.2
"""Between two questions to a node that is waited for."""


def check(
    *,
    node: Annotated[
        str | None,
        Parameter(
            env_var="HOTSEAT_NODE_ID",
            help="The node's id; not needed where the folder has one node.",
            show_default=False,
        ),
    ] = None,
    wait: Annotated[
        str | None,
        Parameter(
            help="Ask again until it is ready, for so long: 30s, 5m.",
            show_default=False,
        ),
    ] = None,
    dir: Dir = None,
    json: Json = False,
) -> int:
    """Ask a node of this machine whether it serves and follows all that is its own.

    Exit status 0: it is ready. 1: it is not. 3: it does not answer.
    """
    import anyio

    from ..cluster_dir import ClusterDir
    from .shown import print_json

    path = folder(dir)
    name = node or _only(ClusterDir.load(path))
    wait_s = 0.0 if wait is None else seconds(wait, "--wait")
    said = anyio.run(_ask, path, name, wait_s)
    if json:
        print_json({"node": name, "state": said})
    else:
        print(f"{name}: {said}")
    if said == "no answer":
        return ExitCode.UNREACHABLE
    return ExitCode.OK if said == "ready" else ExitCode.FAILED


async def _ask(path: Path, node: str, wait_s: float) -> str:
    """ready, not ready, no answer: when it is ready, or the time is over.

    A node that is about to start may not have made its folder yet.
    """
    import anyio

    from ..cluster_dir import ClusterDir
    from ..operator.ask_door import ask_door

    until = anyio.current_time() + wait_s
    while True:
        try:
            answer = await ask_door(ClusterDir.load(path).door(node), "status")
            said = "ready" if answer.get("ready") else "not ready"
        except OperatorError:
            said = "no answer"
        if said == "ready" or anyio.current_time() >= until:
            return said
        await anyio.sleep(LOOK_S)


def _only(home: ClusterDir) -> str:
    names = home.node_names()
    if len(names) == 1:
        return names[0]
    raise OperatorError(
        "usage",
        f"which node of {home.path}? there is {', '.join(names) or 'none'}",
        hint="--node n1, or HOTSEAT_NODE_ID",
        exit_code=ExitCode.USAGE,
    )
