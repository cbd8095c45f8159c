"""`hotseat node`: one node process of a cluster; which nodes there are."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .node_check import check
from .node_drain import drain, remove, undrain
from .node_trust import trust
from .options import Cluster, Dir, Json, folder, place
from .process import AS_TOLD, Metrics, Process

if TYPE_CHECKING:
    from ...config import Config
    from ..cluster_dir import ClusterDir
    from ..operator.survey import Survey

__all__ = ["app"]

app = App(
    name="node", help="Run one node process; see which nodes there are.", version=None
)

app.command(check)
app.command(drain)
app.command(remove)
app.command(trust)
app.command(undrain)


@app.default
def node(
    *,
    dir: Dir = None,
    node: Annotated[str | None, Parameter(help="The node's id, as n1.")] = None,
    loop: Annotated[
        str | None, Parameter(help="asyncio, uvloop, trio, or auto (default).")
    ] = None,
    listen: Annotated[
        str | None, Parameter(help="The inbox's address, as tcp://127.0.0.1:7001.")
    ] = None,
    advertise: Annotated[
        str | None, Parameter(help="The inbox as others reach it, behind a proxy.")
    ] = None,
    door: Annotated[str | None, Parameter(help="The command door's address.")] = None,
    metrics: Metrics = None,
    game: Annotated[
        list[str] | None,
        Parameter(help="Host this game, too. May be repeated.", negative=()),
    ] = None,
    process: Process = AS_TOLD,
) -> None:
    """Run one node process until Ctrl-C or SIGTERM.

    Every option can stand in the folder's cluster.toml, in the --config file or in the
    environment, too (HOTSEAT_NODE_LOOP=trio); a flag wins. Where the --config file says
    which cluster it is, the folder is made.
    """
    flags = {
        "--node": ("node.id", node),
        "--loop": ("node.loop", loop),
        "--listen": ("node.listen", listen),
        "--advertise": ("node.advertise", advertise),
        "--door": ("node.door", door),
        "--metrics": ("metrics.listen", metrics),
        "--game": ("node.games", tuple(game) if game else None),
    }
    from ..node.folder import folder_of, lay_folder, tells_cluster

    config = process.settings(folder(dir), flags)
    told = tells_cluster(process.config, os.environ)
    home = lay_folder(config) if told else folder_of(config)
    home.secret()  # refused here if others can read it, before anything is opened
    _run(config, home, process)


@app.command(name="list")
def list_nodes(
    *,
    ready: Annotated[
        bool | None,
        Parameter(
            help="Only those that are ready, or that are not.",
            negative="--not-ready",
            show_default=False,
        ),
    ] = None,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """List the nodes: what they serve and hold, whether they answer.

    Exit status 0: every node is ready, or lives on another machine. 1: some are not.
    3: none answers.
    """
    import anyio

    from .shown import nodes_table, print_all, print_json

    found = anyio.run(_survey, place(dir, cluster))
    nodes = found.cluster.nodes
    rows = [row for row in nodes if ready in (None, row.ready)]
    if json:
        print_json({"nodes": rows})
    else:
        print_all(nodes_table(rows))
    if not found.answered:
        return ExitCode.UNREACHABLE
    fine = all(row.ready or row.elsewhere for row in nodes)
    return ExitCode.OK if fine else ExitCode.FAILED


async def _survey(place: Path | str) -> Survey:
    from ..operator.ask_cluster import find_cluster
    from ..operator.survey import survey

    return await survey(await find_cluster(place))


def _run(config: Config, home: ClusterDir, process: Process) -> None:
    import anyio

    from ..node.node import run_node

    backend, backend_options = _backend(config.node.loop)
    name = config.node.id
    pid_file = home.pid_path(name)
    pid_file.parent.mkdir(0o700, exist_ok=True)
    with process.running(
        config,
        {"cluster": config.cluster.id, "node": name},
        pid_file,
        config.node.stop_grace_s,
        twice=f"node {name} runs in {home.path} already",
    ):
        anyio.run(run_node, config, backend=backend, backend_options=backend_options)


def _backend(loop: str) -> tuple[str, dict[str, Any]]:
    """The event loop that was asked for, as anyio names it."""
    if loop == "trio":
        return "trio", {}
    has_uvloop = importlib.util.find_spec("uvloop") is not None
    if loop == "uvloop" and not has_uvloop:
        raise OperatorError(
            "loop_unavailable",
            "uvloop is not installed",
            hint="pip install 'hotseat[uvloop]', or --loop asyncio",
            exit_code=ExitCode.USAGE,
        )
    return "asyncio", {"use_uvloop": has_uvloop and loop != "asyncio"}
