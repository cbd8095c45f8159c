"""What a seat and a spectator see, and what is withheld."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from hotseat.engine import (
    FDict,
    FrozenError,
    ViewError,
    create_session,
    define_game,
    enqueue,
    event,
    redact_step,
    reject,
    state,
    transition,
    views,
)

from .samples import MATCH, accepted, one_state

SECRET = {"hands": {"0": "ace", "1": "two"}, "table": 3}


def public(ctx: Any) -> Any:
    """The table."""
    return {"table": ctx.G["table"], "active": ctx.derived.active_players}


def player(ctx: Any, seat: str) -> Any:
    """The table and one's own hand."""
    return {"table": ctx.G["table"], "hand": ctx.G["hands"].get(seat)}


def test_each_sees_what_the_views_give() -> None:
    """A seat its own view, a spectator the public one, both frozen."""
    game = one_state(setup=SECRET, views=views(public=public, player=player))
    session = create_session(game, MATCH)
    assert session.public_view() == {"table": 3, "active": ["0", "1"]}
    assert session.player_view("1") == {"table": 3, "hand": "two"}
    assert isinstance(session.player_view("1"), FDict)
    with pytest.raises(FrozenError):
        session.player_view("1")["hand"] = "ace"


def test_with_a_public_view_alone_a_player_sees_that() -> None:
    """Never the whole of G."""
    session = create_session(one_state(setup=SECRET, views=views(public=public)), MATCH)
    assert session.player_view("0") == session.public_view()


def test_without_views_a_local_session_shows_g() -> None:
    """Everything is open to who plays alone."""
    session = create_session(one_state(setup=SECRET), MATCH)
    assert session.player_view("0") is session.snapshot.G


@pytest.mark.parametrize("bad", [lambda: 1 / 0, lambda: {1, 2}])
def test_a_view_that_fails_later_is_an_error_of_that_view_alone(bad: Any) -> None:
    """The fault is for the operator, the message tells players nothing."""
    game = one_state(
        lambda ctx: {"G": {**ctx.G, "table": 4}},
        setup=SECRET,
        views=views(
            public=public,
            player=lambda ctx, seat: bad() if ctx.G["table"] == 4 else {},
        ),
    )
    session = create_session(game, MATCH)
    accepted(session.apply("0", "go", now=1))
    assert session.public_view()["table"] == 4
    with pytest.raises(ViewError) as caught:
        session.player_view("0")
    assert caught.value.fault.label == "player view"
    assert "division" not in str(caught.value)


def test_legal_actions_are_what_the_game_says() -> None:
    """Pairs of event and payload, for who may act; nothing for others."""
    game = one_state(
        lambda ctx: {"result": 1},
        states={"play": state(active_players=["0"])},
        legal_actions=lambda ctx, seat: [("go", {"n": n}) for n in range(2)],
    )
    session = create_session(game, MATCH)
    assert session.legal_actions("0") == [("go", {"n": 0}), ("go", {"n": 1})]
    assert session.legal_actions("1") == []
    accepted(session.apply("0", "go", now=1))
    assert session.legal_actions("0") == []


def test_legal_actions_that_fail_are_a_view_error() -> None:
    """As for any view."""
    game = one_state(legal_actions=lambda ctx, seat: [("go", {1})])
    with pytest.raises(ViewError):
        create_session(game, MATCH).legal_actions("0")


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        (["go"], 'an event and its payload, ("take", 3)'),
        ([("go",)], "an event and its payload"),
        ([("go", 1, 2)], "an event and its payload"),
        ([None], "an event and its payload"),
        ({"go": 1}, "a list of pairs"),
        ("go", "a list of pairs"),
        (None, "a list of pairs"),
        ([("og", 1)], "'og' is no event of the game"),
        ([(1, 2)], "1 is no event of the game"),
        ((("go", n) for n in itertools.count()), "more than 10,000"),
    ],
)
def test_legal_actions_that_are_no_pairs_are_told_apart(listed: Any, told: str) -> None:
    """A name alone is no pair, though it may have two letters; and there is an end."""
    game = one_state(legal_actions=lambda ctx, seat: listed)
    with pytest.raises(ViewError) as caught:
        create_session(game, MATCH).legal_actions("0")
    assert told in caught.value.fault.message


def hidden_game(**more: Any) -> Any:
    """Two candidates, a queued event, draws: all that could leak."""
    return define_game(
        name="hidden",
        player_ids=["0", "1"],
        events={"go": event(), "shout": event(public=True), "note": event()},
        states={"play": state(active_players=["0", "1"], control=SECRET)},
        initial="play",
        setup=lambda ctx: {},
        transitions=[
            transition(
                "go",
                "play",
                "play",
                lambda ctx: {
                    "G": {"drew": ctx.rng.d6()},
                    "enqueue": [enqueue("note", "inner"), enqueue("shout", "loud")],
                },
                label="a",
            ),
            transition(
                "go", "play", "play", lambda ctx: reject("why", "secret"), label="b"
            ),
            transition("note", "play", "play"),
            transition("shout", "play", "play"),
        ],
        **more,
    )


def test_a_step_shows_its_payload_to_its_sender_only() -> None:
    """Others learn who acted, and which event it was."""
    session = create_session(hidden_game(), MATCH)
    step = accepted(session.apply("0", "go", "hidden", now=1)).steps[0]
    own, other, spectator = (
        redact_step(session.game, step, s) for s in ("0", "1", None)
    )
    assert own["event"]["payload"] == "hidden"
    for seen in (other, spectator):
        assert "payload" not in seen["event"]
        assert "hidden" not in str(seen)
        assert seen["event"]["player_id"] == "0"


def test_a_public_event_shows_its_payload_to_all() -> None:
    """Declared public, in steps and in queues alike."""
    session = create_session(hidden_game(), MATCH)
    steps = accepted(session.apply("0", "go", now=1)).steps
    seen = [redact_step(session.game, step, None) for step in steps]
    assert seen[0]["transition"]["enqueued"] == [
        {"kind": "note"},
        {"kind": "shout", "payload": "loud"},
    ]
    assert "payload" not in seen[1]["event"]
    assert seen[2]["event"]["payload"] == "loud"


def test_nothing_that_tells_more_than_the_view_is_in_a_step() -> None:
    """No rejection's words, no control, no draws."""
    session = create_session(hidden_game(), MATCH)
    step = accepted(session.apply("0", "go", now=1)).steps[0]
    assert step.transition.rng is not None
    for seat in ("0", "1", None):
        seen = str(redact_step(session.game, step, seat))
        for secret in ("why", "secret", "ace", str(step.transition.rng.after)):
            assert secret not in seen


def test_a_game_may_redact_for_itself() -> None:
    """Its answer is what a seat sees; a failure is a view error."""
    game = hidden_game(redact=lambda step, seat: {"seat": seat, "n": 1 // int(seat)})
    step = accepted(create_session(game, MATCH).apply("0", "go", now=1)).steps[0]
    assert redact_step(game, step, "1") == {"seat": "1", "n": 1}
    with pytest.raises(ViewError):
        redact_step(game, step, "0")
