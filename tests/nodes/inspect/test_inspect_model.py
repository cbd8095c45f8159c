"""The inspector's model: where it stands, and where each command leads."""

from __future__ import annotations

import msgspec
import pytest

from hotseat.engine import Session
from hotseat.engine.frozen import enclose
from hotseat.engine.replay import open_timeline, read_envelope, write_envelope
from hotseat.engine.replay.save import save_session
from hotseat.nodes.inspect.model import SPEEDS, InspectModel

from ...engine.replay.matches import long_match
from .inspected import hands, model_of, rolls, said, taken_back

WHOLE = rolls()
HEAD = WHOLE.snapshot.revision


def envelope_of(session: Session) -> InspectModel:
    """A model of the same match, saved as an envelope."""
    text = write_envelope(save_session(session))
    return InspectModel(open_timeline(session.game, read_envelope(text)))


def revisions(model: InspectModel, height: int = 1_000) -> list[int]:
    """What the timeline shows."""
    return [row.revision for row in model.rows(height)]


@pytest.mark.parametrize("kind", [model_of, envelope_of])
def test_every_way_through_a_match_stays_inside_it(kind: object) -> None:
    """On and back, to both ends, by page, by number: never past an end."""
    model = model_of(WHOLE) if kind is model_of else envelope_of(WHOLE)
    assert model.revision == 0
    model.move(-1)
    assert model.revision == 0
    model.move(1)
    model.move(20)
    assert model.revision == 21
    model.end()
    assert model.revision == model.head == HEAD
    model.move(5)
    assert model.revision == HEAD
    model.jump(3)
    assert (model.revision, model.notice) == (3, "")
    model.jump(HEAD + 50)
    assert model.revision == HEAD
    assert model.notice == f"there is no revision {HEAD + 50}; the last one is {HEAD}"
    model.start()
    assert (model.revision, model.notice) == (0, "")


def test_an_envelope_is_not_played_before_it_is_looked_at() -> None:
    """Its last revision is not known until somebody goes there."""
    session = long_match()
    model = envelope_of(session)
    model.move(3)
    assert len(model.rows(20)) == 20
    assert model.head is None
    model.end()
    assert model.head == model.revision == session.snapshot.revision


def test_turns_are_reached_by_number_and_one_by_one() -> None:
    """The first revision of a turn; one that is not there is told."""
    model = model_of(WHOLE)
    model.jump_to_turn(3)
    third = model.revision
    assert model.frame().snapshot.position.turn == 3
    assert model.timeline.frame(third - 1).snapshot.position.turn == 2
    model.next_turn()
    assert model.frame().snapshot.position.turn == 4
    model.move(1)
    model.previous_turn()
    assert model.revision == third
    model.start()
    model.previous_turn()
    assert (model.revision, model.notice) == (0, "there is no earlier turn")
    model.end()
    model.next_turn()
    assert (model.revision, model.notice) == (HEAD, "there is no later turn")
    model.jump(third)
    model.jump_to_turn(10_000)
    assert (model.revision, model.notice) == (third, "there is no turn 10000")


def test_a_takeback_is_a_step_of_its_own() -> None:
    """It is the asking seat's, and turns are left and reached in both directions."""
    model = model_of(taken_back())
    assert [row.kind for row in model.rows(9)][-2:] == ["takeback", "takeback"]
    assert '"phase": "done"' in said(model_of(taken_back(), revision=4), "step")
    model.jump(3)
    model.next_turn()
    assert (model.revision, model.frame().snapshot.position.turn) == (4, 2)
    model.previous_turn()
    assert (model.revision, model.frame().snapshot.position.turn) == (2, 3)
    model.cycle_filter()
    assert revisions(model) == [1, 4]  # seat 0 agreed


@pytest.mark.parametrize("saved", ["log", "envelope"])
def test_a_filter_leaves_the_actions_of_one_seat(saved: str) -> None:
    """Rows and steps are its own; the other seats follow, then all again."""
    model = model_of(WHOLE) if saved == "log" else envelope_of(WHOLE)
    everything = revisions(model)
    of_seat = {
        seat: [r.revision for r in model.rows(1_000) if r.seat == seat] for seat in "01"
    }
    model.cycle_filter()
    assert model.filter_seat == "0"
    assert revisions(model) == of_seat["0"]
    model.move(1)
    model.move(1)
    assert model.revision == of_seat["0"][1]
    model.move(-1)
    assert model.revision == of_seat["0"][0]
    model.move(1_000)
    assert model.revision == of_seat["0"][-1]
    model.cycle_filter()
    assert revisions(model) == of_seat["1"]
    model.cycle_filter()
    assert model.filter_seat is None
    assert revisions(model) == everything


