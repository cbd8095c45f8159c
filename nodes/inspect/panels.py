"""What the inspector's panels say of a frame, as lines.

A frame that cannot be shown, as the match does not play back or a view fails, is told
in the panel: the others can still be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from rich.cells import cell_len, set_cell_size

from ...engine.errors import EngineError, ViewError
from ...engine.explain import explain
from ...engine.inspector.inspector import InspectedFrame
from ...engine.value_diff import ValueChange
from ..play.show import inline, pretty, safe
from .graph_lines import graph_lines
from .lines import Line, Span, Tone, bounded, line
from .model import InspectModel, Row

__all__ = ["PANELS", "header_line", "panel_lines", "timeline_lines"]


def panel_lines(model: InspectModel, panel: str) -> list[Line]:
    """The lines of a panel for the revision that is shown."""
    try:
        return bounded(PANELS[panel](model))
    except ViewError as error:
        told = [line(f"{error}:", "bad")]
        return told + [line(text) for text in error.fault.message.splitlines()]
    except EngineError as error:
        return [
            line(f"revision {model.revision} cannot be shown:", "bad"),
            line(str(error)),
        ]
    except LookupError as error:
        return [line(str(error), "bad")]


def header_line(model: InspectModel, title: str) -> Line:
    """What is looked at, and how."""
    head = "?" if model.head is None else str(model.head)
    mode: Span = ("paused", "dim")
    if model.state.is_playing:
        mode = ("playing", "good")
    elif model.following:
        mode = ("live", "good")
    view = "spectator" if model.view_seat is None else f"seat {model.view_seat}"
    spans: list[Span] = [(title, "strong"), (f"  {model.revision}/{head}  ", ""), mode]
    speed = "" if model.state.speed == 1 else f" x{model.state.speed:g}"
    spans.append((f"{speed}  view: {view}", ""))
    if model.filter_seat is not None:
        spans.append((f"  only: seat {model.filter_seat}", "here"))
    return tuple(spans)


def timeline_lines(model: InspectModel, height: int, width: int) -> list[Line]:
    """The frames around the one that is shown, each as wide as that."""
    head = _columns("", "rev", "turn", "seat", "event", "state")
    rows = model.rows(height - 1)
    return [line(_fitted(head, width), "dim"), *(_row_line(row, width) for row in rows)]


_KINDS: Final[Mapping[str, Tone]] = {
    "initial": "dim",
    "internal": "dim",
    "timeout": "bad",
    "takeback": "bad",
    "edit": "bad",
    "upgrade": "bad",
    "terminate": "bad",
}

# What is none of the game's events is named by its kind.
_OWN_KINDS: Final = frozenset({"timeout", "takeback", "edit", "upgrade", "terminate"})


def _row_line(row: Row, width: int) -> Line:
    event = row.event
    if row.kind == "initial":
        event = "(created)"
    elif row.kind in _OWN_KINDS:
        event = f"({row.kind})"
    elif row.kind == "internal":
        event = f"+ {event}"
    mark, numbers = ">" if row.selected else "", (str(row.revision), str(row.turn))
    text = _columns(mark, *numbers, safe(row.seat), safe(event), safe(row.state))
    tone: Tone = "here" if row.selected else _KINDS.get(row.kind, "")
    return line(_fitted(text, width), tone)


def _columns(
    mark: str, revision: str, turn: str, seat: str, event: str, state: str
) -> str:
    numbers = f"{mark:1}{revision:>5} {turn:>4}"
    return f"{numbers} {_fitted(seat, 5)} {_fitted(event, 12)} {state}"


def _fitted(text: str, width: int) -> str:
    """A text in so many columns of a terminal: wide characters take two."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return f"{set_cell_size(text, max(0, width - 1))}…"


