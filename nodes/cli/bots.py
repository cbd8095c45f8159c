"""`hotseat bots`: one process that plays for bots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from .options import Dir, folder
from .process import AS_TOLD, Metrics, Process

if TYPE_CHECKING:
    from ...config import Config
    from ..cluster_dir import ClusterDir

__all__ = ["bots"]


def bots(
    *,
    dir: Dir = None,
    name: Annotated[
        str, Parameter(help="The process's name; its own for each of them.")
    ] = "bots",
    bot: Annotated[
        list[str] | None,
        Parameter(
            help="Have this bot, too: NAME=module:attribute. May be repeated.",
            negative=(),
        ),
    ] = None,
    game: Annotated[
        list[str] | None,
        Parameter(
            help="Let bots look ahead in this game, too. May be repeated.", negative=()
        ),
    ] = None,
    spare: Annotated[
        bool | None,
        Parameter(
            help="Play only where a bot's turn has stood for bots.spare_after_s.",
            negative=(),
        ),
    ] = None,
    loop: Annotated[
        str | None, Parameter(help="asyncio, trio, or auto (default).")
    ] = None,
    metrics: Metrics = None,
    process: Process = AS_TOLD,
) -> None:
    """Run one process that plays for bots, until Ctrl-C or SIGTERM.

    It finds the lobbies that have given seats to bots, and plays as any client would.
    It keeps nothing: one that is started anew goes on with all of them.
    """
    flags = {
        "--name": ("node.id", name),
        "--bot": ("bots.bots", tuple(bot) if bot else None),
        "--spare": ("bots.spare", spare),
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

    from ..bots.serve import run_bots

    name = config.node.id
    with process.running(
        config,
        {"cluster": home.cluster, "node": name},
        home.bots_pid_path(name),
        config.bots.stop_grace_s,
        twice=f"bots process {name} of {home.path} runs already",
        hint="give the second one a --name of its own",
    ):
        backend = "trio" if config.node.loop == "trio" else "asyncio"
        anyio.run(run_bots, config, home, backend=backend)
