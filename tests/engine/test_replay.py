"""Logs: chained digests, replay, and the first record that differs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine import (
    DigestMismatchError,
    Record,
    RecordError,
    RecordKind,
    ReplayError,
    Session,
    create_session,
    freeze,
    record_from_json,
    record_to_json,
    replay_log,
    session_from_snapshot,
    snapshot_from_json,
    snapshot_to_json,
    thaw,
)
from hotseat.engine.limits import FULL_DIGEST_EVERY
from hotseat.engine.record import seal_record

from .samples import MATCH, accepted, everything, one_state, play

ASKED = st.fixed_dictionaries(
    {},
    optional={
        "put": st.tuples(st.sampled_from("abc"), st.integers(0, 3) | st.booleans()),
        "roll": st.just(True),
        "turn": st.sampled_from(["increment", "preserve"]),
        "echo": st.integers(0, 3),
        "raise": st.booleans(),
    },
)
SCRIPTS: st.SearchStrategy[list[Any]] = st.lists(
    ASKED | st.sampled_from(["timeout", "rest", "wake"]) | st.just([]), max_size=12
)


def played(script: list[Any], **options: Any) -> Session:
    """A match of `everything` that went through a script."""
    session = create_session(everything(), MATCH, **options)
    play(session, script)
    return session


def through_json(value: Any) -> Any:
    """What a file or a wire makes of a value."""
    return json.loads(json.dumps(value))


@given(SCRIPTS, st.text(st.characters(exclude_categories=["Cs"])))
def test_a_replay_reproduces_every_snapshot_and_digest(
    script: list[Any], seed: str
) -> None:
    """From the records alone, sent through JSON, the same match comes out."""
    session = played(script, seed=seed, now=7)
    sent = [through_json(record_to_json(record)) for record in session.log]
    records = [record_from_json(record) for record in sent]
    assert records == list(session.log)
    for length in range(1, len(records) + 1):
        again = replay_log(everything(), records[:length])
        assert again.digest == records[length - 1].digest
        assert again.revision == records[length - 1].revision_after
    assert again.snapshot == session.snapshot
    assert list(again.log) == list(session.log)


@given(SCRIPTS, SCRIPTS)
def test_a_reloaded_match_goes_on_like_one_that_never_stopped(
    first: list[Any], second: list[Any]
) -> None:
    """Snapshot and log through JSON: the same snapshots and digests follow."""
    session = played(first)
    stored = through_json(snapshot_to_json(session.snapshot))
    loaded = snapshot_from_json(stored)
    assert loaded == session.snapshot
    twin = session_from_snapshot(everything(), loaded, session.log)
    play(session, second)
    play(twin, second)
    assert twin.snapshot == session.snapshot
    assert twin.digest == session.digest
    assert list(twin.log) == list(session.log)


@given(SCRIPTS)
def test_a_match_that_shares_nothing_has_the_same_digests(script: list[Any]) -> None:
    """Structural sharing is invisible: only values count."""
    session = played(script)
    machine = session.machine
    chain, before = session.log[0].digest, None
    before = machine.start(MATCH, "default", 0)
    for record in session.log[1:]:
        parted = snapshot_from_json(snapshot_to_json(before))
        if record.kind is RecordKind.ACTION:
            given_ = thaw(record.input)
            batch = machine.apply(
                parted,
                given_["seat"],
                given_["event"],
                given_["payload"],
                now=record.time_ms,
                action_id=given_["action_id"],
            )
        else:
            action_id = record.input["action_id"]
            fired = machine.fire_timeout(
                parted, now=record.time_ms, action_id=action_id
            )
            assert fired is not None
            batch = fired
        done = accepted(batch)
        sealed = seal_record(
            chain,
            index=record.index,
            kind=record.kind,
            time_ms=record.time_ms,
            revision_after=done.snapshot.revision,
            input=record.input,
            before=before,
            batch=done,
            snapshot=done.snapshot,
        )
        assert sealed == record
        chain, before = sealed.digest, done.snapshot


LONG = [{"put": ("a", n), "roll": True} for n in range(6)]


@pytest.mark.parametrize(
    ("field", "changed"),
    [
        ("index", lambda record: record.index + 1),
        ("revision_after", lambda record: record.revision_after + 1),
        ("prev_digest", lambda record: bytes(16)),
        ("digest", lambda record: bytes(16)),
        ("time_ms", lambda record: record.time_ms + 1),
        ("input", lambda record: freeze({**record.input, "seat": "0"})),
    ],
)
def test_a_changed_record_is_named(
    field: str, changed: Callable[[Record], Any]
) -> None:
    """Whatever of a record is altered, the replay stops at that very record."""
    session = played(LONG)
    records = list(session.log)
    altered = {field: changed(records[4])}
    records[4] = msgspec.structs.replace(records[4], **altered)
    with pytest.raises(DigestMismatchError) as caught:
        replay_log(everything(), records)
    assert caught.value.index == 4
    assert caught.value.field in (field, "digest")


def test_rules_that_changed_are_found_at_the_first_record_they_change() -> None:
    """Other rules under the same name and version do not pass for the old ones."""

    def resolve(ctx: Any) -> Any:
        return {"G": {"n": ctx.event.payload}}

    def changed(ctx: Any) -> Any:
        return {"G": {"n": min(ctx.event.payload, 2)}}

    session = create_session(one_state(resolve), MATCH)
    for n in range(5):
        accepted(session.apply("0", "go", n, now=n))
    with pytest.raises(DigestMismatchError) as caught:
        replay_log(one_state(changed), session.log)
    assert caught.value.index == 4


def test_a_missing_record_is_named() -> None:
    """A gap in the log shows at the record after it."""
    records = list(played(LONG).log)
    with pytest.raises(DigestMismatchError) as caught:
        replay_log(everything(), [*records[:3], *records[4:]])
    assert (caught.value.index, caught.value.field) == (3, "index")


def test_every_256th_digest_covers_the_whole_state() -> None:
    """A fault in a part that nobody changes is found within 256 records."""
    session = played([])
    while len(session.log) < FULL_DIGEST_EVERY + 1:
        accepted(session.apply("0", "change", {}, now=1))
    records = session.log
    spoiled_G = freeze({**session.snapshot.G, "still": "spoiled"})
    spoiled = msgspec.structs.replace(session.snapshot, G=spoiled_G)
    for index, noticed in ((255, False), (256, True)):
        record = records[index]
        sealed = seal_record(
            record.prev_digest,
            index=index,
            kind=record.kind,
            time_ms=record.time_ms,
            revision_after=record.revision_after,
            input=record.input,
            before=spoiled,
            batch=None,
            snapshot=spoiled,
        )
        plain = seal_record(
            record.prev_digest,
            index=index,
            kind=record.kind,
            time_ms=record.time_ms,
            revision_after=record.revision_after,
            input=record.input,
            before=session.snapshot,
            batch=None,
            snapshot=session.snapshot,
        )
        assert noticed == (sealed.digest != plain.digest)


def still_record(session: Session, kind: RecordKind) -> Record:
    """A record of a host's that follows the session's log."""
    return seal_record(
        session.digest,
        index=len(session.log),
        kind=kind,
        time_ms=5,
        revision_after=session.revision,
        input=freeze({"who": "ann"}),
        before=session.snapshot,
        batch=None,
        snapshot=session.snapshot,
    )


def test_records_that_leave_the_state_alone_are_replayed() -> None:
    """Seats and sessions of a host's log are chained in, and change nothing."""
    session = played(LONG)
    record = still_record(session, RecordKind.SESSION)
    again = replay_log(everything(), [*session.log, record])
    assert again.snapshot == session.snapshot
    assert again.digest == record.digest


