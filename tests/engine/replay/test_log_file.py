"""Exported logs: whole or not at all, verified, and compared with other code."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine import (
    DigestMismatchError,
    Game,
    ReplayError,
    compile_game,
    define_game,
    state,
    transition,
)
from hotseat.engine.replay import (
    LogFileError,
    compare_log,
    compare_timelines,
    open_timeline,
    read_log_file,
    verify_log,
    write_log_file,
)
from hotseat.engine.session import create_session

from ..samples import MATCH, everything
from .matches import SCRIPTS, long_match, played

LONG = long_match(300)
DATA = write_log_file(LONG.log, LONG.machine)


def counting_game(
    step: Any = 1, *, big: int = 3, version: str = "1", **more: Any
) -> Game:
    """A game that counts; `step` is added, every `big`-th move is also noted."""

    def count(ctx: Any) -> Any:
        n = ctx.G["n"] + (step(ctx) if callable(step) else step)
        marks = [*ctx.G["marks"], n] if n % big == 0 else ctx.G["marks"]
        return {"G": {"n": n, "marks": marks}, "result": "won" if n >= 9 else None}

    return define_game(
        name="counting",
        version=version,
        max_players=1,
        events=["go"],
        states={"play": state(active_players=["0"]), **more.pop("states", {})},
        initial="play",
        setup=lambda ctx: {"n": 0, "marks": []},
        transitions=[transition("go", "play", more.pop("target", "play"), count)],
        **more,
    )


def counted(moves: int = 5) -> Any:
    """The exported log of a match of `counting_game`."""
    session = create_session(counting_game(), {"players": ["0"]})
    for now in range(1, moves + 1):
        session.apply("0", "go", now=now)
    return session


@given(SCRIPTS)
def test_a_log_comes_back_as_it_was(script: list[Any]) -> None:
    """All records with their digests, with and without what the game adds."""
    session = played(script, seed="é")
    for machine in (None, session.machine):
        log = read_log_file(write_log_file(session.log, machine))
        assert list(log.records) == list(session.log)
        assert tuple(log.records[1:3]) == tuple(session.log)[1:3]
        assert verify_log(session.machine, log) == len(session.log)
    assert (
        log.snapshots[0]() == open_timeline(everything(), log.records).frame(0).snapshot
    )


@given(st.data())
def test_a_damaged_file_is_refused(data: st.DataObject) -> None:
    """A byte that changed, or a tail that is missing, anywhere: nothing is read."""
    at = data.draw(st.integers(0, len(DATA) - 1))
    if data.draw(st.booleans()):
        damaged = DATA[:at]
    else:
        other = data.draw(st.integers(1, 255))
        damaged = DATA[:at] + bytes([DATA[at] ^ other]) + DATA[at + 1 :]
    with pytest.raises(LogFileError) as caught:
        read_log_file(damaged)
    assert caught.value.code in ("not_a_log", "damaged_file", "unsupported_format")


def test_a_later_format_is_named() -> None:
    """A file of a newer hotseat says so, not that it is damaged."""
    newer = msgspec.msgpack.encode(["hotseat log", 2, b"", b""])
    with pytest.raises(LogFileError, match="format 2") as caught:
        read_log_file(newer)
    assert caught.value.code == "unsupported_format"


@given(st.binary(max_size=80))
def test_any_bytes_are_answered(data: bytes) -> None:
    """What is no log gets an error with a code, whatever it is."""
    for given_bytes in (data, DATA[:13] + data):
        with pytest.raises(LogFileError):
            read_log_file(given_bytes)


def test_records_that_do_not_follow_are_not_written() -> None:
    """A log with a hole is no log."""
    for records in ([], LONG.log[1:], [*LONG.log[:3], *LONG.log[4:6]]):
        with pytest.raises(ReplayError):
            write_log_file(records)


def test_verify_names_the_first_record_that_differs() -> None:
    """Also when it is written under a right checksum."""
    session = counted()
    records = list(session.log)
    forged = msgspec.structs.replace(records[3], time_ms=77)
    log = read_log_file(write_log_file([*records[:3], forged, *records[4:]]))
    with pytest.raises(DigestMismatchError) as caught:
        verify_log(session.machine, log)
    assert (caught.value.index, caught.value.field) == (3, "digest")


def test_verify_looks_at_the_snapshots_too() -> None:
    """A snapshot that is not the match's would show a match that never was."""
    log = read_log_file(DATA)
    other = read_log_file(write_log_file(*_exported(long_match(299))))
    assert 256 in log.snapshots
    wrong = msgspec.structs.replace(
        log, snapshots={0: log.snapshots[0], 256: other.snapshots[0]}
    )
    with pytest.raises(DigestMismatchError) as caught:
        verify_log(LONG.machine, wrong)
    assert (caught.value.index, caught.value.field) == (256, "snapshot")


