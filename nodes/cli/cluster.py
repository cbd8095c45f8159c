"""`hotseat cluster`: how a whole cluster is, once or live."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from .options import Cluster, Dir, Json, place

if TYPE_CHECKING:
    from ..operator.survey import Survey

__all__ = ["app"]

app = App(
    name="cluster", help="See how a whole cluster is, once or live.", version=None
)


@app.command
def status(
    *,
    sample: Annotated[
        float | None,
        Parameter(
            help="Look twice, so many seconds apart, and tell the rates in between.",
            validator=Number(gt=0, lte=600),
            show_default=False,
        ),
    ] = None,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Show the nodes, what they hold, what lacks copies, what is wrong.

    Exit status 0: there are no alarms. 1: there are. 3: no node answers.
    """
    import anyio

    from .shown import cluster_shown, print_all, print_json

    found = anyio.run(_look, place(dir, cluster), sample)
    if json:
        print_json(found.cluster)
    else:
        print_all(*cluster_shown(found.cluster))
    if not found.answered:
        return ExitCode.UNREACHABLE
    return ExitCode.FAILED if found.cluster.alarms else ExitCode.OK


@app.command
def watch(
    *,
    every: Annotated[
        float,
        Parameter(
            help="Seconds between two looks.", validator=Number(gte=0.1, lte=600)
        ),
    ] = 2.0,
    times: Annotated[
        int | None,
        Parameter(
            help="End after so many looks.", validator=Number(gte=1), show_default=False
        ),
    ] = None,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Show the same again and again, with rates, until Ctrl-C.

    With --json it prints one object per look. Ctrl-C is exit status 0.
    """
    import anyio

    try:
        anyio.run(_watch, place(dir, cluster), every, times, json)
    except KeyboardInterrupt:
        return ExitCode.OK
    return ExitCode.OK


async def _look(place: Path | str, sample: float | None) -> Survey:
    import anyio

    from ..operator.ask_cluster import find_cluster
    from ..operator.survey import survey, with_rates

    home = await find_cluster(place)
    found = await survey(home)
    if sample is None or not found.answered:
        return found
    await anyio.sleep(sample)
    return with_rates(found, await survey(home))


async def _watch(
    place: Path | str, every: float, times: int | None, json: bool
) -> None:
    from contextlib import ExitStack

    import anyio
    from rich.console import Group
    from rich.live import Live

    from ..operator.ask_cluster import find_cluster
    from ..operator.survey import survey, with_rates
    from .shown import cluster_shown, print_json

    home = await find_cluster(place)
    before = None
    with ExitStack() as stack:
        live = None if json else stack.enter_context(Live(auto_refresh=False))
        looks = 0
        while True:
            before = with_rates(before, await survey(home))
            if live is None:
                print_json(before.cluster)
            else:
                live.update(Group(*cluster_shown(before.cluster)), refresh=True)
            looks += 1
            if times is not None and looks >= times:
                return
            await anyio.sleep(every)
