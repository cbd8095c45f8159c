"""`hotseat gateway`: one process through which players reach a cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Dir, folder

if TYPE_CHECKING:
    from ...config import Config
    from ..cluster_dir import ClusterDir

__all__ = ["gateway"]

PREDECESSOR_S = 10.0
"""How long to wait for a process of the same name that is on its way out."""


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
    metrics: Annotated[
        str | None, Parameter(help="HOST:PORT of /metrics, /healthz and /readyz.")
    ] = None,
    game: Annotated[
        list[str] | None,
        Parameter(help="Make replays of this game, too. May be repeated.", negative=()),
    ] = None,
    log_level: Annotated[
        str | None, Parameter(help="debug, info, warning or error.")
    ] = None,
    log_format: Annotated[str | None, Parameter(help="auto, json or console.")] = None,
    config: Annotated[
        Path | None,
        Parameter(
            env_var="HOTSEAT_CONFIG",
            help="A TOML file whose options win over the folder's cluster.toml.",
        ),
    ] = None,
    with_parent: Annotated[bool, Parameter(show=False, negative=())] = False,
) -> None:
    """Run one gateway process until Ctrl-C or SIGTERM.

    Players come by WebSocket to /rooms/MATCH?token=TOKEN; a site opens matches by the
    API that /openapi.json describes. Any number of gateways may serve a cluster.
    """
    flags = {
        "--name": ("node.id", name),
        "--listen": ("gateway.listen", listen),
        "--public-url": ("gateway.public_url", public_url),
        "--loop": ("node.loop", loop),
        "--metrics": ("metrics.listen", metrics),
        "--game": ("node.games", tuple(game) if game else None),
        "--log-level": ("log.level", log_level),
        "--log-format": ("log.format", log_format),
    }
    settings, home = _configured(folder(dir), config, flags)
    home.secret()  # refused here if others can read it, before anything is opened
    _run(settings, home, with_parent)


def _configured(
    path: Path, file: Path | None, flags: Mapping[str, tuple[str, object]]
) -> tuple[Config, ClusterDir]:
    """What the gateway is told, and the cluster's folder."""
    from ...config import load_config
    from ..node.folder import config_files, folder_of

    settings = load_config(
        files=config_files(path, file, os.environ),
        environ=os.environ,
        flags={"--dir": ("node.dir", str(path)), **flags},
    )
    return settings, folder_of(settings)


def _run(config: Config, home: ClusterDir, with_parent: bool) -> None:
    import anyio

    from ..gateway.serve import run_gateway
    from ..local.parent_watch import stop_with_parent
    from ..pid_file import PidFile, PidFileHeld
    from ..telemetry import structured_logging

    backend = _backend(config.node.loop)
    name = config.node.id
    bound = {"cluster": home.cluster, "node": name}
    pid_file = home.gateway_pid_path(name)
    log = config.log
    with structured_logging(
        level=log.level, format=log.format, file=log.file, bound=bound
    ):
        if with_parent:
            stop_with_parent(0, config.gateway.stop_grace_s)
        try:
            with PidFile(pid_file, wait_s=PREDECESSOR_S if with_parent else 0.0):
                anyio.run(run_gateway, config, home, backend=backend)
        except PidFileHeld as held:
            raise OperatorError(
                "already_running",
                f"gateway {name} of {home.path} runs already (process {held.pid})",
                hint="give the second one a --name of its own",
            ) from None


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