def test_the_timeline_shows_what_is_around_the_revision() -> None:
    """As many rows as fit, the chosen one among them and marked."""
    model = model_of(WHOLE)
    for revision in (0, 1, 7, HEAD // 2, HEAD - 1, HEAD):
        model.jump(revision)
        rows = model.rows(10)
        assert len(rows) == 10
        assert [row.revision for row in rows if row.selected] == [revision]
        numbers = [row.revision for row in rows]
        assert numbers == list(range(numbers[0], numbers[0] + 10))


def test_it_plays_to_the_end_and_stops() -> None:
    """One revision per tick; pausing and any other way leave it where it is."""
    session = rolls(10)
    head = session.snapshot.revision
    model = model_of(session)
    model.tick()
    assert model.revision == 0  # it does not play
    model.toggle_play()
    model.tick()
    model.tick()
    assert (model.revision, model.state.is_playing) == (2, True)
    model.toggle_play()
    model.tick()
    assert model.revision == 2
    model.toggle_play()
    for _ in range(10):
        model.tick()
    assert (model.revision, model.state.is_playing) == (head, False)
    model.toggle_play()
    assert (model.revision, model.state.is_playing) == (0, True)
    model.move(1)
    assert not model.state.is_playing


def test_speeds_have_a_slowest_and_a_fastest() -> None:
    """Each key press is one of them."""
    model = model_of(WHOLE)
    assert model.state.speed == 1
    model.faster(1)
    assert model.state.speed == 2
    for _ in SPEEDS:
        model.faster(1)
    assert model.state.speed == SPEEDS[-1]
    for _ in SPEEDS:
        model.faster(-1)
    assert model.state.speed == SPEEDS[0]


def test_a_match_that_goes_on_is_followed_until_somebody_looks_back() -> None:
    """And again from its newest revision on."""
    log = WHOLE.log
    model = InspectModel(open_timeline(WHOLE.game, log[:4]), growing=True)
    assert (model.revision, model.following) == (3, True)
    model.grow(log[4:6])
    assert model.revision == 5
    model.move(-2)
    assert (model.revision, model.following) == (3, False)
    model.grow(log[6:8])
    assert (model.revision, model.head) == (3, 7)
    model.end()
    model.grow(log[8:9])
    assert (model.revision, model.following) == (8, True)
    model.stop_growing()
    assert (model.revision, model.following) == (8, False)
    model.move(1)
    assert model.revision == 8


def test_playing_catches_up_with_a_match_that_goes_on() -> None:
    """At its newest revision it follows."""
    log = WHOLE.log
    model = InspectModel(open_timeline(WHOLE.game, log[:4]), growing=True)
    model.jump(1)
    model.toggle_play()
    for _ in range(3):
        model.tick()
    assert (model.revision, model.following, model.state.is_playing) == (3, True, False)
    model.grow(log[4:5])
    assert model.revision == 4


def test_a_filter_takes_in_what_a_match_logs_since() -> None:
    """New actions of its seat are there at once."""
    log = WHOLE.log
    model = InspectModel(open_timeline(WHOLE.game, log[:2]), growing=True)
    model.cycle_filter()
    model.grow(log[2:])
    whole = model_of(WHOLE)
    whole.cycle_filter()
    model.end()
    whole.end()
    assert revisions(model) == revisions(whole)


def test_the_view_goes_round_the_seats_and_the_spectator() -> None:
    """Each sees what may be seen there, and no more."""
    model = model_of(hands(), revision=1)
    assert model.view_seat is None
    assert "paper" not in str(model.seen())
    model.cycle_view()
    assert model.view_seat == "0"
    assert "paper" in str(model.seen().view)
    model.cycle_view()
    assert model.view_seat == "1"
    assert "paper" not in str(model.seen())
    model.cycle_view()
    assert model.view_seat is None


@pytest.mark.parametrize("saved", ["log", "envelope"])
def test_a_match_that_does_not_play_back_is_shown_as_far_as_it_does(saved: str) -> None:
    """The rest is told, and nothing raises."""
    session = rolls(30)
    if saved == "log":
        log = list(session.log)
        bad = enclose({**log[20].input, "event": "fly"}, label="a broken input")
        log[20] = msgspec.structs.replace(log[20], input=bad)
        model = InspectModel(open_timeline(session.game, log))
    else:
        text = write_envelope(save_session(session))
        head, mark, rest = text.partition('"m_20"')
        broken = head + mark + rest.replace('"roll"', '"fly"', 1)
        model = InspectModel(open_timeline(session.game, read_envelope(broken)))
    model.end()
    assert "not accepted now" in said(model, "step") + model.notice
    model.jump(19)
    assert model.inspected().revision == 19
    assert revisions(model) == list(range(20))
    assert "not accepted now" in model.notice
    model.cycle_filter()
    model.cycle_view()
    model.next_turn()
    assert revisions(model)
