"""What operators do to a match: judged, done, and done again from its record.

Each is one record with the id of its command (`op`), `who` and `why`:

    terminate  the match ends with a result that says so
    edit       a JSON patch is applied to G; `restores`: it undoes an edit
    upgrade    the match goes on under another version of its game
    action     with `operator` in its input: a seat is resigned

Rules:
- A command is done once: its id has a place in the match's state, and a repeat is
  answered as before. An id older than those that were forgotten is `expired_key`.
- An edit or an upgrade is undone only until the match is played on.
- Nothing that a player takes back goes past such a record, and older views are stale.
- What the new state's views say is looked at before, so that no edit blinds a seat.
- A match is terminated whatever its size: else nobody could end it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from ..engine.digest import canonical_bytes
from ..engine.errors import InvalidJsonValueError, TooDeepError
from ..engine.frozen import EMPTY_LIST, FDict, enclose
from ..engine.jsonvalue import Json
from ..engine.limits import PATCH_BYTES_MAX
from ..engine.machine import Machine
from ..engine.operator import (
    edit_state,
    make_patch,
    resign_event,
    terminate_match,
    upgrade_state,
    view_problem,
)
from ..engine.record import Record, RecordKind
from ..engine.refusal import Refusal, refuse
from ..engine.step import Batch
from ..engine.takeback import NO_UNDO, UndoState
from ..engine.versions import FindMachine
from .command import (
    Applied,
    Denied,
    Edit,
    Intervention,
    ResignSeat,
    Terminate,
    Upgrade,
)
from .decision import Decision, deny, refusal, size_problem
from .interventions import (
    OP_LENGTH_MAX,
    WHO_LENGTH_MAX,
    WHY_LENGTH_MAX,
    Interventions,
    RememberedOp,
    Reversal,
)
from .match_change import Change, advance, content_digest, seal_change
from .match_state import RECORDS_MAX, MatchState, SeatState

__all__ = ["INTERVENTIONS", "decide_intervention", "redo_intervention"]

INTERVENTIONS: Final = frozenset(
    {RecordKind.TERMINATE, RecordKind.EDIT, RecordKind.UPGRADE}
)
"""The kinds of records that are nothing but an operator's."""


def decide_intervention(
    state: MatchState, asked: Intervention, time_ms: int, find_machine: FindMachine
) -> Decision:
    """Judge an operator's command."""
    if problem := _shape_problem(asked):
        return deny(state, "malformed_request", problem)
    given = _given(state, asked)
    if isinstance(given, Refusal):
        return Decision(state, Denied(given, state.revision))
    known = state.interventions.judge(asked.op, _content(given))
    if isinstance(known, RememberedOp):
        return Decision(state, Applied(known.revision, known.index))
    if known is not None:
        return deny(state, known)
    if state.ended:
        return deny(state, "game_over")
    if state.index + 1 >= RECORDS_MAX and not isinstance(asked, Terminate):
        return deny(state, "too_large", f"the match has {RECORDS_MAX:,} records")
    if isinstance(asked, Terminate):
        outcome: Change | Refusal = _terminate(state, given, time_ms)
    elif isinstance(asked, Edit):
        outcome = _asked_edit(state, asked, given, time_ms)
    elif isinstance(asked, Upgrade):
        outcome = _asked_upgrade(state, asked, given, time_ms, find_machine)
    elif isinstance(asked, ResignSeat):
        outcome = _asked_resign(state, given, time_ms)
    else:
        raise TypeError(f"{type(asked).__name__} is no command")
    if isinstance(outcome, Refusal):
        return Decision(state, Denied(outcome, state.revision))
    if (problem := size_problem(outcome)) and not isinstance(asked, Terminate):
        return deny(state, "too_large", problem)
    if isinstance(asked, Edit | Upgrade):
        after = outcome.state
        if blind := view_problem(after.machine, after.snapshot):
            return deny(state, "view_error", blind)
    applied = Applied(outcome.record.revision_after, outcome.record.index)
    return Decision(outcome.state, applied, outcome)


