"""`hotseat match explain`: what became of an action."""

from __future__ import annotations

from collections.abc import Iterator
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ..exit_codes import ExitCode
from ..operator_error import OperatorError
from .operate import check_matches
from .options import Also, Cluster, Dir, Json, Rules, place

if TYPE_CHECKING:
    from ...engine.replay.timeline import Timeline
    from ..operator.trace_rows import ExplainedRow

__all__ = ["explain"]

VALUE_WIDTH_MAX = 60
"""Characters of a value in a line; --json has all of it."""


def explain(
    match: Annotated[str, Parameter(name="MATCH")],
    key: Annotated[
        str,
        Parameter(
            name="KEY",
            help="The action's key, seat:session:action; or the number of a record.",
        ),
    ],
    /,
    *,
    game: Rules = None,
    also: Also = None,
    dir: Dir = None,
    cluster: Cluster = None,
    json: Json = False,
) -> int:
    """Tell what became of an action: when it came and through which node, who was
    asked and what they said, when each copy had it, when it was answered.

    The log says what it did, for as long as it is kept. How it came there is
    remembered by the nodes, for the newest actions alone, refused ones among them. It
    is for operators: payloads are shown, whoever may see them in the game.

    Exit status 0: it is known. 1: nobody knows of it. 3: no node answers.
    """
    import anyio

    from ..operator.explain import explain as find
    from ..operator.explain import read_target
    from .shown import cell, print_all, print_json

    check_matches([match])
    try:
        target = read_target(key)
    except ValueError:
        raise OperatorError(
            "usage",
            f"{key} is no key of an action, nor the number of a record",
            hint="a key is seat:session:action; hotseat inspect MATCH shows records",
            exit_code=ExitCode.USAGE,
        ) from None

    def open_log(saved: Any) -> Timeline:
        opened: Timeline = saved.open(game, also or [])
        return opened

    found = anyio.run(find, place(dir, cluster), match, target, open_log)
    if json:
        print_json(found)
    else:
        print_all(*(cell(line) for line in _lines(found)))
    return ExitCode.OK if found.outcome != "unknown" else ExitCode.FAILED


def _lines(found: ExplainedRow) -> Iterator[str]:
    from ..play.show import safe

    yield from map(safe, _head(found))
    for frame in found.frames:
        yield from map(safe, _frame(frame))
    for trace in found.nodes.values():
        for judged in trace.decided:
            if judged.record is None:
                yield from map(safe, _refusal(judged))
    if found.moments:
        yield "when:"
        first_ms = found.moments[0].at_ms
        for moment in found.moments:
            after = moment.at_ms - first_ms
            yield safe(f"  {after:+10.1f} ms  {moment.node:<8} {moment.what}")
    for note in found.notes:
        yield safe(f"note: {note}")


def _head(found: ExplainedRow) -> Iterator[str]:
    what = f"action {found.action}" if found.action else "record"
    record = found.record
    if record is not None:
        times = found.times_asked
        asked = f", asked for {times} times" if times > 1 else ""
        yield (
            f"{what} of match {found.match}: accepted as record {record.record}"
            f" ({record.kind}), revision {record.revision}{asked}"
        )
    elif found.outcome == "refused":
        yield f"{what} of match {found.match}: refused, {found.code}"
    else:
        yield f"{what} of match {found.match}: unknown"


def _frame(frame: dict[str, Any]) -> Iterator[str]:
    taken = frame.get("transition")
    by = "" if frame.get("player_id") is None else f" by seat {frame['player_id']}"
    yield f"revision {frame['revision']}: {frame.get('event') or 'created'}{by}"
    if taken is not None:
        resolver = f" by {taken['resolver']}" if taken.get("resolver") else ""
        yield f"  transition: {taken['source']} -> {taken['target']}{resolver}"
    if frame.get("payload") is not None:
        yield f"  payload: {_brief(frame['payload'])}"
    yield from _evaluations(frame.get("evaluations") or ())
    for change in frame.get("diffs") or ():
        before, after = _brief(change["before"]), _brief(change["after"])
        yield f"  changes {change['path']}: {before} -> {after}"


def _brief(value: Any) -> str:
    text = dumps(value, ensure_ascii=False)
    return text if len(text) <= VALUE_WIDTH_MAX else f"{text[: VALUE_WIDTH_MAX - 1]}…"


def _refusal(judged: Any) -> Iterator[str]:
    said = f": {judged.reason}" if judged.reason else ""
    yield f"refused at revision {judged.revision}: {judged.message}{said}"
    if judged.fault:
        yield f"  the game failed: {judged.fault.get('message', '')}"
    yield from _evaluations(judged.evaluations or ())


def _evaluations(evaluations: Any) -> Iterator[str]:
    for evaluation in evaluations:
        outcome = evaluation["outcome"].replace("_", " ")
        yield f"  asked at {evaluation['source']}: {outcome}"
        for one in evaluation["candidates"]:
            mark = "+" if one["matched"] else "-"
            name = one.get("resolver") or ""
            why = ""
            if not one["matched"]:
                rejected = one.get("rejected_by") == "reject"
                why = f": {one.get('reason') or 'rejected'}" if rejected else ""
                why = why or ": does not apply"
            line = f"    {mark} {one['source']} -> {one['target']}  {name}".rstrip()
            yield f"{line}{why}"
