"""What is laid over a full screen: the help, and the question where to go."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from .keys import Key

__all__ = ["HelpScreen", "JumpScreen"]


class HelpScreen(ModalScreen[None]):
    """All keys. Any of those below closes it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen #help { width: 70; max-width: 100%; height: auto; max-height: 100%; }
    HelpScreen #help { border: round $primary; padding: 0 1; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,q,question_mark,h,enter,space", "dismiss", "close")
    ]

    def __init__(self, keys: Iterable[Key]) -> None:
        super().__init__()
        self._keys = tuple(keys)

    def compose(self) -> ComposeResult:
        lines = (f"{key.shown:>9}  {key.does}" for key in self._keys if key.shown)
        with VerticalScroll(id="help"):
            yield Static("\n".join(lines), markup=False)


class JumpScreen(ModalScreen[str | None]):
    """Asks for a revision; None if nobody wants one."""

    DEFAULT_CSS = """
    JumpScreen { align: center middle; }
    JumpScreen #jump { width: 40; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "close")]

    def compose(self) -> ComposeResult:
        yield Input(
            placeholder="revision, or t and a turn",
            restrict=r"t?[0-9]{0,12}",
            id="jump",
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)
