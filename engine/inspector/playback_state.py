"""The state of an inspector's controls, and what each command makes of it.

Pure: whoever draws an inspector keeps a state and reduces commands into it. Commands
are tagged, so that a browser's JSON decodes into them; their names and fields there
are the reference implementation's.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import msgspec

__all__ = [
    "Command",
    "HydratePanelWidths",
    "InspectorState",
    "JumpToEnd",
    "JumpToStart",
    "PanelWidths",
    "Pause",
    "Play",
    "PlayTick",
    "ReturnToLive",
    "SelectRevision",
    "SetMode",
    "SetPanelWidth",
    "SetSpeed",
    "StepBackward",
    "StepForward",
    "SyncLiveHead",
    "ToggleDock",
    "ToggleGraphPanel",
    "ToggleLeftPanel",
    "ToggleRightPanel",
    "reduce_state",
]

Mode: TypeAlias = Literal["live", "replay"]
Panel: TypeAlias = Literal["left", "right", "graph"]

# Pixels of each panel, at least and at most.
_WIDTHS: Final[dict[Panel, tuple[int, int]]] = {
    "left": (200, 560),
    "right": (260, 720),
    "graph": (360, 1200),
}


class PanelWidths(msgspec.Struct, frozen=True):
    """In pixels."""

    left: int = 280
    right: int = 320
    graph: int = 640


class InspectorState(msgspec.Struct, frozen=True, rename="camel"):
    """What the controls say. In mode `live` the newest revision is shown."""

    mode: Mode = "live"
    selected_revision: int = 0
    is_playing: bool = False
    speed: float = 1
    left_panel_open: bool = False
    right_panel: Literal["inspector", "graph"] | None = None
    panel_widths: PanelWidths = PanelWidths()
    dock_collapsed: bool = False

    def shown(self, head: int) -> int:
        """The revision to show when the newest one is `head`."""
        return head if self.mode == "live" else min(self.selected_revision, head)


def _screaming(name: str) -> str:
    """SetSpeed -> SET_SPEED."""
    spaced = "".join(f"_{letter}" if letter.isupper() else letter for letter in name)
    return spaced.lstrip("_").upper()


class _Command(
    msgspec.Struct, frozen=True, tag=_screaming, tag_field="type", rename="camel"
):
    pass


class SetMode(_Command, frozen=True):
    """Show the newest revision, or the selected one."""

    mode: Mode


class SelectRevision(_Command, frozen=True):
    """Show this revision."""

    revision: int


class StepForward(_Command, frozen=True):
    """Show the next revision, `max_revision` at most."""

    max_revision: int | None = None


class StepBackward(_Command, frozen=True):
    """Show the revision before."""


class PlayTick(_Command, frozen=True):
    """Time for the next revision while playing; the end, `max_revision`, pauses."""

    max_revision: int | None = None


class JumpToStart(_Command, frozen=True):
    """Show revision 0."""


class JumpToEnd(_Command, frozen=True):
    """Show the last revision; without `max_revision` the selection stays."""

    max_revision: int | None = None


class Play(_Command, frozen=True):
    """Let the revisions run."""


class Pause(_Command, frozen=True):
    """Stop them."""


class SetSpeed(_Command, frozen=True):
    """How fast they run; 1 is normal."""

    speed: float


class ToggleLeftPanel(_Command, frozen=True):
    """Open or close the panel on the left."""


class ToggleRightPanel(_Command, frozen=True):
    """Open the inspector on the right, or close it."""


class ToggleGraphPanel(_Command, frozen=True):
    """Open the graph on the right, or close it."""


class SetPanelWidth(_Command, frozen=True):
    """Make a panel wider or narrower, within its bounds."""

    panel: Panel
    width: float


class HydratePanelWidths(_Command, frozen=True):
    """Take over widths that were kept from before."""

    widths: dict[Panel, float]


class ToggleDock(_Command, frozen=True):
    """Fold the controls away, or unfold them."""


class ReturnToLive(_Command, frozen=True):
    """Show the newest revision again."""


class SyncLiveHead(_Command, frozen=True):
    """The match has moved on."""

    max_revision: int


Command: TypeAlias = (
    SetMode
    | SelectRevision
    | StepForward
    | StepBackward
    | PlayTick
    | JumpToStart
    | JumpToEnd
    | Play
    | Pause
    | SetSpeed
    | ToggleLeftPanel
    | ToggleRightPanel
    | ToggleGraphPanel
    | SetPanelWidth
    | HydratePanelWidths
    | ToggleDock
    | ReturnToLive
    | SyncLiveHead
)


def reduce_state(state: InspectorState, command: Command) -> InspectorState:
    """The state after a command."""
    match command:
        case SetMode(mode):
            return _changed(state, mode=mode, is_playing=False)
        case ReturnToLive():
            return _changed(state, mode="live", is_playing=False)
        case SyncLiveHead(head):
            if state.mode != "live":
                return state
            return _changed(state, selected_revision=head)
        case SetSpeed(speed):
            return _changed(state, speed=speed)
        case Pause():
            return _changed(state, is_playing=False)
        case Play():
            return _changed(state, mode="replay", is_playing=True)
    return _moved(state, command) or _laid_out(state, command)


def _moved(state: InspectorState, command: Command) -> InspectorState | None:
    """The state after a command that selects a revision; None for others."""
    selected = state.selected_revision
    match command:
        case SelectRevision(revision):
            return _selected(state, revision)
        case StepForward(head):
            return _selected(state, _bounded(selected + 1, head))
        case StepBackward():
            return _selected(state, selected - 1)
        case JumpToStart():
            return _selected(state, 0)
        case JumpToEnd(head):
            return _selected(state, selected if head is None else head)
        case PlayTick(head):
            after = _selected(state, _bounded(selected + 1, head))
            ends = head is not None and after.selected_revision >= head
            return _changed(after, is_playing=not ends)
    return None


def _laid_out(state: InspectorState, command: Command) -> InspectorState:
    """The state after a command about panels."""
    match command:
        case ToggleLeftPanel():
            return _changed(state, left_panel_open=not state.left_panel_open)
        case ToggleRightPanel():
            shown = None if state.right_panel == "inspector" else "inspector"
            return _changed(state, right_panel=shown)
        case ToggleGraphPanel():
            shown = None if state.right_panel == "graph" else "graph"
            return _changed(state, right_panel=shown)
        case SetPanelWidth(panel, width):
            return _widened(state, {panel: width})
        case HydratePanelWidths(widths):
            return _widened(state, widths)
        case ToggleDock():
            return _changed(state, dock_collapsed=not state.dock_collapsed)
    return state


def _selected(state: InspectorState, revision: int) -> InspectorState:
    return _changed(
        state, mode="replay", selected_revision=max(0, revision), is_playing=False
    )


def _bounded(revision: int, head: int | None) -> int:
    return revision if head is None else min(revision, head)


def _widened(state: InspectorState, widths: dict[Panel, float]) -> InspectorState:
    bounded = {}
    for panel, width in widths.items():
        least, most = _WIDTHS[panel]
        bounded[panel] = math.floor(min(most, max(least, width)) + 0.5)
    return _changed(
        state, panel_widths=msgspec.structs.replace(state.panel_widths, **bounded)
    )


def _changed(state: InspectorState, **changed: object) -> InspectorState:
    return msgspec.structs.replace(state, **changed)
