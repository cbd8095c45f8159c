"""The controls of an inspector: commands in, states out."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine.inspector import InspectorState, reduce_state
from hotseat.engine.inspector.playback_state import (
    Command,
    HydratePanelWidths,
    JumpToEnd,
    Pause,
    Play,
    PlayTick,
    ReturnToLive,
    SelectRevision,
    SetPanelWidth,
    StepBackward,
    StepForward,
    SyncLiveHead,
    ToggleLeftPanel,
)


def reduced(*commands: Command) -> InspectorState:
    state = InspectorState()
    for command in commands:
        state = reduce_state(state, command)
    return state


def test_playing_stops_at_the_end() -> None:
    """Time runs to the last revision and not beyond it."""
    state = reduced(SelectRevision(3), Play(), PlayTick(5))
    assert (state.selected_revision, state.is_playing) == (4, True)
    state = reduce_state(state, PlayTick(5))
    assert (state.selected_revision, state.is_playing) == (5, False)
    assert reduced(SelectRevision(5), StepForward(5)).selected_revision == 5
    assert reduced(JumpToEnd(9)).selected_revision == 9


def test_live_shows_the_newest_revision() -> None:
    """While a match is looked at live, the selection follows it."""
    state = reduced(SyncLiveHead(4))
    assert (state.selected_revision, state.shown(7)) == (4, 7)
    scrubbing = reduce_state(state, StepBackward())
    assert reduce_state(scrubbing, SyncLiveHead(8)).selected_revision == 3
    assert reduce_state(scrubbing, ReturnToLive()).shown(8) == 8


def test_widths_stay_within_their_bounds() -> None:
    """Whatever is asked for, by hand or from what was kept."""
    state = reduced(SetPanelWidth("left", 1), SetPanelWidth("graph", 9_999))
    assert (state.panel_widths.left, state.panel_widths.graph) == (200, 1200)
    widths = reduced(HydratePanelWidths({"right": 300.5})).panel_widths
    assert (widths.left, widths.right) == (280, 301)
    assert reduced(ToggleLeftPanel()).left_panel_open


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ('{"type": "PAUSE"}', Pause()),
        ('{"type": "SYNC_LIVE_HEAD", "maxRevision": 3}', SyncLiveHead(3)),
        (
            '{"type": "SET_PANEL_WIDTH", "panel": "left", "width": 3}',
            SetPanelWidth("left", 3),
        ),
    ],
)
def test_commands_come_as_json(text: str, command: Command) -> None:
    """A browser's commands decode into them."""
    assert msgspec.json.decode(text, type=Command) == command


@given(st.lists(st.sampled_from([StepForward(4), StepBackward(), PlayTick(4), Play()])))
def test_the_selection_stays_within_the_match(commands: list[Command]) -> None:
    """Whatever is pressed, in whatever order."""
    assert 0 <= reduced(*commands).selected_revision <= 4
