"""The inspector's data: all for an operator, no more than its own for a seat."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine import Batch, create_session, views
from hotseat.engine.inspector import (
    Inspector,
    LiveFrames,
    describe_handoff,
    diff_values,
)
from hotseat.engine.replay import open_timeline

from ..replay.matches import SCRIPTS, long_match
from ..samples import MATCH, everything, one_state, play

LONG = long_match(200)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "1", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "10", "2", "b"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def secret_game(**more: Any) -> Any:
    """Each seat may know its own number, and nobody the other's."""

    def choose(ctx: Any) -> Any:
        return {"G": {**ctx.G, ctx.player_id: ctx.event.payload}}

    shown = views(
        public=lambda ctx: {"chosen": len(ctx.G)},
        player=lambda ctx, seat: {"mine": ctx.G.get(seat)},
    )
    return one_state(choose, views=shown, **more)


@given(SCRIPTS)
def test_live_and_replayed_matches_show_the_same(script: list[Any]) -> None:
    """From the batches as they come, or from the log later: one data source."""
    session = create_session(everything(), MATCH)
    live = LiveFrames(session.machine, session.snapshot)
    for now, entry in enumerate(script, start=1):
        before = session.snapshot
        play(session, [entry]) if entry != "timeout" else session.fire_timeout(
            now * 999
        )
        if session.snapshot is not before:
            live.append(_last_batch(session))
    replayed = Inspector(open_timeline(everything(), session.log), "0")
    watched = Inspector(live, "0")
    assert watched.head == replayed.head == session.revision
    for revision in range(session.revision + 1):
        assert watched.frame(revision) == replayed.frame(revision)
        assert watched.seen(revision, "1") == replayed.seen(revision, "1")


def _last_batch(session: Any) -> Batch:
    from hotseat.engine.playback import verify_records

    *_, last = verify_records(session.machine, session.log)
    assert last.batch is not None
    return last.batch


def test_a_live_match_keeps_its_newest_frames() -> None:
    """The oldest are let go; one that is missed is noticed."""
    session = create_session(everything(), MATCH)
    live = LiveFrames(session.machine, session.snapshot, frames_max=3)
    batches = []
    for now in range(1, 6):
        batch = session.apply("0", "change", {}, now=now)
        assert isinstance(batch, Batch)
        batches.append(batch)
        live.append(batch)
    inspector = Inspector(live)
    assert (live.first, live.head) == (3, 5)
    with pytest.raises(LookupError):
        inspector.frame(2)
    assert inspector.frame(3).diffs == ()  # its predecessor is gone
    assert inspector.frame(4).diffs != ()
    with pytest.raises(ValueError, match="does not follow"):
        live.append(batches[0])


def test_a_frame_tells_which_branch_won_and_why_not_the_others() -> None:
    """Evaluations, diff, handoff and highlight of one step."""
    inspector = Inspector(open_timeline(everything(), LONG.log))
    frame = inspector.frame(1)
    assert frame.step_kind == "action"
    assert frame.evaluations[0].outcome == "selected"
    assert "$.moves" in [change.path for change in frame.diffs]
    assert frame.highlight.edge == ("play", "play")
    assert frame.handoff.kind == "shared"
    kinds = {inspector.frame(r).step_kind for r in range(inspector.head + 1)}
    assert kinds == {"initial", "action", "internal", "timeout"}
    timeout = next(
        f
        for r in range(LONG.revision)
        if (f := inspector.frame(r)).event == "__timeout"
    )
    assert timeout.action_id is not None


def test_frames_can_be_sent() -> None:
    """Everything is JSON, for browsers and for --json."""
    inspector = Inspector(open_timeline(everything(), LONG.log), "0")
    for revision in range(0, inspector.head, 17):
        for shown in (inspector.frame(revision), inspector.seen(revision, None)):
            assert json.loads(msgspec.json.encode(shown))["revision"] == revision


def test_a_seat_sees_what_is_its_own() -> None:
    """At any revision: no G, no payload and no view of another seat."""
    session = create_session(secret_game(), MATCH)
    session.apply("0", "go", "needle", now=1)
    session.apply("1", "go", "hay", now=2)
    inspector = Inspector(open_timeline(session.machine, session.log))
    for revision in range(3):
        for seat in ("1", None):
            sent = msgspec.json.encode(inspector.seen(revision, seat))
            assert b"needle" not in sent
    own = inspector.seen(1, "0")
    assert own.view == {"mine": "needle"}
    assert [(c.path, c.before, c.after) for c in own.diffs] == [
        ("$.mine", None, "needle")
    ]


def test_a_view_that_fails_does_not_hide_the_frame() -> None:
    """The operator sees the rest, and why there is no view."""
    broken = views(player=lambda ctx, seat: 1 / (1 - ctx.now))
    session = create_session(one_state(), MATCH)
    session.apply("0", "go", now=1)
    timeline = open_timeline(one_state(views=broken), session.log)
    frame = Inspector(timeline, "0").frame(1)
    assert frame.player_view is None
    assert frame.view_problem is not None
    assert "division" in frame.view_problem


def test_words_of_a_state_that_may_come_may_fail() -> None:
    """They were asked before their time; the frame is shown without them."""
    from hotseat.engine import define_game, state, transition

    game = define_game(
        name="late",
        max_players=1,
        events=["go"],
        states={
            "play": state(active_players=["0"]),
            "won": state(active_players=[], label=lambda ctx: ctx.G["winner"]),
        },
        initial="play",
        setup=lambda ctx: {},
        transitions=[
            transition("go", "play", "won", lambda ctx: {"G": {"winner": "me"}})
        ],
    )
    session = create_session(game, {"players": ["0"]})
    frame = Inspector(open_timeline(game, session.log)).frame(0)
    assert frame.control is None
    assert frame.control_problem is not None
    assert frame.handoff.after == ("0",)


def test_seats_with_names_are_called_by_them() -> None:
    """Numbers become P0 and P1; names stay names."""
    assert describe_handoff(["white"], ["black"]).label == "white -> black"
    assert describe_handoff(["0"], ["1"]).label == "P0 -> P1"


@given(JSON, JSON)
def test_a_diff_is_empty_exactly_for_equal_values(before: Any, after: Any) -> None:
    """Equal as JSON, where an absent key is a null."""
    changes = diff_values(before, after)
    assert (changes == []) == (_canonical(before) == _canonical(after))
    assert diff_values(before, before) == []
    assert len({change.path for change in changes}) == len(changes)


def _canonical(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {k: _canonical(v) for k, v in value.items() if v is not None}
        return ("dict", tuple(sorted(kept.items(), key=lambda item: item[0])))
    if isinstance(value, list):
        items = list(map(_canonical, value))
        while items and items[-1] == ("None", None):
            items.pop()
        return ("list", tuple(items))
    return (type(value).__name__ if value is not None else "None", value)