def redo_intervention(
    machine: Machine, state: MatchState, record: Record, time_ms: int
) -> Change | Refusal | str:
    """Do again what a record of an operator's did; anything but a change says why not.

    `machine` is that of the version that an upgrade names.
    """
    given: FDict = record.input
    if record.kind is RecordKind.ACTION:
        op: object = given["operator"]["op"]
    else:
        op = given["op"]
    if not isinstance(op, str):
        return "its command has no id"
    if state.interventions.judge(op, _content(given)) is not None:
        return "its command stands in the log already"
    if record.kind is RecordKind.TERMINATE:
        return _terminate(state, given, time_ms)
    if record.kind is RecordKind.EDIT:
        return _edit(state, given, time_ms)
    if record.kind is RecordKind.UPGRADE:
        names = (machine.game.name, given["from"], given["to"])
        game = state.machine.game
        if names != (game.name, game.version, machine.game.version):
            return f"it does not lead from {game.name} {game.version} on"
        return _upgrade(machine, state, given, time_ms)
    return _resign(state, given, time_ms)


def _shape_problem(asked: Intervention) -> str:
    op = asked.op
    if not 1 <= len(op) <= OP_LENGTH_MAX or not (op.isascii() and op.isprintable()):
        return f"the id of a command has 1 to {OP_LENGTH_MAX} printable characters"
    if len(asked.who) > WHO_LENGTH_MAX or len(asked.why) > WHY_LENGTH_MAX:
        return (
            f"who has at most {WHO_LENGTH_MAX} characters, and why {WHY_LENGTH_MAX:,}"
        )
    base = asked.base_revision if isinstance(asked, Edit) else None
    if base is not None and base < 0:
        return f"base_revision must not be negative, as {base} is"
    return ""


def _given(state: MatchState, asked: Intervention) -> FDict | Refusal:
    """What the record's input says of the command itself."""
    said: dict[str, Json] = {"op": asked.op, "who": asked.who, "why": asked.why}
    if isinstance(asked, Edit):
        said["patch"] = EMPTY_LIST if asked.undo else asked.patch
        said["base_revision"] = asked.base_revision
        said["restores"] = state.revision - 1 if asked.undo else None
    elif isinstance(asked, Upgrade):
        said["from"], said["to"] = state.machine.game.version, asked.to
    elif isinstance(asked, ResignSeat):
        said = {
            "action_id": f"op:{asked.op}",
            "seat": asked.seat,
            "event": None,
            "payload": None,
            "operator": said,
        }
    try:
        given: FDict = enclose(said, label="the command")
    except TooDeepError as error:
        return refusal("too_deep", str(error))
    except InvalidJsonValueError as error:
        return refusal("non_serializable_args", str(error))
    return given


def _content(given: Mapping[str, Json]) -> bytes:
    """What a command's id stands for, from its record's input: not what it found."""
    if "operator" in given:
        said = given["operator"]
        return content_digest("resign", given["seat"], said["who"], said["why"])
    who = (given["who"], given["why"])
    if "restores" in given:
        undo = given["restores"] is not None
        patch = None if undo else given["patch"]
        return content_digest("edit", undo, patch, given["base_revision"], *who)
    if "to" in given:
        return content_digest("upgrade", given["to"], *who)
    return content_digest("terminate", *who)


def _terminate(state: MatchState, given: FDict, time_ms: int) -> Change | Refusal:
    batch = terminate_match(state.snapshot, given, now=state.clock_ms(time_ms))
    if isinstance(batch, Refusal):
        return batch
    return _changed(state, RecordKind.TERMINATE, given, time_ms, batch)


def _asked_edit(
    state: MatchState, asked: Edit, given: FDict, time_ms: int
) -> Change | Refusal:
    base = asked.base_revision
    if base is not None and base != state.revision:
        return refusal("stale_revision")
    if asked.undo:
        edited = state.interventions.edited
        if edited is None or edited.revision != state.revision:
            return refusal(
                "nothing_to_undo",
                "The match has no edit, or was played on since its last one.",
            )
        given = _with_patch(given, state.snapshot.G, edited.G)
    size = len(canonical_bytes(given["patch"]))
    if size > PATCH_BYTES_MAX:
        text = f"the patch is {size:,} bytes; the limit is {PATCH_BYTES_MAX:,}"
        return refusal("too_large", text)
    return _edit(state, given, time_ms)


def _edit(state: MatchState, given: FDict, time_ms: int) -> Change | Refusal:
    batch = edit_state(
        state.machine, state.snapshot, given, now=state.clock_ms(time_ms)
    )
    if isinstance(batch, Refusal):
        return batch
    game, before = state.machine.game, state.snapshot
    edited = Reversal(batch.snapshot.revision, game.version, before.G)
    kept = state.interventions.played_on()
    return _changed(
        state,
        RecordKind.EDIT,
        given,
        time_ms,
        batch,
        msgspec.structs.replace(kept, edited=edited),
    )


