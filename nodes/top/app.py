"""The screen of `hotseat top`: draws the model, and turns keys into its commands."""

from __future__ import annotations

from typing import ClassVar, Protocol

import anyio
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Footer, Static

from ..inspect.keyed_app import KeyedApp, bindings
from ..inspect.lines import Line, Span
from ..operator_error import OperatorError
from .keys import TOP_KEYS
from .look import Look
from .model import PANELS, TopModel

__all__ = ["Looks", "TopApp"]


class Looks(Protocol):
    """Where looks at a cluster come from."""

    async def look(self) -> Look:
        """
        Raises:
            OperatorError: There is none now; it is asked again.
        """


class TopApp(KeyedApp):
    """Shows a cluster until the reader quits."""

    CSS = """
    #header { height: 3; background: $panel; }
    #tabs { height: 1; }
    #header, #tabs, #panel { text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(TOP_KEYS)

    def __init__(self, looks: Looks, *, light: bool = False) -> None:
        super().__init__(TOP_KEYS, light=light)
        self.model = TopModel()
        self._looks = looks
        self._hurry = anyio.Event()

    def compose(self) -> ComposeResult:
        yield Static(id="header", markup=False)
        yield Static(id="tabs", markup=False)
        with VerticalScroll(id="scroll", can_focus=False):
            yield Static(id="panel", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.call_after_refresh(self.draw)
        self.run_worker(self._watch(), exclusive=True)

    def draw(self) -> None:
        """Show what the model says, unless the screen is not there yet, or gone."""
        if not self.query("#panel"):
            return
        self._put("header", self.model.header())
        self._put("tabs", [self._tabs()])
        self._put("panel", self.model.lines())

    def action_panel(self, name: str) -> None:
        self.model.panel = name
        self._top()

    def action_next_panel(self, by: int) -> None:
        self.model.next_panel(by)
        self._top()

    def action_sort(self, by: int) -> None:
        self.model.next_sort(by)
        self._top()

    def action_pause(self) -> None:
        self.model.paused = not self.model.paused
        self.draw()

    def action_faster(self, by: int) -> None:
        self.model.faster(by)
        self._hurry.set()
        self.draw()

    def _tabs(self) -> Line:
        spans: list[Span] = []
        for number, name in enumerate(PANELS, start=1):
            here = name == self.model.panel
            spans += [(f"{number} {name}", "here" if here else ""), ("  ", "")]
        return (*spans, (f"by {self.model.sort}", "dim"))

    async def _watch(self) -> None:
        """Look again and again. A change of the pace is heeded at once."""
        while True:
            if not self.model.paused:
                try:
                    self.model.take(await self._looks.look())
                except OperatorError as error:
                    self.model.problem = f"{error.code}: {error.message}"
                self.draw()
            self._hurry = anyio.Event()
            with anyio.move_on_after(self.model.period_s):
                await self._hurry.wait()