def _exported(session: Any) -> tuple[Any, Any]:
    return session.log, session.machine


@pytest.mark.parametrize(
    ("changed", "revision", "field", "before", "after"),
    [
        (counting_game(version="2"), None, "", None, None),
        (counting_game(big=2), 2, "G.marks[0]", "unchanged", 2),
        (counting_game(lambda ctx: 1 + (ctx.G["n"] == 3)), 4, "G.n", 4, 5),
        (counting_game(lambda ctx: ctx.rng.int_(1) + 1), 1, "rng.draws", 0, 1),
        (
            counting_game(states={"end": state(active_players=[])}, target="end"),
            1,
            "position",
            "play",
            "end",
        ),
    ],
)
def test_other_code_is_told_what_it_does_otherwise(
    changed: Game, revision: int | None, field: str, before: Any, after: Any
) -> None:
    """The first revision and field that differ, from the log alone."""
    log = read_log_file(write_log_file(*_exported(counted())))
    found = compare_log(compile_game(changed), log)
    if revision is None:
        assert found is None
        return
    assert found is not None
    assert (found.revision, found.field) == (revision, field)
    assert (found.before, found.after) == (before, after)


def test_other_code_that_refuses_is_told() -> None:
    """An action that is no longer accepted differs at the revision it led to."""
    strict = counting_game(lambda ctx: 1 / (ctx.G["n"] != 2))
    for machine in (None, counted().machine):
        log = read_log_file(write_log_file(counted().log, machine))
        found = compare_log(compile_game(strict), log)
        assert found is not None
        assert (found.revision, found.field) == (3, "answer")
        assert "resolver_error" in str(found.after)


def test_without_effects_only_the_revision_is_known() -> None:
    """A log that was exported without its game has digests alone."""
    log = read_log_file(write_log_file(counted().log))
    found = compare_log(compile_game(counting_game(big=2)), log)
    assert found is not None
    assert (found.revision, found.field) == (2, "state")


def test_another_setup_differs_at_once() -> None:
    """The state at the creation is covered as well."""
    log = read_log_file(write_log_file(*_exported(counted())))
    other = define_game(
        name="counting",
        max_players=1,
        events=["go"],
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: {"n": 1, "marks": []},
        transitions=[transition("go", "play", "play")],
    )
    found = compare_log(compile_game(other), log)
    assert found is not None
    assert (found.revision, found.field, found.before, found.after) == (0, "G.n", 0, 1)


def test_two_runs_are_compared_frame_by_frame() -> None:
    """The first revision and field; what was done, and where one of them ends."""
    game = counting_game()
    five, six = counted(5), counted(6)
    same = open_timeline(game, counted().log)
    assert compare_timelines(open_timeline(game, five.log), same) is None
    longer = compare_timelines(same, open_timeline(game, six.log))
    assert longer is not None
    assert (longer.revision, longer.field) == (6, "end")
    otherwise = open_timeline(counting_game(big=2), five.log)
    changed = compare_timelines(same, otherwise)
    assert changed is not None
    assert (changed.revision, changed.field) == (2, "G.marks[0]")
    late = create_session(game, {"players": ["0"]})
    late.apply("0", "go", now=9)
    timed = compare_timelines(same, open_timeline(game, late.log))
    assert timed is not None
    assert (timed.revision, timed.field) == (1, "action.time_ms")


def test_matches_of_other_seeds_differ_in_their_creation() -> None:
    """Even if the seed was never used."""
    one = create_session(everything(), MATCH, seed="a")
    two = create_session(everything(), MATCH, seed="b")
    found = compare_timelines(
        open_timeline(everything(), one.log), open_timeline(everything(), two.log)
    )
    assert found is not None
    assert (found.revision, found.field) == (0, "creation.seed")
