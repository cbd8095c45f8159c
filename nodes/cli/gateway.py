"""`hotseat gateway`: one process through which players reach a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Dir, folder
from .process import AS_TOLD, Metrics, Process

if TYPE_CHECKING:
    from ...config import Config
    from ..cluster_dir import ClusterDir

__all__ = ["gateway"]


def gateway(
    *,
    dir: Dir = None,
    name: Annotated[
        str, Parameter(help="The gateway's name; its own for each of them.")
    ] = "gateway",
    listen: Annotated[
        str | None,
        Parameter(help="HOST:PORT for players; 127.0.0.1:8080 if not said."),
    ] = None,
    public_url: Annotated[
        str | None,
        Parameter(help="Where players' links lead, as https://play.example.org."),
    ] = None,
    loop: Annotated[
        str | None, Parameter(help="asyncio, trio, or auto (default).")
    ] = None,
    open_lobbies: Annotated[
        bool | None,
        Parameter(help="Let anybody open a lobby, without a token.", negative=()),
    ] = None,
    metrics: Metrics = None,
    game: Annotated[
        list[str] | None,
        Parameter(help="Make replays of this game, too. May be repeated.", negative=()),
    ] = None,
    bot: Annotated[
        list[str] | None,
        Parameter(
            help="Offer this bot of a bots process: NAME=module:attribute. May be "
            "repeated.",
            negative=(),
        ),
    ] = None,
    process: Process = AS_TOLD,
) -> None:
    """Run one gateway process until Ctrl-C or SIGTERM.

    Players come by WebSocket to /rooms/MATCH?token=TOKEN; a site opens matches by the
    API that /openapi.json describes. Any number of gateways may serve a cluster.
    """
    flags = {
        "--name": ("node.id", name),
        "--listen": ("gateway.listen", listen),
        "--public-url": ("gateway.public_url", public_url),
        "--open-lobbies": ("gateway.open_lobbies", open_lobbies),
        "--bot": ("bots.bots", tuple(bot) if bot else None),
        "--loop": ("node.loop", loop),
        "--metrics": ("metrics.listen", metrics),
        "--game": ("node.games", tuple(game) if game else None),
    }
    from ..node.folder import folder_of

    config = process.settings(folder(dir), flags)
    home = folder_of(config)
    home.secret()  # refused here if others can read it, before anything is opened
    _run(config, home, process)


def _run(config: Config, home: ClusterDir, process: Process) -> None:
    import anyio

    from ..gateway.serve import run_gateway

    backend = _backend(config.node.loop)
    name = config.node.id
    with process.running(
        config,
        {"cluster": home.cluster, "node": name},
        home.gateway_pid_path(name),
        config.gateway.stop_grace_s,
        twice=f"gateway {name} of {home.path} runs already",
        hint="give the second one a --name of its own",
    ):
        anyio.run(run_gateway, config, home, backend=backend)


def _backend(loop: str) -> str:
    """The event loop, as anyio names it.

    anycorn 0.20 on uvloop fails when it closes a connection that its client has closed.
    """
    if loop == "uvloop":
        raise OperatorError(
            "loop_unavailable",
            "a gateway does not run on uvloop",
            hint="--loop asyncio, or --loop trio",
            exit_code=ExitCode.USAGE,
        )
    return "trio" if loop == "trio" else "asyncio"
