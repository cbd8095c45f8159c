"""`hotseat match export|import`: matches leave a cluster as files, and come in."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import (
    PLAIN,
    Matches,
    Order,
    check_matches,
    progress_bar,
    told_matches,
)
from .options import Also

if TYPE_CHECKING:
    from ...engine.record import Record
    from ..operator.survey_rows import ExportedRow

__all__ = ["export", "import_match"]

SUFFIX = ".hotseat"


def export(
    *matches: Matches,
    out: Annotated[
        Path | None,
        Parameter(
            name=("--out", "-o"),
            help="The file; of several matches, a folder. Else MATCH.hotseat here.",
            show_default=False,
        ),
    ] = None,
    also: Also = None,
    order: Order = PLAIN,
) -> int:
    """Write the logs of matches to files: of any, whether they go on or have ended.

    A log holds the seed and everybody's payloads. Seats can be resumed, where it is
    imported, by the tokens that they have; the tokens are not in it. With its game at
    hand the log is verified first. Exit status 0: all are written. 1: some are not. 3:
    no node answers.
    """
    told_matches(matches, "hotseat match export MATCH... -o FILE")
    targets = _targets(matches, out)
    from .shown import cell, print_all, print_json

    where = order.place  # a wrong one is no fault of a match
    done: list[ExportedRow] = []
    failed: list[tuple[str, OperatorError]] = []
    from ..operator.rows import ProgressRow

    label = "exporting" if len(matches) > 1 else ""
    with progress_bar(label, json=order.json) as tell:
        for match, target in zip(matches, targets, strict=True):
            try:
                done.append(_export(order, where, match, target, also or []))
            except OperatorError as error:
                failed.append((match, error))
            at = len(done) + len(failed)
            tell(ProgressRow(done=at, total=len(matches)))
    if order.json:
        faults = [
            {"target": match, "code": fault.code, "message": fault.message}
            for match, fault in failed
        ]
        print_json({"done": done, "failed": faults})
    else:
        print_all(
            *(cell(f"{r.file}: {r.records:,} records, {r.bytes:,} bytes") for r in done)
        )
        for match, fault in failed:
            told = f"{match}: {fault.message}"
            print(OperatorError(fault.code, told, hint=fault.hint), file=sys.stderr)
    if not failed:
        return ExitCode.OK
    away = all(fault.exit_code is ExitCode.UNREACHABLE for _, fault in failed)
    return ExitCode.UNREACHABLE if away and not done else ExitCode.FAILED


def import_match(
    file: Annotated[Path, Parameter(name="FILE", help="An exported log.")],
    /,
    *,
    order: Order = PLAIN,
) -> int:
    """Let a match go on in this cluster, from its exported log.

    It keeps its id, its history and its seats: players come back with the tokens that
    they have. The log is verified first; its game must be here, in its version. A match
    that is here is not overwritten. Exit status 0: it goes on. 1: refused; nothing has
    changed, or it is set apart with a part of it: the same command goes on then. 3: no
    node answers.
    """
    from ...engine.errors import EngineError
    from ...engine.replay.log_file import write_log_file
    from ..replay.saved_match import read_saved

    saved = read_saved(file)
    if saved.log is None or saved.match is None:
        raise OperatorError(
            "not_a_log",
            f"{file} is a replay without digests: a match does not go on from that",
            hint="hotseat match export writes what can be imported",
        )
    check_matches([saved.match])
    try:
        data = write_log_file(saved.log.records)  # without what readers alone need
    except EngineError as error:
        raise OperatorError(error.code, f"{file}: {error}") from error
    outcome = order.perform(
        "match.import",
        saved.match,
        match=saved.match,
        label="importing",
        attached=data,
        timeout_s=None,
    )
    records = outcome.outcome["records"]
    text = f"{saved.match}: here with {records:,} records"
    return order.tell(outcome, text)


def _targets(matches: Sequence[str], out: Path | None) -> list[Path]:
    """
    Raises:
        OperatorError: usage: one file for several matches; unwritable_file.
    """
    if out is None:
        return [Path(f"{match}{SUFFIX}") for match in matches]
    if len(matches) == 1 and not out.is_dir():
        return [out]
    if out.is_file():
        raise OperatorError(
            "usage",
            f"{out} is a file, and there are {len(matches)} matches",
            hint="name a folder with --out",
            exit_code=ExitCode.USAGE,
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OperatorError("unwritable_file", f"{out}: {reason}") from error
    return [out / f"{match}{SUFFIX}" for match in matches]


def _export(
    order: Order, where: Path | str, match: str, target: Path, also: Sequence[str]
) -> ExportedRow:
    """
    Raises:
        OperatorError: file_exists, unwritable_file, or what the cluster says.
    """
    from ..operator.survey_rows import ExportedRow
    from ..replay.export import fetch_committed
    from ..replay.saved_match import write_new

    if target.exists():
        raise OperatorError("file_exists", f"{target} is there already")
    order.perform("match.export", match, match=match)
    records = fetch_committed(where, match)
    data, verified = _packed(match, records, also)
    write_new(target, data)
    return ExportedRow(
        match=match,
        file=str(target),
        records=len(records),
        bytes=len(data),
        digest=records[-1].digest.hex(),
        verified=verified,
    )


def _packed(
    match: str, records: Sequence[Record], also: Sequence[str]
) -> tuple[bytes, bool]:
    """What is written, and whether it was verified: its game may be missing here."""
    from ...engine.replay.log_file import write_log_file
    from ..replay.saved_match import find_machine, find_older, saved_log

    saved = saved_log(match, records)
    try:
        machine, older = find_machine(saved, None), find_older(saved, also)
    except OperatorError as error:
        print(f"note: {error.message}; not verified", file=sys.stderr)
        return write_log_file(records), False
    return write_log_file(records, machine, older), True