@pytest.mark.parametrize(
    "log",
    [
        lambda session: [],
        lambda session: session.log[1:],
        lambda session: [session.log[0], *session.log],
        lambda session: [*session.log, still_record(session, RecordKind.EDIT)],
    ],
)
def test_a_log_that_cannot_be_played_says_why(
    log: Callable[[Session], list[Record]],
) -> None:
    """Empty, headless, twice created, or with what only a host can do."""
    with pytest.raises(ReplayError) as caught:
        replay_log(everything(), log(played(LONG)))
    assert not isinstance(caught.value, DigestMismatchError)


def test_a_log_of_another_game_is_refused() -> None:
    """The name and the version are checked before anything is played."""
    with pytest.raises(ReplayError, match="everything version 1"):
        replay_log(one_state(), played(LONG).log)


@pytest.mark.parametrize(
    "value",
    [
        None,
        {},
        {**record_to_json(played([]).log[0]), "kind": "unheard_of"},
        {**record_to_json(played([]).log[0]), "digest": "zz"},
        {**record_to_json(played([]).log[0]), "input": {"a": float("nan")}},
    ],
)
def test_what_is_not_a_record_is_refused(value: Any) -> None:
    """An unknown kind above all: nobody guesses what it meant."""
    with pytest.raises(RecordError):
        record_from_json(value)


def test_the_log_is_a_read_only_window() -> None:
    """It grows with the match, slices like a tuple, and cannot be written."""
    session = played([])
    log = session.log
    play(session, LONG)
    assert len(log) == 1 + len(LONG)
    assert type(log[1:]) is tuple
    assert [record.index for record in log] == list(range(len(log)))
    with pytest.raises(TypeError):
        log[0] = log[1]  # type: ignore[index]
