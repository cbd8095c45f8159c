"""Writes values for people to read. Pure: text in, text out.

Whatever comes from a match may hold what another player typed, so nothing leaves here
that could steer a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_type_hints

import msgspec

from ...engine.definition import Event
from ..client.outcome import Refusal

__all__ = [
    "action_text",
    "bare",
    "inline",
    "payload_text",
    "pretty",
    "refusal_text",
    "safe",
    "step_text",
]

WIDTH = 72
"""Columns that a value may take before it is broken into lines."""

CONTROL = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
LINE_BREAKS = CONTROL | {ord("\n"): "\n", ord("\t"): "  "}
# Marks that turn the direction of text around; they could hide what is written.
MARKS = dict.fromkeys((*range(8234, 8239), *range(8294, 8298)), "�")


def safe(text: str, *, lines: bool = False) -> str:
    """The text without anything that a terminal would obey; `lines` keeps breaks."""
    text = text.translate((LINE_BREAKS if lines else CONTROL) | MARKS)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def pretty(value: Any) -> list[str]:
    """A value in lines: mappings as `key: value`, lists of equal lists as a grid."""
    if isinstance(value, Mapping) and value:
        return [line for key, part in value.items() for line in _entry(key, part)]
    if _is_list(value) and value:
        if _is_grid(value):
            return _grid(value)
        text = ", ".join(map(inline, value))
        if len(text) <= WIDTH and not any(map(_is_container, value)):
            return [text]
        return [line for part in value for line in _item(part)]
    return [inline(value)]


def inline(value: Any) -> str:
    """A value in one line. Nothing is `-`; text is bare unless that could mislead."""
    if value is None:
        return "-"
    if isinstance(value, str):
        bare = value.isprintable() and value.strip() == value and value not in ("", "-")
        return safe(value if bare else json.dumps(value, ensure_ascii=False))
    if isinstance(value, Mapping):
        parts = (f"{safe(str(key))}: {inline(part)}" for key, part in value.items())
        return "{" + ", ".join(parts) + "}"
    if _is_list(value):
        return f"[{', '.join(map(inline, value))}]"
    return safe(json.dumps(value))


def action_text(event: str, payload: Any, *, hidden: bool = False) -> str:
    """An action as it is typed: `take 3`. A hidden payload is told as such."""
    if hidden:
        return f"{safe(event)} (hidden)"
    if payload is None:
        return safe(event)
    return safe(f"{event} {json.dumps(payload, ensure_ascii=False)}")


def refusal_text(refusal: Refusal) -> str:
    """Why not, in the game's own words if it has any."""
    text = refusal.message
    if refusal.reason is not None:
        text = refusal.reason.replace("_", " ")
    if refusal.details is not None and refusal.code != "invalid_payload":
        # its message names the place and what was expected there already
        text += f" ({bare(refusal.details)})"
    return safe(f"refused: {text} [{refusal.code}]", lines=True)


def bare(value: Any) -> str:
    """A value in one line, without its outermost brackets."""
    if not _is_container(value):
        return inline(value)
    return inline(value)[1:-1] or "(none)"


def step_text(step: Any, *, but_of: str | None = None) -> str:
    """A redacted step in one line; nothing if it is an action of the seat `but_of`."""
    event = step.get("event") if isinstance(step, Mapping) else None
    if not isinstance(event, Mapping) or not {"event", "type"} <= event.keys():
        return inline(step)  # the game has its own way to redact
    if event["type"] == "timeout":
        return "time ran out"
    done = action_text(
        str(event["event"]), event.get("payload"), hidden="payload" not in event
    )
    if event["type"] == "internal":
        return f"then {done}"
    seat = event.get("player_id")
    return "" if seat == but_of else f"{safe(str(seat))}: {done}"


def payload_text(event: Event) -> str:
    """What an event's payload looks like: `int`, `{"cell": int}`, or nothing."""
    kind = event.payload
    if kind is None:
        return "[any JSON]"
    if kind is type(None):
        return ""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = get_type_hints(kind).items()
        return "{" + ", ".join(f'"{k}": {_type_name(t)}' for k, t in fields) + "}"
    return _type_name(kind)


def _entry(key: object, part: Any) -> Iterable[str]:
    name = safe(str(key))
    if isinstance(part, Mapping) and part:
        text, flat = inline(part), not any(map(_is_container, part.values()))
    else:
        text, flat = bare(part), not _is_list(part) or not any(map(_is_list, part))
    if flat and (not _is_container(part) or len(name) + len(text) + 2 <= WIDTH):
        return [f"{name}: {text}"]
    return [f"{name}:", *(f"  {line}" for line in pretty(part))]


def _item(part: Any) -> Iterable[str]:
    text = bare(part)
    if len(text) <= WIDTH:
        return [f"- {text}"]
    first, *rest = pretty(part)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def _is_grid(value: Any) -> bool:
    if not _is_list(value) or len(value) < 2 or not all(map(_is_list, value)):
        return False
    widths = {len(row) for row in value}
    scalar = not any(_is_container(cell) for row in value for cell in row)
    return scalar and len(widths) == 1 and widths.pop() > 1


def _grid(rows: Sequence[Sequence[Any]]) -> list[str]:
    cells = [["." if cell is None else inline(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        " ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        .rstrip()
        for row in cells
    ]  # fmt: skip


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _is_container(value: Any) -> bool:
    return _is_list(value) or isinstance(value, Mapping)


def _type_name(kind: Any) -> str:
    if isinstance(kind, type) and not getattr(kind, "__args__", None):
        return kind.__name__
    return str(kind).replace("typing.", "")
