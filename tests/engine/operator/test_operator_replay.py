"""Replays, inspectors and saved matches of what operators did."""

from __future__ import annotations

import pytest

from hotseat.engine.errors import ReplayError
from hotseat.engine.inspector import Inspector
from hotseat.engine.machine import compile_game
from hotseat.engine.replay import (
    Branches,
    EnvelopeError,
    compare_log,
    compare_timelines,
    materialize,
    open_timeline,
    read_log_file,
    save_log,
    verify_log,
    write_log_file,
)
from hotseat.engine.replay.log_file import LogFile
from hotseat.runtime.command import Edit, ResignSeat, Terminate

from ...runtime.operator_table import ANN, Table
from ...runtime.vault import FIRST, SECOND, find, vault

KNOWN = find(FIRST, SECOND)


def put(path: str, value: object) -> dict[str, object]:
    return {"op": "replace", "path": path, "value": value}


def upgraded(*, long: int = 0) -> Table:
    """Edited, played, upgraded, played, terminated."""
    table = Table(known=KNOWN)
    table.add("0", 4)
    table.edit(put("/total", 40), put("/secret", "plugh"))
    for turn in range(1, long + 1):
        table.add(str(turn % 2))
    if long % 2 == 0:
        table.add("1")
    table.upgrade("2")
    table.add("0")
    for turn in range(1, long + 1):
        table.add(str(turn % 2))
    table.do(Terminate(*table.op()))
    return table


def exported(table: Table) -> LogFile:
    """Its log, after a trip through a file."""
    return read_log_file(write_log_file(table.records, table.machine, KNOWN))


def test_a_replay_shows_what_an_operator_did_with_its_diff() -> None:
    """Each is a frame of its own kind: who, why, and what changed."""
    table = upgraded()
    timeline = materialize(SECOND, table.records, KNOWN)
    inspector = Inspector(timeline, "0")
    kinds = [inspector.frame(n).step_kind for n in range(timeline.head + 1)]
    assert kinds == [
        "initial",
        "action",
        "edit",
        "action",
        "upgrade",
        "action",
        "terminate",
    ]
    edit = inspector.frame(2)
    assert (edit.payload["who"], edit.payload["why"]) == ANN
    assert [d.path for d in edit.diffs] == ["$.total", "$.secret"]
    assert edit.handoff.kind == "same"
    assert inspector.frame(4).payload["to"] == "2"
    assert inspector.frame(6).result == {"terminated": {"why": ANN[1]}}
    named = [timeline.frame(n).operator for n in range(timeline.head + 1)]
    assert [None if one is None else one["who"] for one in named] == [
        *(None, None, ANN[0], None, ANN[0], None, ANN[0])
    ]
    assert [inspector.frame(n).player_view for n in (3, 4)] == [
        {"total": 41, "seat": "0"}
    ] * 2
    seen = inspector.seen(2, "0")
    assert "payload" not in seen.step["event"]
    assert [d.path for d in seen.diffs] == ["$.total"]


@pytest.mark.parametrize("long", [0, 150, 301])
def test_a_long_match_is_looked_at_anywhere_from_its_file(long: int) -> None:
    """Snapshots in the file are of the version of their place."""
    table = upgraded(long=long)
    log = exported(table)
    assert verify_log(table.machine, log, KNOWN) == len(table.records)
    played = materialize(SECOND, table.records, KNOWN)
    middle = played.head // 2
    for revision in (played.head, middle, 1, played.head - 3, middle + 1):
        opened = open_timeline(SECOND, log.recording(), KNOWN)
        assert opened.frame(revision) == played.frame(revision)
    turns = [f.snapshot.position.turn for f in played.frames()]
    assert played.first_of_turn(2) == turns.index(2)


def test_a_growing_timeline_takes_an_upgrade_in() -> None:
    """Who follows a match under its first version sees it go on under the second."""
    table = upgraded()
    place = next(r.index for r in table.records if r.kind == "upgrade")
    timeline = open_timeline(FIRST, table.records[:place], KNOWN)
    timeline.extend(table.records[place:])
    last = timeline.frame(timeline.head)
    assert last.snapshot == table.state.snapshot
    assert last.machine is compile_game(SECOND)
    assert timeline.frame(1).machine is None
    alone = open_timeline(FIRST, table.records[:place])
    alone.extend(table.records[place:])
    assert alone.frame(3).snapshot.G["total"] == 41
    with pytest.raises(ReplayError, match="not at hand"):
        alone.frame(4)


def test_new_code_is_tried_on_what_a_log_ends_with() -> None:
    """The versions before are as they were; without them it says which is missing."""
    log = exported(upgraded())
    mended = vault("2.1", key="sum", factor=11, migrate=SECOND.migrate)
    assert compare_log(compile_game(SECOND), log, KNOWN) is None
    found = compare_log(compile_game(mended), log, KNOWN)
    assert found is not None
    assert (found.revision, found.field) == (5, "G.sum")
    with pytest.raises(ReplayError, match="version '1' of vault"):
        compare_log(compile_game(SECOND), log)


def test_two_runs_differ_in_what_their_operators_did() -> None:
    """Who did it and why makes no difference; what they did does."""
    tables = [Table(), Table(), Table()]
    for table, total, why in zip(tables, (1, 1, 2), ("a", "b", "a"), strict=True):
        table.do(Edit("1", "ann", why, [put("/total", total)]))
    one, other, third = (open_timeline(FIRST, table.records) for table in tables)
    assert compare_timelines(one, other) is None
    found = compare_timelines(one, third)
    assert found is not None
    assert (found.revision, found.field) == (1, "action.patch[0].value")


def test_the_main_branch_ends_where_the_match_does() -> None:
    """Though nobody but an operator did anything."""
    table = Table()
    table.edit(put("/total", 1))
    branches = Branches(open_timeline(FIRST, table.records))
    assert branches.end(branches.get("main"), 1) == 1


def test_an_envelope_holds_no_match_that_an_operator_changed() -> None:
    """It is refused, by record; an end, or a resignation in turn, is no such change."""
    edited, changed, idle = Table(), Table(known=KNOWN), Table()
    edited.edit(put("/total", 1))
    changed.upgrade("2")
    idle.do(ResignSeat(*idle.op(), seat="1"))
    for table, machine in ((edited, FIRST), (changed, SECOND), (idle, FIRST)):
        with pytest.raises(EnvelopeError, match="record 3"):
            save_log(machine, table.records)
    ended, resigned = Table(), Table()
    ended.add("0", 4)
    ended.do(Terminate(*ended.op()))
    resigned.do(ResignSeat(*resigned.op(), seat="0"))
    saved = materialize(FIRST, save_log(FIRST, ended.records))
    assert saved.frame(saved.head).snapshot.G["total"] == 4
    logged = materialize(FIRST, resigned.records).frame(1)
    assert logged.operator == {"op": "0" * 18 + "1", "who": ANN[0], "why": ANN[1]}
    given_up = materialize(FIRST, save_log(FIRST, resigned.records))
    assert given_up.frame(1).operator is None
    assert given_up.frame(1).snapshot.meta.result == {"resigned": "0"}
