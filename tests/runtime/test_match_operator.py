"""What operators do to a hosted match: once, on record, and past no player's hands."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from hotseat.engine.digest import canonical_bytes
from hotseat.engine.errors import DigestMismatchError, ReplayError
from hotseat.engine.frozen import freeze
from hotseat.engine.game import Game
from hotseat.engine.limits import PATCH_BYTES_MAX
from hotseat.engine.machine import compile_game
from hotseat.engine.record import RecordKind
from hotseat.engine.redact import redact_step
from hotseat.engine.refusal import Refusal
from hotseat.runtime.command import (
    Act,
    Answer,
    Applied,
    Denied,
    Edit,
    FireDeadline,
    Intervention,
    NotFired,
    ResignSeat,
    TakeSeat,
    Terminate,
    Upgrade,
)
from hotseat.runtime.interventions import REMEMBERED_OPS_MAX
from hotseat.runtime.match import redo, replay_match

from .operator_table import ANN, Table
from .sample_games import clock
from .test_match_machine import TOKENS
from .vault import FIRST, SECOND, find, vault


def put(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def denied(answer: Answer) -> Refusal:
    assert isinstance(answer, Denied), answer
    return answer.refusal


def code(answer: Answer) -> str:
    return denied(answer).code


# Ending a match.


def test_a_terminated_match_has_ended_like_any_other() -> None:
    """It has a result, no deadline, takes no actions, and plays back."""
    table = Table()
    table.add("0", 4)
    assert table.state.armed_ms is not None
    answer = table.do(Terminate(*table.op()))
    assert answer == Applied(table.state.revision, table.state.index)
    assert table.state.snapshot.meta.result == {"terminated": {"why": ANN[1]}}
    assert table.state.ended
    assert table.state.armed_ms is None
    assert table.G["total"] == 4
    assert code(table.add("1")) == "game_over"
    assert (
        code(table.do(TakeSeat("0", "x" * 16, TOKENS["0"], fresh=True))) == "game_over"
    )
    assert table.do(FireDeadline(table.state.revision), 10_000) == NotFired()
    assert code(table.edit(put("/total", 1))) == "game_over"
    assert code(table.do(Terminate(*table.op()))) == "game_over"
    record = table.records[-1]
    assert record.kind is RecordKind.TERMINATE
    assert (record.input["who"], record.input["why"]) == ANN
    table.check()


# Each command once.


@pytest.mark.parametrize(
    "asked",
    [
        Terminate("5", *ANN),
        Edit("5", *ANN, patch=[put("/total", 9)]),
        Upgrade("5", *ANN, to="2"),
        ResignSeat("5", *ANN, seat="1"),
    ],
    ids=lambda asked: type(asked).__name__,
)
def test_a_command_is_done_once(asked: Intervention) -> None:
    """A repeat is answered as before, whatever came since; other content is refused."""
    table = Table(known=find(FIRST, SECOND))
    first = table.do(asked)
    assert isinstance(first, Applied)
    table.add("0")
    state = table.state
    assert table.do(asked, 5_000) == first
    assert table.state is state
    assert code(table.do(replace(asked, why="another"))) == "key_reused"
    again = table.records[first.index]
    with pytest.raises(ReplayError, match="stands in the log already"):
        redo(compile_game(SECOND), state, replace(again, index=state.index + 1))
    table.check()


def test_a_command_that_was_forgotten_is_not_done_again() -> None:
    """Its id is older than the oldest that is remembered."""
    table = Table()
    first = Edit(*table.op(), patch=[put("/total", 1)])
    table.do(first)
    for number in range(REMEMBERED_OPS_MAX):
        assert isinstance(table.edit(put("/total", number)), Applied)
    assert code(table.do(first)) == "expired_key"
    assert len(table.state.interventions.ops) == REMEMBERED_OPS_MAX
    table.check()


def test_commands_without_shape_are_refused() -> None:
    """An id that is none, words without end, values that are no JSON."""
    table = Table()
    for asked in (
        Terminate("", *ANN),
        Terminate("\n", *ANN),
        Terminate("x" * 65, *ANN),
        Terminate("1", "w" * 129, ""),
        Terminate("1", "", "w" * 1_001),
        Edit("1", *ANN, patch=[], base_revision=-1),
    ):
        assert code(table.do(asked)) == "malformed_request"
    assert code(table.do(Terminate("1", "a", "\ud800"))) == "non_serializable_args"
    endless: list[Any] = []
    endless.append(endless)
    assert code(table.do(Edit("1", *ANN, patch=endless))) == "too_deep"
    assert len(table.records) == 3


# Edits.


def test_an_edit_changes_the_state_and_what_derives_from_it() -> None:
    """Position, turn, rng, result stay; so does the time that deadlines count from."""
    table = Table()
    table.add("0", 4, now_ms=300)
    before = table.state
    answer = table.edit(put("/total", 40), put("/turn_ms", 5_000))
    after = table.state
    assert answer == Applied(before.revision + 1, before.index + 1)
    assert table.G == {"total": 40, "secret": "xyzzy", "turn_ms": 5_000}
    assert after.snapshot.position == before.snapshot.position
    assert after.snapshot.meta == before.snapshot.meta
    assert before.armed_ms == 1_300
    assert after.armed_ms == 5_300
    assert table.records[-1].input["patch"] == [
        put("/total", 40),
        put("/turn_ms", 5_000),
    ]
    assert isinstance(table.add("1"), Applied)
    assert table.G["total"] == 41
    table.check()


def test_a_deadline_that_was_armed_survives_an_edit_of_something_else() -> None:
    """Even overdue: the edit is no move."""
    table = Table()
    table.add("0", now_ms=100)
    armed = table.state.armed_ms
    table.do(Edit(*table.op(), patch=[put("/total", 7)]), 9_000)
    assert table.state.armed_ms == armed == 1_100
    assert isinstance(table.do(FireDeadline(table.state.revision), 9_000), Applied)
    table.check()


def test_views_from_before_an_edit_are_stale() -> None:
    """A player who has not seen the new state does not act on the old one."""
    table = Table()
    seen = table.state.revision
    table.edit(put("/total", 1))
    table.last["0"] += 1
    assert code(table.do(Act("0", 1, 1, "add", 1, seen))) == "stale_revision"
    fresh = Act("0", 1, 1, "add", 1, table.state.revision)
    assert isinstance(table.do(fresh), Applied)


def test_an_edit_of_another_revision_than_was_looked_at_is_refused() -> None:
    """With `base_revision` an operator edits what they saw, or nothing."""
    table = Table()
    seen = table.state.revision
    table.add("0")
    answer = table.edit(put("/total", 9), base_revision=seen)
    assert code(answer) == "stale_revision"
    right = table.edit(put("/total", 9), base_revision=table.state.revision)
    assert isinstance(right, Applied)
    table.check()


@pytest.mark.parametrize(
    ("patch", "refused", "says"),
    [
        ([put("/totals", 1)], "patch_failed", 'operation 0 at "/totals"'),
        ([put("/total", 1), {"op": "frob"}], "patch_failed", "operation 1"),
        (None, "patch_failed", "list of operations"),
        ([put("/turn_ms", "soon")], "derivation_error", ""),
        ([put("/total", "many")], "view_error", "spectator"),
        ([{"op": "remove", "path": "/total"}], "view_error", "spectator"),
        ([put("/total", "x" * PATCH_BYTES_MAX)], "too_large", "bytes"),
    ],
)
def test_an_edit_that_cannot_be_is_refused(patch: Any, refused: str, says: str) -> None:
    """The state is as it was, and the answer says where the fault is."""
    table = Table()
    table.add("0", 4)
    before = table.state
    answer = table.do(Edit(*table.op(), patch=patch))
    assert code(answer) == refused
    assert says in denied(answer).message
    assert table.state is before


def test_copies_do_not_grow_the_state_beyond_its_limit() -> None:
    """A small patch cannot make a state that no node may hold."""
    table = Table()
    blob = {"op": "add", "path": "/blob", "value": "x" * 200_000}
    assert isinstance(table.edit(blob), Applied)
    copies = [
        {"op": "copy", "from": "/blob", "path": f"/copy{number}"}
        for number in range(20)
    ]
    assert isinstance(table.edit(*copies[:18]), Applied)
    assert code(table.edit(*copies)) in ("too_large", "patch_failed")
    more = [{**copy, "path": f"{copy['path']}b"} for copy in copies[:5]]
    assert code(table.edit(*more)) == "too_large"
    table.check()


def test_an_edit_is_undone_until_the_match_is_played_on() -> None:
    """A further edit restores the revision before; another one brings it back."""
    table = Table()
    table.add("0", 4)
    before = table.state.revision
    original = table.G
    table.edit(
        put("/total", 40), {"op": "remove", "path": "/turn_ms"}, put("", original)
    )
    table.edit(put("/secret", "new"), {"op": "add", "path": "/more", "value": [1]})
    edited = table.G
    undone = table.do(Edit(*table.op(), undo=True))
    assert undone == Applied(before + 3, table.state.index)
    assert canonical_bytes(table.G) == canonical_bytes(original)
    assert list(table.G) == list(original)
    assert table.records[-1].input["restores"] == before + 1
    table.do(Edit(*table.op(), undo=True))
    assert edited == table.G
    table.add("1")
    assert code(table.do(Edit(*table.op(), undo=True))) == "nothing_to_undo"
    table.check()


def test_nothing_is_undone_that_was_not_edited() -> None:
    """An operator has no takebacks of moves."""
    table = Table()
    table.add("0")
    assert code(table.do(Edit(*table.op(), undo=True))) == "nothing_to_undo"


@pytest.mark.parametrize("what", ["edit", "upgrade"])
def test_a_player_takes_nothing_back_past_an_operator(what: str) -> None:
    """What was played before is as it is; what is played after goes back to there."""
    table = Table(known=find(FIRST, SECOND))
    table.add("0", 4)
    if what == "edit":
        table.edit(put("/total", 40))
    else:
        table.upgrade("2")
    there = table.G
    assert code(table.take_back("0")) == "nothing_to_undo"
    table.add("1", 1)
    assert isinstance(table.take_back("1"), Applied)
    assert there == table.G
    assert code(table.take_back("0")) == "nothing_to_undo"
    table.check()


def test_players_learn_that_an_edit_was_and_nothing_of_it() -> None:
    """Two edits that differ only in what is hidden look the same to everybody."""
    shown = []
    for secret in ("plugh", "plover"):
        table = Table()
        table.edit(put("/secret", secret))
        assert table.change is not None
        assert table.change.batch is not None
        (step,) = table.change.batch.steps
        assert step.event.payload["patch"][0]["value"] == secret
        shown.append([redact_step(FIRST, step, seat) for seat in ("0", "1", None)])
    assert shown[0] == shown[1]
    assert "payload" not in shown[0][0]["event"]
    assert shown[0][0]["kind"] == "edit"
    assert ANN[0] not in str(shown)


# Other versions.


def test_a_match_goes_on_under_another_version() -> None:
    """Its G is migrated, its position and turn stay, and the new rules count."""
    table = Table(known=find(FIRST, SECOND))
    table.add("0", 4, now_ms=300)
    before = table.state
    answer = table.upgrade("2")
    assert answer == Applied(before.revision + 1, before.index + 1)
    assert table.state.machine.game is SECOND
    assert table.G == {"sum": 4, "secret": "xyzzy", "turn_ms": 1_000}
    assert table.state.snapshot.position == before.snapshot.position
    assert table.state.armed_ms == before.armed_ms
    table.add("1", 1, now_ms=400)
    assert table.G["sum"] == 14
    record = table.records[before.index + 1]
    assert record.kind is RecordKind.UPGRADE
    assert (record.input["from"], record.input["to"]) == ("1", "2")
    table.check()


def test_without_the_other_version_a_log_says_which_one_it_needs() -> None:
    """It plays to the upgrade, and no further."""
    table = Table(known=find(FIRST, SECOND))
    table.upgrade("2")
    table.add("0")
    with pytest.raises(ReplayError, match="version '2' of vault") as caught:
        replay_match(table.machine, table.records)
    assert caught.value.index == 3
    assert replay_match(compile_game(SECOND), table.records, table.find) == table.state


def test_another_migration_than_the_one_that_was_is_found_out() -> None:
    """The record says the digest of what G became."""
    table = Table(known=find(FIRST, SECOND))
    table.upgrade("2")
    other = vault("2", key="sum", migrate=lambda G, version: {**G, "sum": -1})
    with pytest.raises(ReplayError, match="another G"):
        replay_match(table.machine, table.records, find(FIRST, other))
    forged = replace(
        table.records[3], input=freeze({**table.records[3].input, "why": "no"})
    )
    with pytest.raises(DigestMismatchError):
        replay_match(table.machine, [*table.records[:3], forged], table.find)


def _fails(G: Any, version: str) -> Any:
    raise ValueError(f"{version} is beyond me")


@pytest.mark.parametrize(
    ("game", "refused", "says"),
    [
        (None, "version_missing", "version 2"),
        (vault("2", migrate=_fails), "migrate_failed", "1 is beyond me"),
        (vault("2", migrate=lambda G, v: None), "migrate_failed", "nothing"),
        (vault("2", migrate=lambda G, v: {"total": {1}}), "migrate_failed", "JSON"),
        (vault("2", place="table"), "position_missing", '"play"'),
        (vault("2", seats=1), "migrate_failed", "no seat 1"),
        (vault("2", key="sum"), "view_error", "spectator"),
        (
            vault("2", migrate=lambda G, v: {**G, "turn_ms": None}),
            "derivation_error",
            "",
        ),
        (
            vault("2", migrate=lambda G, v: {**G, "more": ["x" * 1000] * 5_000}),
            "too_large",
            "bytes",
        ),
    ],
)
def test_a_version_that_cannot_take_over_is_refused(
    game: Game | None, refused: str, says: str
) -> None:
    """The match goes on under the one it has."""
    table = Table(known=find(FIRST, *([] if game is None else [game])))
    table.add("0", 4)
    before = table.state
    answer = table.upgrade("2")
    assert code(answer) == refused
    assert says in denied(answer).message
    assert table.state is before
    assert code(table.upgrade("1")) == "same_version"
    assert isinstance(table.add("1"), Applied)


def test_a_version_of_the_same_shape_needs_no_migration_either_way() -> None:
    """A bug is mended in the middle of matches, and mended back."""
    fixed = vault("1.1", factor=100)
    table = Table(known=find(FIRST, fixed))
    table.add("0", 4)
    table.upgrade("1.1")
    table.add("1", 1)
    assert table.G["total"] == 104
    assert isinstance(table.upgrade("1"), Applied)
    table.add("0", 1)
    assert table.G["total"] == 105
    table.check()


def test_an_upgrade_is_backed_out_if_nothing_was_played_since() -> None:
    """G is what it was, to the order of its keys; it may go forth again."""
    table = Table(known=find(FIRST, SECOND))
    table.add("0", 4)
    before = table.G
    for _ in range(2):
        table.upgrade("2")
        assert "sum" in table.G
        assert isinstance(table.upgrade("1"), Applied)
        assert list(table.G.items()) == list(before.items())
    assert table.records[-1].input["patch"]
    table.add("1")
    table.check()


def test_what_was_played_since_needs_a_migration_back() -> None:
    """Without one the older version refuses; with one it takes over."""

    def back(G: Any, version: str) -> Any:
        assert version == "2"
        return {"total" if name == "sum" else name: part for name, part in G.items()}

    table = Table(known=find(FIRST, SECOND))
    table.upgrade("2")
    table.add("0", 1)
    assert code(table.upgrade("1")) == "migrate_failed"
    both_ways = vault(migrate=back)
    table.machine, table.find = compile_game(both_ways), find(both_ways, SECOND)
    assert isinstance(table.upgrade("1"), Applied)
    assert table.G["total"] == 10
    table.check()


# Resigning a seat.


def test_a_seat_is_resigned_for_a_player_who_is_gone() -> None:
    """The game's own event, as that seat, in or out of turn; the log says by whom."""
    for seat in ("0", "1"):
        table = Table()
        answer = table.do(ResignSeat(*table.op(), seat=seat))
        assert answer == Applied(1, 3)
        assert table.state.snapshot.meta.result == {"resigned": seat}
        given = table.records[-1].input
        assert table.records[-1].kind is RecordKind.ACTION
        assert given["operator"]["who"] == ANN[0]
        table.check()


def test_what_the_game_does_not_take_from_an_idle_seat_is_inactive_player() -> None:
    """Out of turn the game must answer to it; in turn its own refusal is told."""
    table = Table()
    table.edit(put("/total", 1.5))
    assert code(table.do(ResignSeat(*table.op(), seat="1"))) == "inactive_player"
    assert code(table.do(ResignSeat(*table.op(), seat="0"))) == "invalid_event"
    assert code(table.do(ResignSeat(*table.op(), seat="9"))) == "unknown_seat"


def test_a_game_without_the_event_says_so() -> None:
    """The advice is to end the match."""
    table = Table(vault(resigns=False))
    answer = table.do(ResignSeat(*table.op(), seat="0"))
    assert code(answer) == "no_resign"
    assert "end the match" in denied(answer).message
    assert code(Table(clock()).do(ResignSeat("1", *ANN, seat="0"))) == "no_resign"
