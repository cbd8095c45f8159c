"""`hotseat up`: a cluster of node processes on this machine."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..local.players import (
    BOTS,
    GATEWAY,
    bots_say_ready,
    gateway_says_ready,
    is_loopback,
    operator_link,
    play_link,
    require_free,
)
from ..redundancy import Redundancy
from .options import Dir, folder
from .up_options import (
    Bot,
    Coordinator,
    Copies,
    Durability,
    Game,
    Gateway,
    MinInSync,
    Nodes,
    Shards,
)

if TYPE_CHECKING:
    from ...config import Config
    from ..cluster_dir import ClusterDir
    from ..local.cluster import LocalPlan

__all__ = ["up"]

DETACHED_READY_TIMEOUT_S = 30.0

PYTHON = (sys.executable, "-P", "-m", f"{__package__}.main")
"""This program. -P: what lies in the current folder cannot stand in for a library;
games are looked for there all the same."""


def up(
    *,
    nodes: Nodes = None,
    dir: Dir = None,
    shards: Shards = None,
    coordinator: Coordinator = None,
    copies: Copies = None,
    min_in_sync: MinInSync = None,
    durability: Durability = None,
    game: Game = None,
    metrics: Annotated[
        bool,
        Parameter(
            help="Let each node tell /metrics, /healthz and /readyz on a port of "
            "loopback; hotseat status --json says which.",
            negative=(),
        ),
    ] = False,
    gateway: Gateway = None,
    no_bots: Annotated[
        bool, Parameter(help="With --gateway: start no bots.", negative=())
    ] = False,
    bot: Bot = None,
    detach: Annotated[
        bool, Parameter(help="Return once all is ready; run on.", negative=())
    ] = False,
    report_fd: Annotated[int | None, Parameter(show=False)] = None,
) -> int | None:
    """Start a cluster of node processes on this machine.

    Runs until Ctrl-C or SIGTERM, then stops every node. With --detach it returns
    once every node is ready, or with exit status 1 and the reason.
    """
    asked = _Asked(
        folder(dir),
        nodes,
        shards,
        coordinator,
        Redundancy(copies, min_in_sync, durability),
        tuple(game or ()),
        metrics,
        gateway,
        not no_bots,
        tuple(bot or ()),
    )
    if detach:
        return _detach(asked)
    if report_fd is not None:
        _run_detached(asked, report_fd)
    else:
        _run(asked, timeout_s=None, say=_say, on_ready=lambda: None)
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the command line says. None and empty: as the folder has it."""

    path: Path
    nodes: int | None
    shards: int | None
    coordinator: str | None
    redundancy: Redundancy
    games: tuple[str, ...]
    metrics: bool = False
    gateway: str | None = None
    with_bots: bool = True
    bots: tuple[str, ...] = ()

    @property
    def beside(self) -> tuple[str, ...]:
        """The processes beside the nodes."""
        if self.gateway is None:
            return ()
        return (GATEWAY, BOTS) if self.with_bots else (GATEWAY,)

    def flags(self) -> list[str]:
        """The same, as a command line."""
        flags = ["--dir", str(self.path)]
        if self.nodes is not None:
            flags += ["--nodes", str(self.nodes)]
        if self.shards is not None:
            flags += ["--shards", str(self.shards)]
        if self.coordinator is not None:
            flags += ["--coordinator", self.coordinator]
        if self.redundancy.copies is not None:
            flags += ["--copies", str(self.redundancy.copies)]
        if self.redundancy.min_isr is not None:
            flags += ["--min-in-sync", str(self.redundancy.min_isr)]
        if self.redundancy.durability is not None:
            flags += ["--durability", self.redundancy.durability]
        if self.metrics:
            flags += ["--metrics"]
        if self.gateway is not None:
            flags += ["--gateway", self.gateway]
        if not self.with_bots:
            flags += ["--no-bots"]
        return [*flags, *_bot_flags(self.bots), *_game_flags(self.games)]


def _detach(asked: _Asked) -> int:
    from ..cluster_dir import ClusterDir, make_folders
    from ..local.detach import start_detached

    make_folders(asked.path)
    log = asked.path / "logs" / "up.log"
    report = start_detached([*PYTHON, "up", *asked.flags()], log)
    if report.error:
        print(report.error, file=sys.stderr)
        return report.exit_code
    place = _shown(asked.path)
    _say(f"hotseat: a cluster runs in {place}")
    _say("ready")
    if asked.gateway is not None:
        _say(_where_to_go(ClusterDir.load(asked.path), asked.gateway))
    _say(f"Try next:\n{_what_next(asked.path)}")
    _say(f"  {_program()} down --dir {place}")
    return report.exit_code


def _run_detached(asked: _Asked, report_fd: int) -> None:
    """The other side of `_detach`: whatever happens is reported once."""
    from ..local.detach import Report, report_to
    from ..operator_error import OperatorError
    from .failure import describe

    os.set_inheritable(report_fd, False)  # the nodes must not hold the pipe open
    reported = False

    def report(what: Report) -> None:
        nonlocal reported
        if not reported:
            reported = True
            report_to(report_fd, what)

    try:
        _run(
            asked,
            timeout_s=DETACHED_READY_TIMEOUT_S,
            say=lambda _line: None,
            on_ready=lambda: report(Report()),
        )
        stopped = OperatorError("stopped_early", "it was stopped before it was ready")
        report(Report(str(stopped), stopped.exit_code))
    except Exception as error:
        report(Report(*describe(error)))
        raise


