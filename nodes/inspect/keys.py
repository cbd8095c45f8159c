"""The inspector's keys: what they are, and what they do."""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["KEYS", "Key"]


class Key(NamedTuple):
    """One command. `keys` are textual's names."""

    keys: str
    action: str
    shown: str = ""
    """How people read it, with its opposite; nothing if it is told there."""
    does: str = ""
    footer: str = ""
    """What the line at the bottom says of it; nothing if it is not there."""


KEYS: Final = (
    Key("up,left", "move(-1)", "↑ ↓ ← →", "the revision before, the next one"),
    Key("down,right", "move(1)"),
    Key("pageup", "page(-1)", "PgUp PgDn", "a page back, a page on"),
    Key("pagedown", "page(1)"),
    Key("home", "start", "Home", "the creation"),
    Key("end", "end", "End", "the newest revision; a running match is followed there"),
    Key("space", "play", "Space", "play, pause", "play"),
    Key("plus,equals_sign", "faster(1)", "+ -", "play faster, slower"),
    Key("minus", "faster(-1)"),
    Key("g", "jump", "g", "go to a revision, or with t5 to turn 5", "go to"),
    Key("n", "turn(1)", "n p", "the next turn, the one before", "turn"),
    Key("p", "turn(-1)"),
    Key("f", "filter(1)", "f F", "only the actions of the next seat, or all", "filter"),
    Key("F", "filter(-1)"),
    Key("v", "view(1)", "v V", "view as the next seat, or as a spectator", "view"),
    Key("V", "view(-1)"),
    Key("1", "panel('step')", "1", "what happened: the branches and their answers"),
    Key("2", "panel('diff')", "2", "what changed in G"),
    Key("3", "panel('state')", "3", "the whole state"),
    Key("4", "panel('view')", "4", "what the seat of the view may see"),
    Key("5", "panel('graph')", "5", "where in the graph it is, and which edge it took"),
    Key("tab", "next_panel(1)", "Tab", "the next panel", "panel"),
    Key("shift+tab", "next_panel(-1)"),
    Key("j", "scroll(3)", "j k", "scroll the panel down, up"),
    Key("k", "scroll(-3)"),
    Key("d", "dark", "d", "dark or light"),
    Key("question_mark,h", "help", "?", "this help", "help"),
    Key("q", "quit", "q", "quit", "quit"),
    Key("ctrl+c", "quit"),
)
