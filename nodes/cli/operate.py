"""What the commands that change something share: options, a question, a progress bar.

`--yes` leaves the question out. It is asked on a terminal only: without one, and
without `--yes`, nothing is done. `--why` and `--as` go into the record of the command.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .options import Cluster, Dir, Json, place

if TYPE_CHECKING:
    from ..operator.ask import Outcome
    from ..operator.rows import ProgressRow
    from ..operator.survey_rows import OutcomeRows

__all__ = [
    "PLAIN",
    "Match",
    "Matches",
    "Order",
    "Timeout",
    "Who",
    "Why",
    "Yes",
    "check_matches",
    "confirm",
    "progress_bar",
    "told_matches",
]

AT_ONCE = 4
"""Commands that are asked for together: half of what a node takes."""

_UNREACHABLE = ("cluster_unreachable", "door_unreachable", "door_timeout")

Yes = Annotated[
    bool, Parameter(name="--yes", negative=(), help="Do it without a question.")
]
Match = Annotated[str, Parameter(name="MATCH", help="The id of a match.")]
Matches = Annotated[str, Parameter(name="MATCH", help="The ids of matches.")]
Timeout = Annotated[
    float,
    Parameter(help="Seconds that it may take.", validator=Number(gt=0, lte=3600)),
]
Why = Annotated[
    str,
    Parameter(
        name="--why", show_default=False, help="The reason; it is kept in the record."
    ),
]
Who = Annotated[
    str,
    Parameter(
        name="--as",
        show_default=False,
        help="Who does it, for the record; else user@host.",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True)
class Order:
    """The options of every command that changes something, and how it is done."""

    why: Why = ""
    who: Who = ""
    dir: Dir = None
    cluster: Cluster = None
    json: Json = False

    @property
    def place(self) -> Path | str:
        """Where the cluster is.

        Raises:
            OperatorError: usage: the door's address is none.
        """
        return place(self.dir, self.cluster)

    def perform(
        self,
        verb: str,
        target: str,
        args: Mapping[str, Any] | None = None,
        *,
        label: str = "",
        **how: Any,
    ) -> Outcome:
        """Have one command carried out; `how` is as of `ask.operate`.

        With a `label`, a bar tells how far it is, where somebody sees it.

        Raises:
            OperatorError: See `ask.operate`.
        """
        import anyio

        from ..operator.ask import operate
        from ..operator.ask_cluster import find_cluster

        where = self.place

        async def main() -> Outcome:
            home = await find_cluster(where)
            with progress_bar(label, json=self.json) as tell:
                return await operate(
                    home,
                    verb,
                    target,
                    args,
                    progress=tell,
                    who=self.who,
                    why=self.why,
                    **how,
                )

        return anyio.run(main)

    def perform_each(
        self,
        verb: str,
        matches: Sequence[str],
        args: Mapping[str, Any] | None = None,
        *,
        label: str = "",
        **how: Any,
    ) -> OutcomeRows:
        """The same for each of these matches, a few at a time; what fails is told.

        Raises:
            OperatorError: There is no cluster.
        """
        import anyio

        from ..operator.ask import operate
        from ..operator.ask_cluster import find_cluster
        from ..operator.rows import ProgressRow

        where = self.place
        ended: dict[str, Outcome | OperatorError] = {}
        how |= {"who": self.who, "why": self.why}
        if len(matches) == 1:
            label = ""

        async def main() -> None:
            home = await find_cluster(where)
            with progress_bar(label, json=self.json) as tell:
                limiter = anyio.CapacityLimiter(AT_ONCE)

                async def one(match: str) -> None:
                    async with limiter:
                        try:
                            ended[match] = await operate(
                                home, verb, match, args, match=match, **how
                            )
                        except OperatorError as error:
                            ended[match] = error
                    tell(ProgressRow(done=len(ended), total=len(matches)))

                async with anyio.create_task_group() as tasks:
                    for match in matches:
                        tasks.start_soon(one, match)

        anyio.run(main)
        return _sorted([(match, ended[match]) for match in matches])

    def tell(self, outcome: Outcome, text: str) -> int:
        """Say that it is done: one JSON object, or a line for people; exit status."""
        from .shown import cell, print_all, print_json

        if self.json:
            print_json(outcome)
        else:
            print_all(cell(text))
        return ExitCode.OK

    def tell_each(self, rows: OutcomeRows, done: str) -> int:
        """Say of each match what became of it; the exit status."""
        from .shown import cell, print_all, print_json

        if self.json:
            print_json(rows)
        else:
            print_all(*(cell(f"{row.target}: {done}") for row in rows.done))
            for row in rows.failed:
                error = OperatorError(row.code, f"{row.target}: {row.message}")
                print(error, file=sys.stderr)
        if not rows.failed:
            return ExitCode.OK
        away = all(row.code in _UNREACHABLE for row in rows.failed)
        return ExitCode.UNREACHABLE if away and not rows.done else ExitCode.FAILED


PLAIN: Final = Order()
"""Nothing more was said."""


def confirm(question: str, yes: bool) -> None:
    """Ask before something is done, unless it was said already.

    Raises:
        OperatorError: needs_yes: there is nobody to be asked; not_confirmed.
    """
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise OperatorError(
            "needs_yes",
            f"{question} There is no terminal to answer that from",
            hint="--yes says so on the command line",
            exit_code=ExitCode.USAGE,
        )
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise OperatorError("not_confirmed", "nothing was done")


def told_matches(matches: Sequence[str], usage: str) -> str:
    """How a question names them; `usage` is how they are given.

    Raises:
        OperatorError: usage: there is none, or one of them is no id of a match.
    """
    if not matches:
        raise OperatorError(
            "usage", "which match?", hint=usage, exit_code=ExitCode.USAGE
        )
    check_matches(matches)
    return matches[0] if len(matches) == 1 else f"{len(matches)} matches"


def check_matches(matches: Sequence[str]) -> None:
    """
    Raises:
        OperatorError: usage: one of them is no id of a match.
    """
    from ...runtime.match_id import is_match_id

    for match in matches:
        if not is_match_id(match):
            raise OperatorError(
                "usage",
                f"{match} is not the id of a match",
                hint="hotseat match list shows ids: 26 characters, a-z and 2-7",
                exit_code=ExitCode.USAGE,
            )


def _sorted(ended: Sequence[tuple[str, Outcome | OperatorError]]) -> OutcomeRows:
    from ..operator.survey_rows import FailedRow, OutcomeRows

    return OutcomeRows(
        done=tuple(row for _, row in ended if not isinstance(row, OperatorError)),
        failed=tuple(
            FailedRow(target=match, code=row.code, message=row.message)
            for match, row in ended
            if isinstance(row, OperatorError)
        ),
    )


@contextmanager
def progress_bar(
    label: str, *, json: bool = False
) -> Iterator[Callable[[ProgressRow], None]]:
    """A bar on stderr; nothing with `json`, without a terminal, or without a label."""
    if json or not label or not sys.stderr.isatty():
        yield lambda row: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    from ..play.show import safe

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, text="")

        def tell(row: ProgressRow) -> None:
            bar.update(task, completed=row.done, total=row.total, text=safe(row.text))

        yield tell
