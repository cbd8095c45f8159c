"""`hotseat replay`: look at saved matches, verify them, and try new code on them."""

from __future__ import annotations

import json as json_text
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import PLAIN, Order, check_matches
from .options import Also, Json, Rules

if TYPE_CHECKING:
    from ...engine.record import Record
    from ...engine.replay.timeline import Timeline

__all__ = ["app"]

app = App(
    name="replay",
    help="Look at saved matches; verify them; try new code.",
    version=None,
)


@app.command
def show(
    file: Annotated[Path, Parameter(help="An exported log, or an envelope.")],
    /,
    *,
    frame: Annotated[
        int | None,
        Parameter(
            help="Show this revision with all that is known.", show_default=False
        ),
    ] = None,
    game: Rules = None,
    also: Also = None,
    json: Json = False,
) -> None:
    """Show the frames of a saved match, or one of them."""
    from ..replay.frame_lines import detail_json, detail_lines, row_json, table_lines
    from ..replay.saved_match import read_saved

    saved = read_saved(file)
    timeline = saved.open(game, also or [])
    if frame is not None:
        _check_revision(timeline, frame)
        if json:
            _print_json(detail_json(timeline, frame))
            return
        lines = detail_lines(timeline, frame)
    elif json:
        head = {"file": str(file), "game": saved.game, "version": saved.version}
        frames = [row_json(each) for each in timeline.frames()]
        _print_json(head | {"match": saved.match, "frames": frames})
        return
    else:
        print(saved)
        lines = table_lines(timeline)
    for line in lines:
        print(line)


@app.command
def verify(
    file: Annotated[Path, Parameter(help="An exported log, or an envelope.")],
    /,
    *,
    game: Rules = None,
    also: Also = None,
    json: Json = False,
) -> int:
    """Play a saved match and compare the digest of every record; 1 if one differs.

    An envelope has no digests: it is only played to its end.
    """
    from ...engine.errors import DigestMismatchError, ReplayError
    from ...engine.replay.verify import verify_log
    from ..replay.saved_match import find_machine, find_older, read_saved

    saved = read_saved(file)
    machine, older = find_machine(saved, game), find_older(saved, also or [])
    report: dict[str, Any] = {
        "file": str(file),
        "match": saved.match,
        "ok": True,
        "digests": saved.log is not None,
        "records": len(saved.recording.records),
    }
    try:
        if saved.log is not None:
            verify_log(machine, saved.log, older)
        else:
            saved.open(game).play()
    except ReplayError as error:
        field = error.field if isinstance(error, DigestMismatchError) else None
        report |= {"ok": False, "code": error.code, "message": str(error)}
        report |= {"record": error.index, "field": field}
    if json:
        _print_json(report)
        return ExitCode.OK if report["ok"] else ExitCode.FAILED
    if not report["ok"]:
        raise OperatorError(
            report["code"], f"{file}, record {report['record']}: {report['message']}"
        )
    records = f"{report['records']:,} records"
    if saved.log is not None:
        print(f"{saved}: {records}, every digest is right")
    else:
        print(f"{saved}: {records} play back; an envelope has no digests to compare")
    return ExitCode.OK


@app.command
def export(
    match: Annotated[str, Parameter(help="The id of a match.")],
    /,
    *,
    out: Annotated[
        Path | None,
        Parameter(help="The file to write; else MATCH.hotseat.", show_default=False),
    ] = None,
    epoch: Annotated[
        int | None,
        Parameter(
            help="The epoch in which it was created; else the nodes are asked.",
            show_default=False,
        ),
    ] = None,
    envelope: Annotated[
        bool,
        Parameter(
            name="--envelope",
            negative=(),
            help="Write a saved replay in JSON, which has no digests.",
        ),
    ] = False,
    running: Annotated[
        bool,
        Parameter(
            name="--running",
            negative=(),
            help="Ask the nodes' own doors: also for a match that is still played.",
        ),
    ] = False,
    game: Rules = None,
    also: Also = None,
    order: Order = PLAIN,
) -> None:
    """Write the log of a match to a file: of a finished one, or with --running of any.

    With its game at hand the log is verified first, and snapshots go with it. That
    --running gave it out is kept in the audit: it holds the seed, and everybody's
    payloads.
    """
    from ..replay.export import fetch_committed, fetch_records
    from ..replay.saved_match import write_new

    if running:
        check_matches([match])
        order.perform("match.export", match, match=match)
        records = fetch_committed(order.place, match)
    else:
        records = fetch_records(order.place, match, epoch)
    data, verified = _written(match, records, game, also or [], envelope=envelope)
    target = out or Path(f"{match}.{'json' if envelope else 'hotseat'}")
    write_new(target, data)
    report = {
        "file": str(target),
        "match": match,
        "records": len(records),
        "bytes": len(data),
        "verified": verified,
    }
    if order.json:
        _print_json(report)
    else:
        print(f"{target}: {len(records):,} records, {len(data):,} bytes")


