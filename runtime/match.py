"""The match state machine: commands in, records and answers out.

`create_match` and `decide` judge; every change of a match is one record, sealed into
the digest chain. `replay_match` builds the same state from the records alone, and
checks every digest on the way.

Rules:
- The order of checks of an action or a takeback: shape, seat, key, base revision,
  engine.
- A refusal changes nothing: the state in the decision is the one that was given.
- The time of a record is never before the last one's. A deadline fires at most once
  per revision, and is stamped with its own time even if it is overdue.
- No I/O, no clock, no randomness: the time, the seed and tokens are arguments.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from ..engine.errors import (
    DigestMismatchError,
    EngineError,
    InvalidJsonValueError,
    ReplayError,
    TooDeepError,
)
from ..engine.frozen import freeze
from ..engine.jsonvalue import Json
from ..engine.limits import G_BYTES_HARD_MAX, SAFE_INT_MAX
from ..engine.machine import Machine
from ..engine.record import Record, RecordKind
from ..engine.refusal import Refusal
from ..engine.versions import FindMachine, Versions, no_machines
from .command import (
    Act,
    Applied,
    Attach,
    Attached,
    Command,
    Credited,
    CreditOutage,
    Denied,
    Detach,
    Detached,
    FireDeadline,
    Intervention,
    Noted,
    NoteDelivered,
    NotFired,
    SeatHeld,
    TakeBack,
    TakeSeat,
)
from .decision import Decision, deny, refusal, size_problem
from .dedupe import KeyVerdict, KeyWindow, RememberedKey
from .errors import StateTooLarge
from .match_change import (
    Change,
    apply_action,
    apply_attach,
    apply_create,
    apply_credit_outage,
    apply_delivered,
    apply_detach,
    apply_seat,
    apply_session,
    apply_takeback,
    apply_timeout,
    content_digest,
)
from .match_id import pinned_shard
from .match_operator import INTERVENTIONS, decide_intervention, redo_intervention
from .match_state import RECORDS_MAX, MatchState

__all__ = [
    "CREDITED_MS_MIN",
    "RECORDS_MAX",
    "TOKEN_LENGTH_MAX",
    "TOKEN_LENGTH_MIN",
    "Decision",
    "create_match",
    "decide",
    "redo",
    "refusal",
    "replay_match",
    "replay_states",
]

# Milliseconds of an outage below which nothing is credited: a failover is no outage.
CREDITED_MS_MIN = 1_000

# Characters of a resume token: 128 bits in hexadecimal are 32.
TOKEN_LENGTH_MIN = 16
TOKEN_LENGTH_MAX = 128

# Characters of an event's name as it is asked for; a record repeats it.
_EVENT_NAME_MAX = 256


def create_match(
    machine: Machine,
    *,
    match: str,
    epoch: int,
    creation: str,
    match_input: Json,
    seed: str,
    now_ms: int,
) -> Change:
    """Start a match: its state, and the record at index 0.

    `creation` is a digest of what was asked for, to tell a repeat from a key that is
    used again.

    Raises:
        InvalidGameError: The game does not pass validation.
        InvalidMatchError: The match input does not fit the game.
        StateTooLarge: The state that it begins with is beyond the hard limit.
    """
    given = {
        "game": machine.game.name,
        "version": machine.game.version,
        "match": match_input,
        "seed": seed,
        "id": match,
        "epoch": epoch,
        "creation": creation,
    }
    change = apply_create(machine, given, now_ms)
    if problem := size_problem(change):
        raise StateTooLarge(problem)
    return change


def decide(
    state: MatchState,
    command: Command,
    now_ms: int,
    find_machine: FindMachine = no_machines,
) -> Decision:
    """Judge a command at a time; `now_ms` may lie before the last record's.

    `find_machine` gives the versions that an operator may upgrade to.
    """
    time_ms = max(state.time_ms, now_ms)
    if isinstance(command, Act):
        return _decide_action(state, command, time_ms)
    if isinstance(command, TakeBack):
        return _decide_takeback(state, command, time_ms)
    if isinstance(command, TakeSeat):
        return _decide_seat(state, command, time_ms)
    if isinstance(command, CreditOutage):
        return _decide_credit(state, command, time_ms)
    if isinstance(command, NoteDelivered):
        return _decide_delivered(state, command, time_ms)
    if isinstance(command, Detach):
        return _decide_detach(state, command, time_ms)
    if isinstance(command, Attach):
        return _decide_attach(state, time_ms)
    if isinstance(command, Intervention):
        return decide_intervention(state, command, time_ms, find_machine)
    return _decide_timeout(state, command)


def replay_match(
    machine: Machine,
    records: Iterable[Record],
    find_machine: FindMachine = no_machines,
) -> MatchState:
    """Rebuild a match from its records, and check every digest.

    `machine` is a version of its game; `find_machine` gives others, if it was upgraded.

    Raises:
        DigestMismatchError: A record says something else than it leads to.
        ReplayError: A record cannot be played back, or there is none.
    """
    last = deque(replay_states(machine, records, find_machine), maxlen=1)
    if not last:
        raise ReplayError(0, "there are no records")
    return last[0]


def replay_states(
    machine: Machine,
    records: Iterable[Record],
    find_machine: FindMachine = no_machines,
) -> Iterator[MatchState]:
    """Rebuild a match record by record: the state after each, once it is checked.

    The machines are those of `replay_match`.

    Raises, from the iteration:
        DigestMismatchError: A record says something else than it leads to.
        ReplayError: A record cannot be played back.
    """
    state: MatchState | None = None
    versions = Versions(machine, find_machine)
    for record in records:
        wanted = machine
        if record.kind in (RecordKind.CREATE, RecordKind.UPGRADE):
            to = "version" if record.kind is RecordKind.CREATE else "to"
            found = versions.get(record.input.get(to))
            if found is None and record.kind is RecordKind.UPGRADE:
                raise ReplayError(
                    record.index,
                    f"the match goes on under version {record.input.get(to)!r} of "
                    f"{machine.game.name}, which is not at hand",
                )
            wanted = found or machine
        state = redo(wanted, state, record).state
        yield state


def redo(machine: Machine, state: MatchState | None, record: Record) -> Change:
    """Do again what the next record of a match did; `state` None: its first.

    `machine` is the one that a creation or an upgrade names; else it is the state's.

    Raises:
        DigestMismatchError: It says something else than it leads to.
        ReplayError: It cannot be played back, or is not the next.
    """
    place = 0 if state is None else state.index + 1
    if record.index != place:
        raise ReplayError(place, f"the record here has index {record.index}")
    try:
        change = _again(machine, state, record)
    except (KeyError, TypeError, EngineError) as error:
        raise ReplayError(place, f"cannot be played back: {error}") from error
    if not isinstance(change, Change):
        raise ReplayError(place, f"is refused now: {change}")
    if change.record != record:
        _tell_difference(change.record, record)
    return change


def _decide_action(state: MatchState, act: Act, time_ms: int) -> Decision:
    try:
        payload = freeze(act.payload, label="payload")
    except TooDeepError as error:
        return deny(state, "too_deep", str(error))
    except InvalidJsonValueError as error:
        return deny(state, "non_serializable_args", str(error))
    content = content_digest(act.event, payload)
    if known := _known_before(state, act, content):
        return known
    base = act.base_revision
    if base is not None and not (
        state.judged_revision(act.seat) <= base <= state.revision
    ):
        return deny(state, "stale_revision")
    given = {
        "action_id": f"{act.seat}:{act.session}:{act.action}",
        "seat": act.seat,
        "session": act.session,
        "action": act.action,
        "event": act.event,
        "payload": payload,
    }
    outcome = apply_action(state, given, content, time_ms)
    if isinstance(outcome, Refusal):
        return Decision(state, Denied(outcome, state.revision))
    if size_problem(outcome):  # by how much is no player's to know
        limit = f"the state would be beyond its limit of {G_BYTES_HARD_MAX:,} bytes"
        return deny(state, "too_large", limit)
    applied = Applied(outcome.record.revision_after, outcome.record.index)
    return Decision(outcome.state, applied, outcome)


def _decide_takeback(state: MatchState, asked: TakeBack, time_ms: int) -> Decision:
    content = _takeback_content(asked.verb, asked.revision)
    if known := _known_before(state, asked, content):
        return known
    base = asked.base_revision
    if base is not None and not state.undo.since <= base <= state.revision:
        return deny(state, "stale_revision")
    given = {
        "action_id": f"{asked.seat}:{asked.session}:{asked.action}",
        "seat": asked.seat,
        "session": asked.session,
        "action": asked.action,
        "verb": asked.verb,
        "revision": asked.revision,
    }
    outcome = apply_takeback(state, given, content, time_ms)
    if isinstance(outcome, Refusal):
        return Decision(state, Denied(outcome, state.revision))
    applied = Applied(outcome.record.revision_after, outcome.record.index)
    return Decision(outcome.state, applied, outcome)


def _takeback_content(verb: str, revision: int | None) -> bytes:
    """What its key stands for: three parts, where an action has two."""
    return content_digest(RecordKind.TAKEBACK.value, verb, revision)


def _known_before(
    state: MatchState, asked: Act | TakeBack, content: bytes
) -> Decision | None:
    """What can be said without the engine; None if the engine is to judge."""
    if problem := _shape_problem(asked):
        return deny(state, "malformed_request", problem)
    seat = state.seats.get(asked.seat)
    if seat is None:
        return deny(state, "unknown_seat")
    verdict = seat.window.judge(asked.session, asked.action, content)
    if isinstance(verdict, RememberedKey):
        return Decision(state, Applied(verdict.revision, verdict.index))
    if verdict is not KeyVerdict.FRESH:
        return deny(state, verdict.value)
    if state.index + 1 >= RECORDS_MAX:
        return deny(state, "too_large", f"the match has {RECORDS_MAX:,} records")
    return None


def _shape_problem(act: Act | TakeBack) -> str:
    if not 1 <= act.action <= SAFE_INT_MAX:
        return f"action must be a positive integer, not {act.action}"
    if act.base_revision is not None and act.base_revision < 0:
        return f"base_revision must not be negative, as {act.base_revision} is"
    if isinstance(act, TakeBack):
        revision = act.revision
        if revision is not None and not 0 <= revision <= SAFE_INT_MAX:
            return f"revision must be one of the match's, not {revision}"
        return ""
    if len(act.event) > _EVENT_NAME_MAX:
        return f"an event's name has at most {_EVENT_NAME_MAX} characters"
    return ""


def _decide_seat(state: MatchState, take: TakeSeat, time_ms: int) -> Decision:
    seat = state.seats.get(take.seat)
    if seat is None:
        return deny(state, "unknown_seat")
    token = take.offered or take.drawn
    if not TOKEN_LENGTH_MIN <= len(token) <= TOKEN_LENGTH_MAX or not token.isascii():
        return deny(
            state,
            "malformed_request",
            f"a resume token has {TOKEN_LENGTH_MIN} to {TOKEN_LENGTH_MAX} characters",
        )
    free = not seat.token_hash
    if not free and not hmac.compare_digest(seat.token_hash, _token_hash(take.offered)):
        return deny(state, "seat_taken")
    if not free and not take.fresh:
        number = take.session or seat.window.newest
        if seat.window.session(number) is None:
            return deny(state, "expired_key")
        return Decision(state, _held(take.seat, seat.window, token, number))
    if state.ended:
        return deny(state, "game_over")
    if state.index + 1 >= RECORDS_MAX:
        return deny(state, "too_large", f"the match has {RECORDS_MAX:,} records")
    number = seat.window.newest + 1
    given: dict[str, Json] = {"seat": take.seat, "session": number}
    if free:
        given["token"] = _token_hash(token)
        change = apply_seat(state, given, time_ms)
    else:
        change = apply_session(state, given, time_ms)
    window = change.state.seats[take.seat].window
    held = _held(take.seat, window, token, window.newest)
    return Decision(change.state, held, change)


def _held(seat: str, window: KeyWindow, token: str, number: int) -> SeatHeld:
    session = window.session(number)
    assert session is not None, number
    return SeatHeld(seat, number, token, session.highest + 1)


def _token_hash(token: str) -> str:
    return hashlib.blake2b(token.encode(), digest_size=16).hexdigest()


def _decide_timeout(state: MatchState, fire: FireDeadline) -> Decision:
    if fire.revision != state.revision or state.armed_ms is None:
        return Decision(state, NotFired())
    if state.index + 1 >= RECORDS_MAX:
        too_many = f"the match has {RECORDS_MAX:,} records"
        return Decision(state, NotFired(refusal("too_large", too_many)))
    given = {"action_id": f"timeout:{fire.revision}"}
    outcome = apply_timeout(state, given, max(state.armed_ms, state.time_ms))
    if outcome is None:
        unanswered = "no transition answers to the deadline that passed"
        return Decision(state, NotFired(refusal("invalid_event", unanswered)))
    if isinstance(outcome, Refusal):
        return Decision(state, NotFired(outcome))
    if problem := size_problem(outcome):
        return Decision(state, NotFired(refusal("too_large", problem)))
    applied = Applied(outcome.record.revision_after, outcome.record.index)
    return Decision(outcome.state, applied, outcome)


def _decide_credit(state: MatchState, credit: CreditOutage, time_ms: int) -> Decision:
    # Before the last record the match's clock has passed already.
    ms = min(credit.ms, time_ms - state.time_ms)
    if (
        ms < CREDITED_MS_MIN
        or state.armed_ms is None
        or not state.machine.game.credit_outages
        or state.index + 1 >= RECORDS_MAX
    ):
        return Decision(state, Credited())
    change = apply_credit_outage(state, {"ms": ms}, time_ms)
    return Decision(change.state, Credited(ms), change)


def _decide_delivered(state: MatchState, note: NoteDelivered, time_ms: int) -> Decision:
    if not state.ended or state.reported or note.index != state.index:
        return Decision(state, Noted(False))
    change = apply_delivered(state, {"index": note.index}, time_ms)
    return Decision(change.state, Noted(True), change)


def _decide_detach(state: MatchState, detach: Detach, time_ms: int) -> Decision:
    if state.pinned or state.index + 1 >= RECORDS_MAX:
        return Decision(state, Detached(0))
    n = state.pins if detach.again else state.pins + 1
    if not n:
        return Decision(state, Detached(0))
    shard = pinned_shard(state.match, n, detach.first)
    change = apply_detach(state, {"shard": shard, "n": n}, time_ms)
    return Decision(change.state, Detached(shard), change)


def _decide_attach(state: MatchState, time_ms: int) -> Decision:
    """Whatever its number: else a match could be held for ever."""
    if not state.pinned:
        return Decision(state, Attached(False))
    change = apply_attach(state, {"shard": state.pinned}, time_ms)
    return Decision(change.state, Attached(True), change)


def _again(
    machine: Machine, state: MatchState | None, record: Record
) -> Change | Refusal | str | None:
    """Do again what a record did; anything but a change says why it cannot be."""
    given, time_ms = record.input, record.time_ms
    if not isinstance(time_ms, int):
        return "its time is not a whole number of milliseconds"
    if record.kind is RecordKind.CREATE:
        if state is not None:
            return "a match is created once"
        name = (machine.game.name, machine.game.version)
        if (given["game"], given["version"]) != name:
            return f"it is of {given['game']} {given['version']}, not {name}"
        return apply_create(machine, given, time_ms)
    if state is None:
        return "a match begins with its create record"
    if time_ms < state.time_ms:
        return "its time lies before the last record's"
    if record.kind is RecordKind.SEAT:
        return apply_seat(state, given, time_ms)
    if record.kind is RecordKind.SESSION:
        return apply_session(state, given, time_ms)
    if record.kind in INTERVENTIONS or "operator" in given:
        return redo_intervention(machine, state, record, time_ms)
    if record.kind is RecordKind.ACTION:
        return _redo_action(state, given, time_ms)
    if record.kind is RecordKind.TIMEOUT:
        return apply_timeout(state, given, time_ms)
    if record.kind is RecordKind.TAKEBACK:
        return _redo_takeback(state, given, time_ms)
    if record.kind is RecordKind.CREDIT_OUTAGE:
        return _redo_credit(state, given, time_ms)
    if record.kind is RecordKind.RESULT_DELIVERED:
        if not state.ended or state.reported or given["index"] != state.index:
            return "there is no such result to be delivered"
        return apply_delivered(state, given, time_ms)
    if record.kind is RecordKind.DETACH:
        if state.pinned or given["n"] not in (state.pins, state.pins + 1):
            return "it had left before"
        return apply_detach(state, given, time_ms)
    if record.kind is RecordKind.ATTACH:
        if not state.pinned or given["shard"] != state.pinned:
            return "it had not left"
        return apply_attach(state, given, time_ms)
    return f"records of kind {record.kind} are not known here"


def _redo_takeback(
    state: MatchState, given: Mapping[str, Json], time_ms: int
) -> Change | Refusal | str:
    content = _takeback_content(given["verb"], given["revision"])
    window = state.seats[given["seat"]].window
    verdict = window.judge(given["session"], given["action"], content)
    if verdict is not KeyVerdict.FRESH:
        return "its key stands in the log already"
    asked = {name: given[name] for name in given if name not in ("phase", "to")}
    return apply_takeback(state, asked, content, time_ms)


def _redo_action(
    state: MatchState, given: Mapping[str, Json], time_ms: int
) -> Change | Refusal | str:
    content = content_digest(given["event"], given["payload"])
    window = state.seats[given["seat"]].window
    verdict = window.judge(given["session"], given["action"], content)
    if verdict is not KeyVerdict.FRESH:
        return "its key stands in the log already"
    return apply_action(state, given, content, time_ms)


def _redo_credit(
    state: MatchState, given: Mapping[str, Json], time_ms: int
) -> Change | str:
    ms = given["ms"]
    if not state.machine.game.credit_outages:
        return "the game has no outages credited"
    if type(ms) is not int or not 0 < ms <= time_ms - state.time_ms:
        return f"{ms!r} ms cannot be credited"
    return apply_credit_outage(state, given, time_ms)


def _tell_difference(mine: Record, theirs: Record) -> None:
    for field in ("prev_digest", "time_ms", "revision_after", "input", "digest"):
        if getattr(mine, field) != getattr(theirs, field):
            raise DigestMismatchError(theirs.index, field)
