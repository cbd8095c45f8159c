"""Timelines: any revision can be looked at, and little is played for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotseat.engine import (
    Batch,
    Machine,
    Record,
    RecordKind,
    ReplayError,
    compile_game,
    create_session,
)
from hotseat.engine.frozen import freeze, thaw
from hotseat.engine.limits import FULL_DIGEST_EVERY
from hotseat.engine.playback import verify_records
from hotseat.engine.replay import (
    Timeline,
    materialize,
    open_timeline,
    read_envelope,
    read_log_file,
    save_session,
    write_envelope,
    write_log_file,
)
from hotseat.engine.replay.recording import ENVELOPE_MARK_EVERY, MARKS_KEY
from hotseat.engine.replay.timeline import MARK_EVERY
from hotseat.engine.snapshot import Snapshot

from ..samples import MATCH, everything, one_state
from .matches import SCRIPTS, long_match, played

LONG = long_match()


class Counting:
    """A machine that counts the actions and timeouts that it plays."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.played = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def apply(self, *given: Any, **named: Any) -> Any:
        self.played += 1
        return self._machine.apply(*given, **named)

    def fire_timeout(self, *given: Any, **named: Any) -> Any:
        self.played += 1
        return self._machine.fire_timeout(*given, **named)


def counting(source: Any) -> tuple[Timeline, Counting]:
    """A timeline, and what it plays."""
    machine = Counting(compile_game(everything()))
    opened = open_timeline(machine._machine, source)
    return Timeline(machine, opened.recording), machine  # type: ignore[arg-type]


def snapshots(machine: Machine, records: Sequence[Record]) -> Iterator[Snapshot]:
    """The state at every revision, played straight through."""
    for one in verify_records(machine, records):
        if one.before is None:
            yield one.snapshot
        elif isinstance(one.batch, Batch):
            yield from (step.snapshot for step in one.batch.steps)


EVERY = list(snapshots(LONG.machine, LONG.log))
FROM_TEXT = read_envelope(write_envelope(save_session(LONG)))
FROM_FILE = read_log_file(write_log_file(LONG.log, LONG.machine)).recording()


@given(SCRIPTS)
def test_frames_are_what_the_match_was(script: list[Any]) -> None:
    """One frame for each step, the internal ones too, each with the state it left."""
    session = played(script)
    expected = list(snapshots(session.machine, session.log))
    for source in (session.log, read_envelope(write_envelope(save_session(session)))):
        timeline = materialize(everything(), source)
        frames = list(timeline.frames())
        assert [frame.snapshot for frame in frames] == expected
        assert [frame.revision for frame in frames] == list(range(session.revision + 1))
        assert timeline.head == session.revision


@pytest.mark.parametrize(
    "source", [LONG.log, FROM_TEXT, FROM_FILE], ids=["log", "envelope", "file"]
)
@settings(max_examples=25)
@given(data=st.data())
def test_any_order_of_looking_shows_the_same(source: Any, data: st.DataObject) -> None:
    """Jumps to and fro, from wherever, show each revision as it was."""
    timeline = open_timeline(everything(), source)
    for _ in range(data.draw(st.integers(1, 6))):
        revision = data.draw(st.integers(0, LONG.revision))
        assert timeline.frame(revision).snapshot == EVERY[revision]


def test_opening_a_log_plays_nothing() -> None:
    """How many frames there are, and the first one, are known from the log alone."""
    timeline, machine = counting(LONG.log)
    assert timeline.head == LONG.revision
    assert timeline.frame(0).snapshot == EVERY[0]
    assert machine.played == 0


def test_a_jump_plays_from_the_nearest_snapshot() -> None:
    """Once a match has been played, a jump plays one stretch at most."""
    timeline, machine = counting(LONG.log)
    timeline.play()
    for revision in (LONG.revision, 3, 400, 200):
        before = machine.played
        timeline.frame(revision)
        assert machine.played - before <= MARK_EVERY


def test_a_first_jump_into_a_file_plays_from_the_snapshot_in_it() -> None:
    """A file that brings snapshots is opened in the middle at once."""
    timeline, machine = counting(FROM_FILE)
    timeline.frame(LONG.revision)
    assert 0 < machine.played <= FULL_DIGEST_EVERY


