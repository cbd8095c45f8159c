"""The keys of `hotseat top`: what they are, and what they do."""

from __future__ import annotations

from typing import Final

from ..inspect.keys import Key

__all__ = ["TOP_KEYS"]

TOP_KEYS: Final = (
    Key("1", "panel('matches')", "1", "the matches in which most happens"),
    Key("2", "panel('shards')", "2", "the shards: owner, copies in sync, lag"),
    Key("3", "panel('nodes')", "3", "the nodes: rates and counters since their start"),
    Key("4", "panel('alarms')", "4", "what is wrong"),
    Key("tab", "next_panel(1)", "Tab", "the next panel", "panel"),
    Key("shift+tab", "next_panel(-1)"),
    Key("s", "sort(1)", "s S", "another order of the rows", "sort"),
    Key("S", "sort(-1)"),
    Key("down,j", "scroll(1)", "↑ ↓ j k", "scroll the panel"),
    Key("up,k", "scroll(-1)"),
    Key("pagedown", "scroll(15)", "PgUp PgDn", "a page back, a page on"),
    Key("pageup", "scroll(-15)"),
    Key("space", "pause", "Space", "stand still, go on", "pause"),
    Key("plus,equals_sign", "faster(1)", "+ -", "look more often, less often"),
    Key("minus", "faster(-1)"),
    Key("d", "dark", "d", "dark or light"),
    Key("question_mark,h", "help", "?", "this help", "help"),
    Key("q", "quit", "q", "quit", "quit"),
    Key("ctrl+c", "quit"),
)
