"""What the full screens share: a panel that scrolls, a table of keys, help, colours.

A screen draws lines and turns keys into commands of its model. Whatever is drawn goes
through `drawn`, which lets nothing through that a terminal would obey.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from textual.app import App
from textual.binding import Binding, BindingType
from textual.widgets import Static

from .drawn import drawn
from .keys import Key
from .lines import Line
from .screens import HelpScreen

__all__ = ["KeyedApp", "bindings"]


class KeyedApp(App[None]):
    """Its widgets have ids; what scrolls is `scroll`."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, keys: Iterable[Key], *, light: bool) -> None:
        super().__init__()
        self._keys = tuple(keys)
        self.theme = "textual-light" if light else "textual-dark"

    @abstractmethod
    def draw(self) -> None:
        """Show what the model says now, unless the screen is not there yet, or gone."""

    def action_scroll(self, by: int) -> None:
        self.query_one("#scroll").scroll_relative(y=by, animate=False)

    def action_dark(self) -> None:
        dark = self.theme == "textual-dark"
        self.theme = "textual-light" if dark else "textual-dark"

    def action_help(self) -> None:
        self.push_screen(HelpScreen(self._keys))

    def _top(self) -> None:
        """Draw something else: from its first line."""
        self.query_one("#scroll").scroll_home(animate=False)
        self.draw()

    def _put(self, name: str, lines: Iterable[Line]) -> None:
        self.query_one(f"#{name}", Static).update(drawn(lines))


def bindings(keys: Iterable[Key]) -> list[BindingType]:
    """The keys as textual wants them."""
    return [
        Binding(
            key.keys,
            key.action,
            key.footer or key.does,
            show=bool(key.footer),
            key_display=key.shown.partition(" ")[0],
            # what textual's screens would else use for themselves
            priority=key.keys in ("tab", "shift+tab", "ctrl+c"),
        )
        for key in keys
    ]
