"""`hotseat match edit|upgrade`: another state of a match; another version for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import PLAIN, Match, Order, Yes, check_matches, confirm

__all__ = ["edit", "upgrade"]

STDIN = "-"


def edit(
    match: Match,
    patch: Annotated[
        str | None,
        Parameter(
            name="PATCHFILE",
            allow_leading_hyphen=True,
            help="A JSON patch (RFC 6902) of G; - reads it from standard input.",
            show_default=False,
        ),
    ] = None,
    /,
    *,
    undo: Annotated[
        bool,
        Parameter(
            help="Undo the last edit, if the match was not played on since.",
            negative=(),
        ),
    ] = False,
    base: Annotated[
        int | None,
        Parameter(
            name="--base-revision",
            help="Only if this is the match's revision: the one you looked at.",
            validator=Number(gte=0),
            show_default=False,
        ),
    ] = None,
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Change the state of a match by hand. The patch stands in its log.

    The cluster must allow it: `allow_edits` under [supervisor.match].

    Exit status 0: done. 1: refused, and nothing is changed. 3: no node answers.
    """
    check_matches([match])
    data = _read(patch, undo)
    what = "Undo the last edit" if undo else "Change the state"
    confirm(f"{what} of match {match}?", yes)
    args = {"undo": undo, "base_revision": base}
    outcome = order.perform("match.edit", match, args, match=match, attached=data)
    done = outcome.outcome
    text = f"{match}: edited, at revision {done['revision']}"
    if undo:
        text = (
            f"{match}: the state of revision {done['restores']} is restored, "
            f"at revision {done['revision']}"
        )
    return order.tell(outcome, text)


def upgrade(
    match: Match,
    /,
    *,
    to: Annotated[str, Parameter(help="The version; an older one goes back.")],
    yes: Yes = False,
    order: Order = PLAIN,
) -> int:
    """Let a match go on under another version of its game.

    Every node with a copy of it must have that version. Try it first on the match's
    log: `hotseat replay export --running`, then `hotseat replay check --upgrade`.

    Exit status 0: done. 1: refused, and nothing is changed. 3: no node answers.
    """
    check_matches([match])
    confirm(f"Let match {match} go on under version {to} of its game?", yes)
    outcome = order.perform("match.upgrade", match, {"to": to}, match=match)
    revision = outcome.outcome["revision"]
    text = f"{match}: goes on under version {to}, at revision {revision}"
    return order.tell(outcome, text)


def _read(patch: str | None, undo: bool) -> bytes | None:
    """The patch's bytes; that they are JSON is seen here, where somebody reads it.

    Raises:
        OperatorError: usage, unreadable_file, malformed_patch.
    """
    import msgspec

    if undo is (patch is not None):
        raise OperatorError(
            "usage",
            "either a patch, or --undo",
            hint="hotseat match edit MATCH PATCHFILE; hotseat match edit MATCH --undo",
            exit_code=ExitCode.USAGE,
        )
    if patch is None:
        return None
    if patch != STDIN and patch.startswith("-"):
        raise OperatorError(
            "usage",
            f"Unknown option: {patch}.",
            hint="hotseat match edit --help",
            exit_code=ExitCode.USAGE,
        )
    try:
        data = sys.stdin.buffer.read() if patch == STDIN else Path(patch).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise OperatorError("unreadable_file", f"{patch}: {reason}") from error
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise OperatorError(
            "malformed_patch",
            f"{patch} is no JSON: {error}",
            hint='a patch is a list: [{"op": "replace", "path": "/left", "value": 3}]',
            exit_code=ExitCode.USAGE,
        ) from error
    return data
