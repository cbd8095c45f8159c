"""What the inspector's panels say, without a terminal."""

from __future__ import annotations

import pytest

from hotseat.engine import create_session
from hotseat.engine.games.tic_tac_toe import game as tic_tac_toe
from hotseat.nodes.inspect.lines import LINES_MAX, plain
from hotseat.nodes.inspect.panels import PANELS, header_line, timeline_lines

from ...engine.samples import MATCH, everything
from .inspected import PLAYERS, hands, model_of, nasty, rolls, said


def test_the_step_names_the_branch_that_won_and_why_the_others_did_not() -> None:
    """With the reasons in the game's own words."""
    model = model_of(nasty("hello"), revision=1)
    text = said(model, "step")
    assert "action say by seat 0" in text
    assert "* resolver:_say -> loud: taken" in text
    assert "- resolver:_no -> loud: rejected, quiet" in text
    assert said(model_of(nasty()), "step").startswith("the match was created")


def test_the_diff_shows_what_was_and_what_is() -> None:
    """Each place that changed, and nothing else."""
    model = model_of(nasty("hello"), revision=1)
    assert said(model, "diff") == "$.said[0]\n  - -\n  + hello"
    model.start()
    assert said(model, "diff") == "nothing came before the creation"


def test_the_graph_shows_where_the_match_is_and_how_it_came_there() -> None:
    """The state that it is in, the edge taken, the states that may follow."""
    session = create_session(tic_tac_toe, PLAYERS)
    for now, cell in enumerate((0, 3, 1, 4, 2)):
        seat = "01"[now % 2]
        session.apply(seat, "place", {"cell": cell}, now=now)
    model = model_of(session, revision=1)
    before = said(model, "graph")
    assert [text for text in before.splitlines() if text.startswith(">")] == ["> play"]
    assert before.count("* place -> play") == 1
    model.end()
    after = said(model, "graph")
    (here,) = [text for text in after.splitlines() if text.startswith(">")]
    assert here != "> play"
    assert after.count("* ") == 1


def test_nested_states_stand_below_their_parents() -> None:
    """The path to the leaf is marked from the root on."""
    session = create_session(everything(), MATCH)
    text = said(model_of(session), "graph")
    for name in session.game.states:
        assert name in text
    assert text.count(">  ") <= len(session.snapshot.position.path)


def test_the_view_is_that_of_the_seat_and_tells_no_more() -> None:
    """A hidden choice is in the state, in its own seat's view, and nowhere else."""
    model = model_of(hands(), revision=1)
    assert "paper" in said(model, "state")
    assert "paper" not in said(model, "view")
    model.cycle_view()
    assert "what seat 0 sees" in said(model, "view")
    assert "paper" in said(model, "view")
    model.cycle_view()
    assert "paper" not in said(model, "view")


def test_a_view_that_fails_is_told_in_its_panel_alone() -> None:
    """The author sees why; the other panels are as ever."""
    model = model_of(nasty("hush"), revision=1)
    assert "fails" in said(model, "view")
    assert "failing" in said(model, "state")
    assert "_say" in said(model, "step")


def test_a_panel_is_bounded() -> None:
    """A large state says how much more of it there is."""
    many = [f"line {number}" * 10 for number in range(LINES_MAX)]
    model = model_of(nasty(*many), revision=LINES_MAX)
    text = said(model, "state").splitlines()
    assert len(text) == LINES_MAX + 1
    assert "more lines" in text[-1]


def test_every_panel_has_something_to_say_of_every_frame() -> None:
    """From the creation to the result, of every step there is."""
    model = model_of(rolls())
    assert model.head is not None
    for revision in range(model.head + 1):
        model.jump(revision)
        for panel in PANELS:
            assert said(model, panel)


@pytest.mark.parametrize("width", [10, 39, 60])
def test_the_timeline_fits_its_width(width: int) -> None:
    """A header, then a line for each frame, the chosen one marked."""
    lines = plain(timeline_lines(model_of(rolls(), revision=3), 12, width))
    assert len(lines) == 12
    assert max(map(len, lines)) <= width
    assert [text for text in lines if text.startswith(">")] == [lines[4]]


def test_the_header_says_where_and_how_one_looks() -> None:
    """Revision, end, mode, speed, view, filter."""
    model = model_of(rolls(), revision=3)
    (text,) = plain([header_line(model, "pig")])
    assert text == f"pig  3/{model.head}  paused  view: spectator"
    model.cycle_view()
    model.cycle_filter()
    model.faster(1)
    model.toggle_play()
    (text,) = plain([header_line(model, "pig")])
    assert "playing x2" in text
    assert "view: seat 0" in text
    assert "only: seat 0" in text
