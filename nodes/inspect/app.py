"""The inspector's screen: draws the model, and turns keys into its commands.

Nothing is decided here. Whatever comes from a match enters the terminal in `drawn`,
which lets nothing through that a terminal would obey, and no markup is read anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

import anyio
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.events import Click
from textual.timer import Timer
from textual.widgets import Footer, Static

from ...engine.record import Record
from ...engine.snapshot import Snapshot
from ..operator.match_feed import FeedBroken
from ..operator_error import OperatorError
from .keyed_app import KeyedApp, bindings
from .keys import KEYS
from .lines import Line, Span, line
from .model import InspectModel
from .panels import PANELS, header_line, panel_lines, timeline_lines
from .screens import JumpScreen

__all__ = ["Feed", "InspectApp"]

TICK_S = 0.5
"""Between two revisions while it plays at speed 1."""

POLL_S = 0.5
"""Between two questions for what a match has logged since."""

WIDE_COLUMNS = 120
"""From here on a second panel fits."""

QUARANTINED = (
    "quarantined: the match is set apart and does not go on; see the node's log"
)


class Feed(Protocol):
    """Where the records of a match that goes on come from."""

    @property
    def ended(self) -> bool:
        """Whether there will be no more."""

    @property
    def quarantined(self) -> bool:
        """Whether the match is set apart: it does not go on, and is not over."""

    def take_marks(self) -> Mapping[int, Callable[[], Snapshot]]:
        """What the match was after some of the records that were fetched."""

    async def fetch(self) -> list[Record]:
        """Those that are new.

        Raises:
            FeedBroken: Ask again later.
            OperatorError: There will be no more.
        """


class InspectApp(KeyedApp):
    """Shows a model until the reader quits."""

    CSS = """
    #header, #tabs, #notice { height: 1; }
    #header { background: $panel; }
    #notice { color: $text-warning; }
    #timeline { width: 30%; min-width: 40; max-width: 60; height: 1fr; }
    #timeline { border-right: solid $panel; }
    #detail, #side { width: 1fr; padding: 0 1; }
    #side { display: none; border-left: solid $panel; }
    #side.wide { display: block; }
    #timeline, #tabs, #header, #notice { text-wrap: nowrap; text-overflow: ellipsis; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings(KEYS)

    def __init__(
        self,
        model: InspectModel,
        title: str,
        feed: Feed | None = None,
        *,
        light: bool = False,
    ) -> None:
        super().__init__(KEYS, light=light)
        self.model = model
        self.panel = next(iter(PANELS))
        self.status = ""
        self._title = title
        self._feed = feed
        self._ticking: Timer | None = None
        self._ticks_s = 0.0

    def compose(self) -> ComposeResult:
        yield Static(id="header", markup=False)
        with Horizontal():
            yield Static(id="timeline", markup=False)
            with Vertical(id="detail"):
                yield Static(id="tabs", markup=False)
                with VerticalScroll(id="scroll", can_focus=False):
                    yield Static(id="panel", markup=False)
            with VerticalScroll(id="side", can_focus=False):
                yield Static(id="other", markup=False)
        yield Static(id="notice", markup=False)
        yield Footer()

    def on_mount(self) -> None:
        self.call_after_refresh(self.draw)
        if self._feed is not None and self.model.growing:
            self.run_worker(self._follow(self._feed), exclusive=True)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    def on_click(self, event: Click) -> None:
        timeline = self.query_one("#timeline")
        if event.widget is timeline:
            rows = self.model.rows(timeline.content_size.height - 1)
            if 0 < event.y <= len(rows):
                self.model.jump(rows[event.y - 1].revision)
                self._top()

    def draw(self) -> None:
        """Show what the model says now, unless the screen is not there yet, or gone."""
        if not self.query("#timeline"):
            return
        model, size = self.model, self.query_one("#timeline").content_size
        self._put("header", [header_line(model, self._title)])
        self._put("timeline", timeline_lines(model, max(2, size.height), size.width))
        self._put("tabs", [self._tabs()])
        self._put("panel", panel_lines(model, self.panel))
        wide = self.size.width >= WIDE_COLUMNS
        self.query_one("#side").set_class(wide, "wide")
        if wide:
            other = "graph" if self.panel != "graph" else "step"
            self._put("other", panel_lines(model, other))
        self._put("notice", [line(model.notice or self.status)])
        self._keep_time()

    def action_move(self, by: int) -> None:
        self.model.move(by)
        self._top()

    def action_page(self, by: int) -> None:
        page = max(1, self.query_one("#timeline").content_size.height - 2)
        self.model.move(by * page)
        self._top()

    def action_start(self) -> None:
        self.model.start()
        self._top()

    def action_end(self) -> None:
        self.model.end()
        self._top()

    def action_turn(self, by: int) -> None:
        if by > 0:
            self.model.next_turn()
        else:
            self.model.previous_turn()
        self._top()

    def action_play(self) -> None:
        self.model.toggle_play()
        self.draw()

    def action_faster(self, by: int) -> None:
        self.model.faster(by)
        self.draw()

    def action_filter(self, by: int) -> None:
        self.model.cycle_filter(by)
        self.draw()

    def action_view(self, by: int) -> None:
        self.model.cycle_view(by)
        self.draw()

    def action_panel(self, name: str) -> None:
        self.panel = name
        self._top()

    def action_next_panel(self, by: int) -> None:
        names = list(PANELS)
        self.action_panel(names[(names.index(self.panel) + by) % len(names)])

    def action_jump(self) -> None:
        self.push_screen(JumpScreen(), self._jump)

    def _jump(self, asked: str | None) -> None:
        number = (asked or "").removeprefix("t")
        if asked and number:
            jump = self.model.jump_to_turn if asked[0] == "t" else self.model.jump
            jump(int(number))
            self._top()

    def _tabs(self) -> Line:
        spans: list[Span] = []
        for number, name in enumerate(PANELS, start=1):
            spans += [
                (f"{number} {name}", "here" if name == self.panel else ""),
                (" ", ""),
            ]
        return tuple(spans)

    def _keep_time(self) -> None:
        """Tick while the model plays, as fast as it says."""
        playing = self.model.state.is_playing
        period = TICK_S / self.model.state.speed if playing else 0.0
        if period == self._ticks_s:
            return
        if self._ticking is not None:
            self._ticking.stop()
        self._ticks_s = period
        self._ticking = self.set_interval(period, self._tick) if period else None

    def _tick(self) -> None:
        self.model.tick()
        self._top()

    async def _follow(self, feed: Feed) -> None:
        """Take in what the match logs, until it is over or lost."""
        while self.model.growing:
            await anyio.sleep(POLL_S)
            try:
                records = await feed.fetch()
                if records:
                    self.model.grow(records, feed.take_marks())
                self.status = QUARANTINED if feed.quarantined else ""
                if feed.ended:
                    self.model.stop_growing()
            except FeedBroken as error:
                self.status = f"{error.code}: asking again"
            except OperatorError as error:
                self.status = f"{error.code}: {error.message}"
                self.model.stop_growing()
            self.draw()