def _step(model: InspectModel) -> list[Line]:
    """What happened, which branch ran, and why the others did not."""
    shown, step = model.inspected(), model.frame().step
    lines: list[Line] = []
    if step is None:
        lines.append(line("the match was created", "strong"))
    else:
        first, *rest = explain(step).splitlines()
        lines.append(line(first, "strong"))
        if (operator := model.frame().operator) is not None:
            said = safe(f"operator {operator['who']}: {operator['why']}")
            lines.append(line(said, "bad"))
        lines += [_explained(text) for text in rest]
        lines += _payload(shown)
    lines.append(line(""))
    return lines + _control(shown)


def _explained(text: str) -> Line:
    if text.startswith("    * "):
        return line(text, "good")
    if text.startswith("    - "):
        answer, colon, why = text.partition(": rejected")
        return ((answer, ""), (colon + why, "bad")) if colon else line(text, "dim")
    return line(text)


def _payload(shown: InspectedFrame) -> list[Line]:
    """All of a payload that is too long for one line."""
    if shown.payload is None or len(inline(shown.payload)) <= 60:
        return []
    told = [line(f"  {text}") for text in pretty(shown.payload)]
    return [line("whole payload:", "strong"), *told]


def _control(shown: InspectedFrame) -> list[Line]:
    lines = [line(shown.handoff.summary)]
    if shown.control_problem is not None:
        lines.append(line(f"control is not known: {shown.control_problem}", "bad"))
    elif shown.control is not None:
        meta = shown.control.meta
        if meta.label is not None:
            lines.append(line(f"label: {meta.label}"))
        if meta.deadline is not None:
            lines.append(line(f"deadline: {meta.deadline}"))
        if shown.control.control is not None:
            lines.append(line(f"control: {inline(shown.control.control)}"))
    if shown.result is not None:
        lines.append(line(f"result: {inline(shown.result)}", "strong"))
    return lines


def _diff(model: InspectModel) -> list[Line]:
    """What the step changed in G."""
    if model.frame().step is None:
        return [line("nothing came before the creation", "dim")]
    return _changes(model.inspected().diffs, "G")


def _changes(changes: tuple[ValueChange, ...], what: str) -> list[Line]:
    if not changes:
        return [line(f"{what} did not change", "dim")]
    lines: list[Line] = []
    for change in changes:
        lines.append(line(change.path or what, "strong"))
        lines += [line(f"  - {text}", "bad") for text in pretty(change.before)]
        lines += [line(f"  + {text}", "good") for text in pretty(change.after)]
    return lines


def _state(model: InspectModel) -> list[Line]:
    """The whole snapshot."""
    snapshot = model.frame().snapshot
    derived, meta = snapshot.derived, snapshot.meta
    path = "/".join(snapshot.position.path)
    lines = _value("G", snapshot.G)
    lines.append(line(f"position: {path}, turn {snapshot.position.turn}"))
    lines.append(line(f"may act: {', '.join(derived.active_players) or 'nobody'}"))
    if derived.selectors:
        lines += _value("selectors", derived.selectors)
    lines += _value("match", meta.match)
    lines += [line(f"result: {inline(meta.result)}"), line(f"now: {meta.now}")]
    return [*lines, line(f"seed: {meta.seed}", "dim")]


def _value(name: str, value: Any) -> list[Line]:
    return [line(name, "strong"), *(line(f"  {text}") for text in pretty(value))]


def _view(model: InspectModel) -> list[Line]:
    """What one seat, or a spectator, may see: the view, the step, the changes."""
    seen = model.seen()
    seat = model.view_seat
    name = "a spectator" if seat is None else f"seat {seat}"
    lines = _value(f"what {name} sees", seen.view)
    if seen.step is not None:
        lines += [line("changes in it", "strong")]
        lines += _changes(seen.diffs, "the view")
        lines += _value("the step, as it is told", seen.step)
    return lines


def _graph(model: InspectModel) -> list[Line]:
    return graph_lines(model.inspector.graph(), model.inspected())


PANELS: Final[Mapping[str, Callable[[InspectModel], list[Line]]]] = {
    "step": _step,
    "diff": _diff,
    "state": _state,
    "view": _view,
    "graph": _graph,
}
"""By name, in the order of their keys: 1, 2, ..."""