def _asked_upgrade(
    state: MatchState,
    asked: Upgrade,
    given: FDict,
    time_ms: int,
    find_machine: FindMachine,
) -> Change | Refusal:
    game, known = state.machine.game, state.interventions
    if asked.to == game.version:
        return refusal("same_version")
    machine = find_machine(game.name, asked.to)
    if machine is None:
        text = f"This node does not have {game.name} in version {asked.to}."
        return refusal("version_missing", text)
    upgraded = known.upgraded
    if upgraded is not None and (upgraded.revision, upgraded.version) == (
        state.revision,
        asked.to,
    ):
        given = _with_patch(given, state.snapshot.G, upgraded.G)
        size = len(canonical_bytes(given["patch"]))
        if size > PATCH_BYTES_MAX:
            text = f"the way back is {size:,} bytes; the limit is {PATCH_BYTES_MAX:,}"
            return refusal("too_large", text)
    elif machine.game.migrate is None and asked.to in known.left:
        return refuse(
            "migrate_failed",
            f"Version {asked.to} declares no migrate, and G was made another since.",
        )
    return _upgrade(machine, state, given, time_ms)


def _upgrade(
    machine: Machine, state: MatchState, asked: FDict, time_ms: int
) -> Change | Refusal:
    before, was = state.snapshot, state.machine.game.version
    upgraded = upgrade_state(machine, before, asked, now=state.clock_ms(time_ms))
    if isinstance(upgraded, Refusal):
        return upgraded
    batch, given = upgraded
    kept = state.interventions
    left = [version for version in kept.left if version != machine.game.version]
    remade = canonical_bytes(batch.snapshot.G) != canonical_bytes(before.G)
    if remade and "patch" not in given:
        left.append(was)
    return _changed(
        state,
        RecordKind.UPGRADE,
        given,
        time_ms,
        batch,
        Interventions(
            kept.ops,
            kept.floor,
            None,
            Reversal(batch.snapshot.revision, was, before.G),
            tuple(left),
        ),
        machine,
    )


def _asked_resign(state: MatchState, given: FDict, time_ms: int) -> Change | Refusal:
    if given["seat"] not in state.seats:
        return refusal("unknown_seat")
    resigns = resign_event(state.machine.game)
    if resigns is None:
        text = "The game has no event by which a seat is given up: end the match."
        return refuse("no_resign", text)
    event, payload = resigns
    said = {**given, "event": event, "payload": payload}
    return _resign(state, enclose(said, label="the command"), time_ms)


def _resign(state: MatchState, given: FDict, time_ms: int) -> Change | Refusal:
    batch = state.machine.apply(
        state.snapshot,
        given["seat"],
        given["event"],
        given["payload"],
        now=state.clock_ms(time_ms),
        action_id=given["action_id"],
        by_operator=True,
    )
    if isinstance(batch, Refusal):
        return batch
    return _changed(state, RecordKind.ACTION, given, time_ms, batch)


def _changed(
    state: MatchState,
    kind: RecordKind,
    given: FDict,
    time_ms: int,
    batch: Batch,
    interventions: Interventions | None = None,
    machine: Machine | None = None,
) -> Change:
    """Seal the record. Interventions are as given, or as after a move, with the command
    remembered; `machine` is the state's from now on."""
    record, packed = seal_change(state, kind, given, time_ms, batch.snapshot, batch)
    said = given.get("operator", given)
    done = RememberedOp(
        said["op"], _content(given), record.revision_after, record.index
    )
    if interventions is None:
        interventions = state.interventions.played_on()
    seats: dict[str, SeatState] = {}
    resigned = given["seat"] if kind is RecordKind.ACTION else None
    if resigned is not None:
        seats[resigned] = msgspec.structs.replace(
            state.seats[resigned], touched_revision=state.revision + 1
        )
    goes_on = machine or state.machine
    undo = NO_UNDO
    if goes_on.game.undo is not None:
        undo = UndoState(since=record.revision_after)
    after = advance(
        state,
        record,
        batch,
        seats,
        time_ms=time_ms,
        waiting_ms=state.armed_ms,
        packed=packed,
        undo=undo,
        interventions=interventions.remember(done),
    )
    if resigned is None:
        after = msgspec.structs.replace(
            after, machine=goes_on, position_revision=after.revision
        )
    return Change(after, record, batch)


def _with_patch(given: FDict, now: Json, wanted: Json) -> FDict:
    """The input that leads G back."""
    said: FDict = enclose({**given, "patch": make_patch(now, wanted)})
    return said