def test_a_first_jump_into_an_envelope_plays_from_the_snapshot_in_it() -> None:
    """A long match that was saved here opens at once in the middle, and at its end."""
    for revision in (LONG.revision, LONG.revision // 2):
        timeline, machine = counting(FROM_TEXT)
        assert timeline.frame(revision).snapshot == EVERY[revision]
        assert 0 < machine.played <= ENVELOPE_MARK_EVERY


@pytest.mark.parametrize(
    "marks",
    [
        "no list",
        [[256, 300]],
        [[256, "many", "{}"]],
        [[0, 0, "{}"]],
        [[512, 700, "{}"], [256, 300, "{}"]],
        [[256, 300, "{}"], [512, 299, "{}"]],
        [[700_000, 900_000, "{}"]],
    ],
)
def test_marks_that_are_none_are_refused_when_it_is_opened(marks: object) -> None:
    """Nothing is looked up by marks that are malformed or do not rise."""
    metadata = thaw(FROM_TEXT.metadata) | {MARKS_KEY: marks}
    wrong = msgspec.structs.replace(FROM_TEXT, metadata=freeze(metadata))
    with pytest.raises(ReplayError, match=r"hotseat\.marks"):
        open_timeline(everything(), wrong)


@pytest.mark.parametrize("text", ["{", "{}", '"a"', "[" * 100_000])
def test_a_mark_that_holds_no_snapshot_is_named(text: str) -> None:
    """What comes before it can be looked at; the frame behind it is refused."""
    metadata = thaw(FROM_TEXT.metadata) | {MARKS_KEY: [[256, 400, text]]}
    wrong = msgspec.structs.replace(FROM_TEXT, metadata=freeze(metadata))
    timeline = open_timeline(everything(), wrong)
    assert timeline.frame(1).snapshot == EVERY[1]
    with pytest.raises(ReplayError, match="record 256"):
        timeline.frame(LONG.revision)


def test_an_envelope_without_marks_shows_the_same() -> None:
    """Other implementations write none: it is played up to where somebody looks."""
    metadata = {k: v for k, v in thaw(FROM_TEXT.metadata).items() if k != MARKS_KEY}
    plain = msgspec.structs.replace(FROM_TEXT, metadata=freeze(metadata))
    timeline, machine = counting(plain)
    assert timeline.frame(90).snapshot == EVERY[90]
    assert machine.played <= 90 + MARK_EVERY
    assert timeline.head == LONG.revision


def test_neighbours_cost_nothing() -> None:
    """Stepping back and forth in one place plays no record twice."""
    timeline, machine = counting(LONG.log)
    timeline.frame(120)
    before = machine.played
    for revision in (119, 120, 121, 118, 120):
        timeline.frame(revision)
    assert machine.played == before


def test_looking_at_all_frames_plays_each_record_once() -> None:
    """From the first to the last, as a player of a replay does."""
    for source in (LONG.log, FROM_TEXT):
        timeline, machine = counting(source)
        assert sum(1 for _ in timeline.frames()) == len(EVERY)
        assert machine.played == len(LONG.log) - 1


def test_the_first_frames_of_an_envelope_do_not_need_the_last() -> None:
    """An envelope is played as far as it is looked at."""
    timeline, machine = counting(FROM_TEXT)
    timeline.frame(5)
    assert machine.played <= 2 * MARK_EVERY


@pytest.mark.parametrize("revision", [-1, LONG.revision + 1])
@pytest.mark.parametrize("source", [LONG.log, FROM_TEXT], ids=["log", "envelope"])
def test_what_is_no_revision_is_an_error(source: Any, revision: int) -> None:
    """There is nothing before the creation and nothing after the end."""
    timeline = open_timeline(everything(), source)
    with pytest.raises(LookupError):
        timeline.frame(revision)
    assert timeline.reach(LONG.revision + 9) == LONG.revision


def test_frames_before_a_fault_can_be_looked_at() -> None:
    """A record that does not play back hides what comes after it, nothing else."""
    records = list(LONG.log)
    place = 101
    broken = records[place].input | {"seat": "nobody"}
    records[place] = Record(
        place,
        records[place].kind,
        records[place].time_ms,
        records[place].revision_after,
        broken,  # type: ignore[arg-type]
        b"",
        b"",
    )
    last = records[place - 1].revision_after
    timeline = open_timeline(everything(), records)
    assert timeline.frame(last).snapshot == EVERY[last]
    with pytest.raises(ReplayError) as caught:
        timeline.frame(last + 1)
    assert caught.value.index == place
    with pytest.raises(ReplayError):
        materialize(everything(), records)


def test_a_log_that_lies_about_a_revision_is_not_believed() -> None:
    """What a record led to is checked when it is played."""
    session = played([{"echo": 2}, {}])
    log = list(session.log)
    liar = Record(1, log[1].kind, log[1].time_ms, 1, log[1].input, b"", b"")
    timeline = open_timeline(everything(), [log[0], liar, log[2]])
    with pytest.raises(ReplayError, match="leads to revision 3 now, not to 1"):
        timeline.frame(1)


def test_records_without_steps_have_no_frames() -> None:
    """Seats and sessions are in a log, and change nothing in a match."""
    session = played([{}])
    log = list(session.log)
    seat = Record(1, RecordKind.SEAT, 0, 0, log[0].input, b"", b"")
    moved = Record(2, log[1].kind, log[1].time_ms, 1, log[1].input, b"", b"")
    timeline = open_timeline(everything(), [log[0], seat, moved])
    assert [frame.revision for frame in timeline.frames()] == [0, 1]
    assert timeline.frame(1).record is moved


def test_what_does_not_begin_with_a_creation_is_refused() -> None:
    """An empty log, the tail of one, or a match that the game refuses."""
    session = played([{}])
    for source in ([], session.log[1:]):
        with pytest.raises(ReplayError):
            open_timeline(everything(), source)
    other = create_session(one_state(), MATCH)
    narrow = one_state()
    assert open_timeline(narrow, other.log).head == 0


@pytest.mark.parametrize("first", [1, 2, 64, 65, 66, 130])
def test_a_log_that_goes_on_is_taken_in_as_it_comes(first: int) -> None:
    """Whatever was looked at before: each frame is the one of the whole log."""
    log = LONG.log
    growing = open_timeline(LONG.game, log[:first])
    whole = open_timeline(LONG.game, log)
    for end in (first, first + 1, first + 3, 128, 129, 200):
        growing.extend(log[len(growing.recording.records) : end])
        for back in (0, 1, 40, 70):
            revision = max(0, growing.head - back)
            assert growing.frame(revision) == whole.frame(revision)


def test_only_the_next_records_of_a_log_are_taken_in() -> None:
    """A gap would show a match that never was; an envelope is closed."""
    growing = open_timeline(LONG.game, LONG.log[:5])
    with pytest.raises(ValueError, match="record 6 comes where 5 was due"):
        growing.extend(LONG.log[6:8])
    saved = open_timeline(LONG.game, read_envelope(write_envelope(save_session(LONG))))
    with pytest.raises(ValueError, match="only a log"):
        saved.extend(LONG.log[5:6])