def _run(
    asked: _Asked,
    *,
    timeout_s: float | None,
    say: Callable[[str], None],
    on_ready: Callable[[], None],
) -> None:
    import anyio

    from ..games import Games
    from ..local.cluster import LocalCluster, owned_folder
    from ..local.log_file import put_aside
    from ..pid_file import holder_of
    from ..telemetry import structured_logging

    names = [f"n{number}" for number in range(1, (asked.nodes or 0) + 1)]
    # Where this very cluster runs already, that is what is said.
    if asked.gateway is not None and holder_of(asked.path / "run" / "up.pid") is None:
        require_free(asked.gateway)
    with owned_folder(
        asked.path, asked.shards, names, asked.coordinator, asked.redundancy
    ) as home:
        config = _config(home, asked)
        for name, error in Games.load(config.node.games).broken.items():
            say(f"  game {name} is left out: {error.message}")
        plan = _plan(home, asked, config.node.stop_grace_s, timeout_s)
        place, logs = _shown(asked.path), _shown(asked.path / "logs")
        copies = home.redundancy.copies
        size = f"{len(plan.nodes)} nodes, {home.shards} shards, copies: {copies}"
        say(f"hotseat: cluster {home.cluster} in {place}: {size}, logs in {logs}")

        def ready() -> None:
            say("ready")
            if asked.gateway is not None:
                say(_where_to_go(home, asked.gateway))
            say(f"Try next, from another terminal:\n{_what_next(asked.path)}")
            say("Ctrl-C stops all.")
            on_ready()

        put_aside(home.log_path("up"))
        bound = {"cluster": home.cluster, "node": "up"}
        with structured_logging(format="json", file=home.log_path("up"), bound=bound):
            anyio.run(LocalCluster(plan, say=say, on_ready=ready).run)
    say("stopped")


def _config(home: ClusterDir, asked: _Asked) -> Config:
    """What the nodes will be told: its faults are found before any is started."""
    from ...config import load_config

    more = os.environ.get("HOTSEAT_CONFIG")
    return load_config(
        files=[home.config_path, *([Path(more)] if more else [])],
        environ=os.environ,
        flags={
            "--dir": ("node.dir", str(home.path)),
            "--node": ("node.id", "n1"),
            "--game": ("node.games", asked.games or None),
            "--gateway": ("gateway.listen", asked.gateway),
            "--bot": ("bots.bots", asked.bots or None),
        },
    )


def _plan(
    home: ClusterDir,
    asked: _Asked,
    stop_grace_s: float,
    timeout_s: float | None,
) -> LocalPlan:
    from ..local.child import ChildOptions
    from ..local.cluster import LocalPlan, door_says_ready

    node_ready = door_says_ready(home)
    probes = {GATEWAY: gateway_says_ready(home), BOTS: bots_say_ready(home)}

    async def ready(name: str) -> bool:
        return await probes.get(name, node_ready)(name)

    def argv(node: str) -> Sequence[str]:
        if node in asked.beside:
            return _argv_beside(node, home, asked)
        place = ("--dir", str(home.path), "--node", node, "--with-parent")
        pages = ("--metrics", "127.0.0.1:0") if asked.metrics else ()
        return (*PYTHON, "node", *place, *pages, *_game_flags(asked.games))

    return LocalPlan(
        home,
        home.nodes or ("n1",),
        argv,
        ready,
        ChildOptions(stop_grace_s=stop_grace_s),
        timeout_s,
        asked.beside,
    )


def _argv_beside(name: str, home: ClusterDir, asked: _Asked) -> Sequence[str]:
    """The command line of the gateway, or of the bots."""
    assert asked.gateway is not None
    flags = ["--dir", str(home.path), "--with-parent"]
    flags += [*_bot_flags(asked.bots), *_game_flags(asked.games)]
    if name == BOTS:
        return (*PYTHON, "bots", *flags)
    if is_loopback(asked.gateway):
        flags.append("--open-lobbies")
    return (*PYTHON, "gateway", *flags, "--listen", asked.gateway)


def _where_to_go(home: ClusterDir, listen: str) -> str:
    """The links that a person opens. A token is shown to this machine alone."""
    lines = [f"Play:     {play_link(home)}"]
    if is_loopback(listen):
        lines.append(f"Operate:  {operator_link(home)}")
    return "\n".join(lines)


def _bot_flags(bots: Sequence[str]) -> list[str]:
    return [part for spec in bots for part in ("--bot", spec)]


def _game_flags(games: Sequence[str]) -> list[str]:
    return [part for spec in games for part in ("--game", spec)]


def _what_next(path: Path) -> str:
    program, place = _program(), _shown(path)
    return (
        f"  {program} play connect-four --dir {place}\n"
        f"  {program} loadtest --dir {place}\n"
        f"  {program} status --dir {place}"
    )


def _program() -> str:
    """How the reader can call this program from the same folder."""
    if shutil.which("hotseat"):
        return "hotseat"
    beside = Path(sys.executable).with_name("hotseat")
    return _shown(beside) if beside.exists() else "python -m hotseat.nodes.cli.main"


def _shown(path: Path) -> str:
    with contextlib.suppress(ValueError):
        path = path.relative_to(Path.cwd())
    return shlex.quote(str(path))


def _say(line: str) -> None:
    # who read along may go away, as `| head` does: the matches go on
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)
