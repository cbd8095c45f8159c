"""`hotseat log`: what the nodes of a local cluster log, as it comes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Cluster, Dir, place

if TYPE_CHECKING:
    from ..cluster_dir import ClusterDir
    from ..operator.log_line import LogFilter, LogLine
    from ..operator.log_tail import LogTail

__all__ = ["app"]

app = App(name="log", help="Follow what the nodes of a cluster log.", version=None)

LOOK_S = 0.25
"""Between two looks at the files."""


@app.command
def follow(
    *,
    node: Annotated[
        list[str] | None,
        Parameter(
            help="Only of this node; up is the nodes' parent. May be repeated.",
            negative=(),
            show_default=False,
        ),
    ] = None,
    event: Annotated[
        list[str] | None,
        Parameter(
            help="Only this event, of those in docs/operations.md. May be repeated.",
            negative=(),
            show_default=False,
        ),
    ] = None,
    match: Annotated[
        str | None,
        Parameter(help="Only lines that name this match.", show_default=False),
    ] = None,
    level: Annotated[
        Literal["debug", "info", "warning", "error", "critical"],
        Parameter(help="Only of this level, or above."),
    ] = "debug",
    lines: Annotated[
        int,
        Parameter(
            help="Begin with the newest ones that are there.",
            validator=Number(gte=0, lte=100_000),
        ),
    ] = 20,
    stop: Annotated[
        bool,
        Parameter(help="Print those that are there, and end.", negative=()),
    ] = False,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Annotated[
        bool, Parameter(name="--json", negative=(), help="Print lines as they stand.")
    ] = False,
) -> int:
    """Follow the logs of the cluster's nodes on this machine, until Ctrl-C.

    Logs that are put aside, cut, or begun while it runs are followed all the same.
    A line that is no JSON, as of a traceback, counts as an error. Ctrl-C is status 0.
    """
    from ..operator.log_line import LogFilter

    _check_events(event or [])
    home = _home(place(dir, cluster))
    _check_nodes(home, node or [])
    wanted = LogFilter(frozenset(node or ()), frozenset(event or ()), match, level)
    try:
        _follow(home, wanted, lines, stop=stop, json=json)
    except KeyboardInterrupt:
        return ExitCode.OK
    return ExitCode.OK


def _follow(
    home: ClusterDir, wanted: LogFilter, count: int, *, stop: bool, json: bool
) -> None:
    import time
    from contextlib import ExitStack

    from ..operator.log_line import LogLine
    from ..operator.log_tail import LogTail

    tails: dict[str, LogTail] = {}
    with ExitStack() as stack:

        def begun() -> list[tuple[str, LogTail]]:
            """The logs that were not there before."""
            new = []
            for path in sorted((home.path / "logs").glob("*.log")):
                if path.stem not in tails:
                    tails[path.stem] = stack.enter_context(LogTail(path))
                    new.append((path.stem, tails[path.stem]))
            return new

        there = [
            LogLine.read(name, text)
            for name, tail in begun()
            for text in tail.history()
        ]
        _print(wanted.last(there, count), json)
        while not stop:
            time.sleep(LOOK_S)
            begun()
            come = [
                LogLine.read(name, text)
                for name, tail in tails.items()
                for text in tail.read()
            ]
            _print(wanted.last(come, len(come)), json)


def _print(lines: list[LogLine], json: bool) -> None:
    from ..play.show import safe

    for line in lines:
        print(line.text if json else safe(line.shown(), lines=True), flush=True)


def _home(place: Path | str) -> ClusterDir:
    from ..cluster_dir import ClusterDir

    if isinstance(place, Path):
        return ClusterDir.load(place)
    import anyio

    from ..operator.ask_cluster import find_cluster
    from ..operator.sealed_door import is_private

    if not is_private(place):
        raise OperatorError(
            "elsewhere",
            "logs lie on the machines of the nodes, which do not tell them from afar",
            hint="hotseat log follow on a node's machine, or what collects its logs",
            exit_code=ExitCode.USAGE,
        )
    return anyio.run(find_cluster, place)


def _check_nodes(home: ClusterDir, asked: list[str]) -> None:
    """
    Raises:
        OperatorError: no_such_node: one of them has never been on this machine.
    """
    from ..cluster_dir import natural_order

    logs = {path.stem for path in (home.path / "logs").glob("*.log")}
    folders = {path.name for path in (home.path / "nodes").glob("*")}
    known = logs | folders | {"up", *home.node_names()}
    for name in asked:
        if name not in known:
            there = ", ".join(sorted(known, key=natural_order))
            raise OperatorError(
                "no_such_node",
                f"no node {name} logs on this machine",
                hint=f"there are: {there}",
                exit_code=ExitCode.USAGE,
            )


def _check_events(asked: list[str]) -> None:
    """
    Raises:
        OperatorError: unknown_event: one of them is never logged.
    """
    from difflib import get_close_matches

    from ..telemetry import EVENTS

    for name in asked:
        if name not in EVENTS:
            near = get_close_matches(name, EVENTS, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else ""
            raise OperatorError(
                "unknown_event",
                f"no line of a log has the event {name}",
                hint=hint or "docs/operations.md lists every event",
                exit_code=ExitCode.USAGE,
            )