@app.command
def diff(
    a: Annotated[Path, Parameter(help="A saved match.")],
    b: Annotated[Path, Parameter(help="Another one, of the same game.")],
    /,
    *,
    game: Rules = None,
    also: Also = None,
    json: Json = False,
) -> int:
    """Name the first revision and field in which two matches differ; 1 if they do."""
    from ...engine.replay.compare import compare_timelines
    from ..replay.saved_match import read_saved

    first, second = read_saved(a), read_saved(b)
    if first.game != second.game:
        raise OperatorError(
            "wrong_game", f"{a} is a match of {first.game}, {b} of {second.game}"
        )
    older = also or []
    found = compare_timelines(first.open(game, older), second.open(game, older))
    if json:
        report: dict[str, Any] = {"a": str(a), "b": str(b), "same": found is None}
        names = ("revision", "field", "before", "after")
        report |= {name: getattr(found, name, None) for name in names}
        _print_json(report)
    elif found is None:
        print("the matches are the same")
    else:
        print(f"revision {found.revision}: {found.field} differs")
        print(f"  {a}: {_text(found.before)}")
        print(f"  {b}: {_text(found.after)}")
    return ExitCode.OK if found is None else ExitCode.FAILED


@app.command
def check(
    files: Annotated[list[Path], Parameter(help="Saved matches.", negative=())],
    /,
    *,
    game: Annotated[
        str, Parameter(name="--game", help="The new code: module:attribute.")
    ],
    old: Annotated[
        str | None,
        Parameter(
            name="--old",
            show_default=False,
            help="The old code, to compare all of the state; envelopes need it.",
        ),
    ] = None,
    upgrade: Annotated[
        bool,
        Parameter(
            help="Try instead whether they could go on under it, as `match upgrade` "
            "lets them.",
            negative=(),
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Play stored matches on new code; say which are the same; 1 if any is not."""
    from ...engine.machine import compile_game
    from ..games import find_game
    from ..replay.check import check_files
    from ..replay.upgrade_check import check_upgrades

    new = compile_game(find_game(game))
    if upgrade:
        good, bad = "fits", "refused"
        checked = list(check_upgrades(files, new, old))
    else:
        good, bad = "same", "differs"
        before = None if old is None else compile_game(find_game(old))
        checked = list(check_files(files, new, before))
    counts = {
        outcome: sum(each.outcome == outcome for each in checked)
        for outcome in (good, bad, "error")
    }
    if json:
        import msgspec

        rows = msgspec.to_builtins(checked)
        _print_json({"game": game, **counts, "matches": rows})
    else:
        width = max(len(each.file) for each in checked)
        for each in checked:
            at = "" if each.revision is None else f"revision {each.revision}  "
            print(f"{each.file:<{width}}  {each.outcome:<7}  {at}{each.said}".rstrip())
        print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return ExitCode.OK if counts[good] == len(checked) else ExitCode.FAILED


def _written(
    match: str,
    records: Sequence[Record],
    game: str | None,
    also: Sequence[str],
    *,
    envelope: bool,
) -> tuple[bytes, bool]:
    """What is written of a log, and whether it was verified: its game may be missing.

    Raises:
        OperatorError: The named game cannot be had, or an envelope needs one.
    """
    from ...engine.replay.envelope import write_envelope
    from ...engine.replay.log_file import write_log_file
    from ...engine.replay.save import save_log
    from ..replay.saved_match import find_machine, find_older, saved_log

    saved = saved_log(match, records)
    try:
        machine, older = find_machine(saved, game), find_older(saved, also)
    except OperatorError as error:
        if game is not None or envelope:
            raise
        print(f"note: {error.message}; written without snapshots", file=sys.stderr)
        return write_log_file(records), False
    if envelope:
        return write_envelope(save_log(machine, records)).encode(), True
    return write_log_file(records, machine, older), True


def _check_revision(timeline: Timeline, revision: int) -> None:
    if revision < 0 or timeline.reach(revision) != revision:
        raise OperatorError(
            "unknown_revision",
            f"there is no revision {revision}; the last one is {timeline.head}",
            exit_code=ExitCode.USAGE,
        )


def _print_json(report: dict[str, Any]) -> None:
    print(json_text.dumps(report))


def _text(value: Any) -> str:
    return json_text.dumps(value, ensure_ascii=False)
