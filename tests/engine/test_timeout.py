"""Deadlines: when they fire, what a failing one does."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine import create_session, enqueue, reject, state, timeout, transition

from .samples import MATCH, accepted, one_state, refused


def timed(resolve: Any = None, **words: Any) -> Any:
    """A match whose one state times out at 100."""
    words = {"active_players": ["0"], "deadline": 100, **words}
    game = one_state(
        events=("go",),
        states={"play": state(**words)},
        transitions=[
            transition("go", "play", "play"),
            timeout("play", "play", resolve, turn="increment"),
        ],
        setup={"n": 0},
    )
    return create_session(game, MATCH)


def test_a_deadline_fires_from_its_instant_on() -> None:
    """Not a millisecond earlier; the step and its record are of kind timeout."""
    session = timed(lambda ctx: {"G": {"n": ctx.now}})
    assert session.next_deadline == 100
    assert session.fire_timeout(99) is None
    step = accepted(session.fire_timeout(100)).steps[0]
    assert (
        step.kind,
        step.event.type,
        step.event.player_id,
    ) == ("timeout", "timeout", None)
    assert step.event.event == "__timeout"
    assert session.snapshot.G == {"n": 100}
    assert session.snapshot.position.turn == 2
    assert session.log[1].kind == "timeout"


def test_a_silent_resolver_of_a_timeout_matches() -> None:
    """Time has passed, whether the resolver has something to say or not."""
    session = timed(lambda ctx: None)
    accepted(session.fire_timeout(100))
    assert session.snapshot.position.turn == 2


def test_a_rejecting_timeout_does_not_fire() -> None:
    """The deadline stays where it was."""
    session = timed(lambda ctx: reject("not now"))
    assert session.fire_timeout(100) is None
    assert session.next_deadline == 100
    assert len(session.log) == 1


@pytest.mark.parametrize(
    ("resolve", "code"),
    [
        (lambda ctx: 1 / 0, "resolver_error"),
        (lambda ctx: {"G": {1}}, "invalid_transition_result"),
        (lambda ctx: {"enqueue": [enqueue("nope")]}, "invalid_transition_result"),
    ],
)
def test_a_timeout_whose_game_fails_has_not_fired(resolve: Any, code: str) -> None:
    """The refusal is for the operator; the match stays as it was."""
    session = timed(resolve)
    before = session.snapshot
    refused(session.fire_timeout(100), code)
    assert session.snapshot is before


def test_a_timeout_that_queues_an_event_nobody_takes_is_a_refusal() -> None:
    """Once the timeout itself matched, what follows must not fail in silence."""
    session = timed(lambda ctx: {"enqueue": [enqueue("go"), enqueue("go")]})
    accepted(session.fire_timeout(100))
    game = one_state(
        events=("go", "lost"),
        states={"play": state(active_players=["0"], deadline=1)},
        transitions=[
            transition("go", "play", "play"),
            timeout("play", "play", lambda ctx: {"enqueue": [enqueue("lost")]}),
        ],
    )
    refused(create_session(game, MATCH).fire_timeout(1), "invalid_event")


def test_deadline_of_a_finished_match_does_not_fire() -> None:
    """The last state's deadline is still there, and of no effect any more."""
    session = timed(lambda ctx: {"result": 1})
    accepted(session.fire_timeout(100))
    assert session.next_deadline == 100
    assert session.fire_timeout(10_000) is None


def test_a_relative_deadline_is_rearmed_by_every_step() -> None:
    """`now + n` counts from the last event."""
    session = timed(deadline=lambda ctx: ctx.now + 30)
    assert session.next_deadline == 30
    accepted(session.apply("0", "go", now=20))
    assert session.next_deadline == 50
