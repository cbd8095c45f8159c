"""What a page draws beside a view, and what stays hidden there."""

from __future__ import annotations

from typing import Any

import pytest

from hotseat.engine.definition import Game, define_game, event, state, transition, views
from hotseat.engine.session import create_session
from hotseat.engine.shown import shown_derived, shown_step


def guessing(open_information: bool) -> Game:
    return define_game(
        name="guessing",
        player_ids=["0", "1"],
        events={"guess": event()},
        states={
            "play": state(
                active_players=["0"],
                label=lambda ctx: f"secret {ctx.G['secret']}",
                control=lambda ctx: {"secret": ctx.G["secret"]},
                metadata=lambda ctx: [{"key": "secret", "value": ctx.G["secret"]}],
            ),
        },
        initial="play",
        selectors={"secret": lambda ctx: ctx.G["secret"]},
        setup=lambda ctx: {"secret": 42},
        transitions=[transition("guess", "play", "play")],
        views=views(public=lambda ctx: {}),
        open_information=open_information,
    )


@pytest.mark.parametrize("open_information", [True, False])
def test_what_derives_is_shown_only_without_secrets(open_information: bool) -> None:
    """Label, control, metadata and selectors leave with open information alone."""
    session = create_session(guessing(open_information), {"players": ["0", "1"]})
    shown = shown_derived(session.machine.game, session.snapshot)
    assert (shown["path"], shown["pending_targets"]) == (["play"], ["play"])
    assert ("42" in str(shown)) is open_information


def test_a_step_hides_what_redact_hides() -> None:
    """A step for a page holds no payload of others, and the view that it is given."""
    game = guessing(False)
    session = create_session(game, {"players": ["0", "1"]})
    result: Any = session.apply("0", "guess", {"my": "words"}, now=1)
    step = result.steps[0]
    other, own = (shown_step(game, step, seat, {}) for seat in ("1", "0"))
    assert "words" not in str(other)
    assert "words" in str(own)
    assert other["revision"] == 1
