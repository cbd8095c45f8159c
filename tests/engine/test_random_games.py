"""Whatever the game and whatever its players do, the engine keeps its promises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from hotseat.engine import (
    Batch,
    InvalidGameError,
    Record,
    Refusal,
    Session,
    Snapshot,
    create_session,
    explain,
    record_from_json,
    record_to_json,
    replay_log,
    session_from_snapshot,
    snapshot_from_json,
    snapshot_to_json,
    validate,
)
from hotseat.engine.refusal import REFUSALS
from hotseat.engine.testing.soundness import Seals, batch_faults, snapshot_faults

from .random_games import Plan, game_of, plans, scripts
from .samples import MATCH

Script = list[tuple[Any, ...]]

thorough = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def begun(plan: Plan, *, drafted: bool) -> Session | None:
    """A match of the game; None if the game is refused, as its report says."""
    game = game_of(plan, drafted=drafted)
    if not validate(game, MATCH).ok:
        with pytest.raises(InvalidGameError):
            create_session(game, MATCH, seed="random")
        return None
    return create_session(game, MATCH, seed="random")


def act(session: Session, entry: tuple[Any, ...], now: int) -> Any:
    """Do one entry of a script."""
    if len(entry) == 1:
        return session.fire_timeout(now)
    seat, event, payload, _ = entry
    if seat is None:
        seat = next(iter(session.snapshot.derived.active_players), "0")
    return session.apply(seat, event, payload, now=now)


def played(session: Session, script: Script) -> list[Snapshot]:
    """The snapshot after each record, first to last."""
    snapshots = [session.snapshot]
    now = 0
    for entry in script:
        now += entry[-1]
        if isinstance(act(session, entry, now), Batch):
            snapshots.append(session.snapshot)
    return snapshots


@thorough
@given(plans(), scripts())
def test_no_game_breaks_a_promise(plan: Plan, script: Script) -> None:
    """Every answer is a batch, a refusal or None; batches are sound, refusals empty."""
    session = begun(plan, drafted=False)
    if session is None:
        return
    machine, seals, now = session.machine, Seals(), 0
    assert list(snapshot_faults(machine, session.snapshot)) == []
    for entry in script:
        before, log, digest = session.snapshot, session.log[:], session.digest
        seals.add(before)
        now += entry[-1]
        answer = act(session, entry, now)
        if isinstance(answer, Batch):
            assert list(batch_faults(machine, before, answer)) == []
            assert answer.snapshot is session.snapshot
            assert session.log[:-1] == log
            assert explain(answer).isprintable() or "\n" in explain(answer)
        else:
            assert answer is None or answer.code in REFUSALS
            assert session.snapshot is before
            assert session.log[:] == log
            assert session.digest == digest
            assert answer is None or explain(answer)
        again = session_from_snapshot(session.game, before)
        twice = act(again, entry, now)
        assert type(twice) is type(answer)
        if isinstance(answer, Refusal):
            assert twice == answer
        elif isinstance(answer, Batch):
            assert twice.snapshot == answer.snapshot
        session.public_view()
    assert list(seals.faults()) == []


@thorough
@given(plans(), scripts())
def test_every_log_replays_to_every_snapshot(plan: Plan, script: Script) -> None:
    """Also after a trip through JSON, and from every one of its beginnings."""
    session = begun(plan, drafted=True)
    if session is None:
        return
    snapshots = played(session, script)
    log = [through_json(record) for record in session.log]
    assert log == list(session.log)
    for length, snapshot in enumerate(snapshots, start=1):
        again = replay_log(session.game, log[:length])
        assert again.snapshot == snapshot
        assert again.digest == log[length - 1].digest
        stored = json.loads(json.dumps(snapshot_to_json(snapshot)))
        restored = session_from_snapshot(session.game, snapshot_from_json(stored))
        assert restored.snapshot == snapshot


@thorough
@given(plans(), scripts())
def test_drafts_and_returned_values_give_one_match(plan: Plan, script: Script) -> None:
    """The two styles cannot be told apart by anything but their speed."""
    returned, drafted = begun(plan, drafted=False), begun(plan, drafted=True)
    if returned is None or drafted is None:
        assert returned is drafted
        return
    now = 0
    for entry in script:
        now += entry[-1]
        one, other = act(returned, entry, now), act(drafted, entry, now)
        if isinstance(one, Batch) and lost_its_draft(other):
            # A timeout that answers nothing matches, and would lose what it wrote.
            assert one.steps[0].kind == "timeout"
            return
        assert type(one) is type(other)
        if isinstance(one, Refusal):
            assert (one.code, one.reason, one.details) == (
                other.code,
                other.reason,
                other.details,
            )
        assert returned.snapshot == drafted.snapshot
        assert json.dumps(returned.snapshot.G) == json.dumps(drafted.snapshot.G)
        assert returned.digest == drafted.digest


def lost_its_draft(answer: Any) -> bool:
    """Whether a resolver wrote to its draft and did not return it."""
    fault = answer.fault if isinstance(answer, Refusal) else None
    return fault is not None and fault.exception_type == "DraftError"


def through_json(record: Record) -> Record:
    """A record as a file would give it back."""
    return record_from_json(json.loads(json.dumps(record_to_json(record))))
