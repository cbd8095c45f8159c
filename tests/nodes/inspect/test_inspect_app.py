"""The inspector on textual's own stage: keys in, characters on the screen out."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest
from textual.pilot import Pilot

from hotseat.engine.record import Record
from hotseat.engine.replay import open_timeline
from hotseat.engine.snapshot import Snapshot
from hotseat.nodes.inspect import app as app_module
from hotseat.nodes.inspect.app import InspectApp
from hotseat.nodes.inspect.keys import KEYS
from hotseat.nodes.inspect.model import SPEEDS, InspectModel
from hotseat.nodes.operator.match_feed import FeedBroken
from hotseat.nodes.operator_error import OperatorError

from .inspected import hands, model_of, nasty, rolls

Play = Callable[[Pilot[None], InspectApp], Awaitable[None]]


def staged(app: InspectApp, play: Play, size: tuple[int, int] = (80, 24)) -> None:
    """Run the app without a terminal, on the loop that textual needs."""

    async def main() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await play(pilot, app)

    asyncio.run(main())


def screen(app: InspectApp) -> list[str]:
    """The characters that stand on the screen, row by row."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


async def wait_until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Let the app run until something is so; the test's timeout is the bound."""
    while not is_so():
        await pilot.pause(0.01)


def test_it_fits_80_by_24() -> None:
    """Header, timeline, panel and keys are all there, and nothing is cut off."""

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        await pilot.press("down", "down")
        shown = screen(app)
        assert [len(row) for row in shown] == [80] * 24
        assert shown[0].startswith(f"pig  2/{app.model.head}  paused  view: spectator")
        assert "5 graph" in shown[1]
        assert any(re.match(r">\s+2 .*│", row) for row in shown)
        assert any("asked in play" in row for row in shown)
        assert "q quit" in shown[-1]
        await pilot.press("question_mark")
        await pilot.pause()
        for key in KEYS:
            assert any(key.does in row for row in screen(app)), key

    staged(InspectApp(model_of(rolls()), "pig"), play)


def test_a_click_on_a_revision_shows_it() -> None:
    """The header and the empty rows are no revisions."""

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        for row, revision in ((4, 3), (0, 3), (18, 3), (1, 0)):
            await pilot.click("#timeline", offset=(5, row))
            assert app.model.revision == revision

    staged(InspectApp(model_of(rolls(8)), "pig"), play)


def test_a_wide_terminal_shows_the_graph_beside_the_panel() -> None:
    """And something else where the panel is the graph."""

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        await pilot.pause()
        assert any("? over" in row for row in screen(app))
        await pilot.press("5")
        await pilot.pause()
        assert any("the match was created" in row for row in screen(app))
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert not any("the match was created" in row for row in screen(app))

    staged(InspectApp(model_of(rolls()), "pig"), play, size=(140, 40))


@pytest.mark.slow
def test_keys_lead_through_the_match() -> None:
    """Each of them does what the help says."""

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        model = app.model
        await pilot.press("right", "down", "left")
        assert model.revision == 1
        await pilot.press("end")
        assert model.revision == model.head
        await pilot.press("pageup", "home")
        assert model.revision == 0
        await pilot.press("pagedown")
        assert model.revision > 10
        await pilot.press("g", "1", "2", "enter")
        assert model.revision == 12
        await pilot.press("g", "t", "3", "enter")
        assert model.frame().snapshot.position.turn == 3
        await pilot.press("n", "n", "p")
        assert model.frame().snapshot.position.turn == 4
        await pilot.press("g", "9", "9", "9", "enter")
        await pilot.pause()
        assert any("there is no revision 999" in row for row in screen(app))
        await pilot.press("g", "escape", "f", "f", "F", "v", "plus", "minus", "minus")
        assert (model.filter_seat, model.view_seat) == ("0", "0")
        assert model.state.speed < 1
        for number, name in enumerate(("step", "diff", "state", "view", "graph"), 1):
            await pilot.press(str(number))
            assert app.panel == name
        await pilot.press("tab", "shift+tab", "shift+tab")
        assert app.panel == "view"
        await pilot.press("j", "k", "h", "escape")

    staged(InspectApp(model_of(rolls()), "pig"), play)


@pytest.mark.slow
def test_a_panel_longer_than_the_screen_scrolls() -> None:
    """Another frame is shown from its first line again."""

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        await pilot.press("3")
        await pilot.pause()
        assert not any("line 30" in row for row in screen(app))
        await pilot.press(*"j" * 20)
        await pilot.pause()
        assert any("line 30" in row for row in screen(app))
        await pilot.press("up")
        await pilot.pause()
        assert any("line 1 -" in row for row in screen(app))

    said = [f"line {number}" + " -" * 20 for number in range(60)]
    staged(InspectApp(model_of(nasty(*said), revision=60), "shout"), play)


@pytest.mark.slow
def test_it_plays_by_itself_and_pauses() -> None:
    """To the end, in the time that the speed gives it."""

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        for _ in SPEEDS:
            await pilot.press("plus")
        await pilot.press("space")
        await wait_until(pilot, lambda: app.model.revision >= 2)
        await pilot.press("space")  # long before the end
        assert not app.model.state.is_playing
        paused_at = app.model.revision
        await pilot.pause(0.1)  # three ticks, if it still had a clock
        assert app.model.revision == paused_at
        await pilot.press("end", "left", "left", "left", "space")
        head = app.model.head
        await wait_until(pilot, lambda: app.model.revision == head)
        await wait_until(pilot, lambda: not app.model.state.is_playing)

    staged(InspectApp(model_of(nasty(*["hm"] * 400)), "shout"), play)


@pytest.mark.parametrize("light", [False, True])
def test_there_is_a_dark_and_a_light_screen(light: bool) -> None:
    """A key changes one into the other; the background follows."""

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        def brightness() -> float:
            return app.screen.styles.background.brightness

        assert (brightness() > 0.5) is light
        await pilot.press("d")
        await pilot.pause()
        assert (brightness() > 0.5) is not light

    staged(InspectApp(model_of(rolls(3)), "pig", light=light), play)


@pytest.mark.slow
def test_nothing_of_a_match_steers_the_terminal() -> None:
    """Neither control characters nor markup nor marks of direction get through."""
    evil = "\x1b[2J\x07\r\x9b31m[red]bold[/red]\u202egnp"

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        for key in ("1", "2", "3", "4", "5", "v", "4"):
            await pilot.press(key)
            await pilot.pause()
            for row in screen(app):
                assert not re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e]", row), row
        await pilot.press("3")
        await pilot.pause()
        assert any("[red]" in row for row in screen(app))

    session = nasty(evil, "hush")
    staged(InspectApp(model_of(session, revision=1), f"shout {evil}"), play)
    staged(InspectApp(model_of(session, revision=2), "shout"), play)


def test_the_view_on_the_screen_is_the_seat_s() -> None:
    """Seat 1 does not see what seat 0 chose."""

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        await pilot.press("4", "v")
        await pilot.pause()
        assert any("paper" in row for row in screen(app))
        await pilot.press("v")
        await pilot.pause()
        assert not any("paper" in row for row in screen(app))

    staged(InspectApp(model_of(hands(), revision=1), "rps"), play)


class Script:
    """A feed that says what it is told, and then that the match is over."""

    def __init__(self, *said: Sequence[Record] | OperatorError) -> None:
        self.ended = self.quarantined = False
        self._said = list(said)

    async def fetch(self) -> list[Record]:
        answer = self._said.pop(0)
        self.ended = not self._said
        if isinstance(answer, OperatorError):
            raise answer
        return list(answer)

    def take_marks(self) -> dict[int, Callable[[], Snapshot]]:
        return {}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask at once."""
    monkeypatch.setattr(app_module, "POLL_S", 0.01)


def live(session: Any, first: int) -> InspectModel:
    """A match that goes on after its first records."""
    return InspectModel(open_timeline(session.game, session.log[:first]), growing=True)


@pytest.mark.usefixtures("quick")
def test_a_running_match_is_followed_to_its_end() -> None:
    """An owner that does not answer for a while costs nothing."""
    session = rolls()
    gone = FeedBroken("no_owner", "nobody")
    feed = Script(session.log[4:9], gone, [], session.log[9:])

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        await wait_until(pilot, lambda: not app.model.growing)
        assert app.model.revision == session.snapshot.revision
        await pilot.pause()
        assert "paused" in screen(app)[0]

    staged(InspectApp(live(session, 4), "pig", feed), play)


@pytest.mark.usefixtures("quick")
def test_a_match_that_is_set_apart_says_so() -> None:
    """It is not over, and nothing more will come."""
    session = rolls()
    feed = Script(*[[]] * 10_000)
    feed.quarantined = True

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        await wait_until(pilot, lambda: bool(app.status))
        await pilot.pause()
        assert any("quarantined: " in row for row in screen(app))

    staged(InspectApp(live(session, 4), "pig", feed), play)


@pytest.mark.usefixtures("quick")
def test_a_lost_match_is_told_and_what_is_known_stays() -> None:
    """One clear error on the screen; the frames can still be looked at."""
    session = rolls()
    feed = Script(OperatorError("match_lost", "it is gone"), [])

    async def play(pilot: Pilot[None], app: InspectApp) -> None:
        await wait_until(pilot, lambda: not app.model.growing)
        await pilot.pause()
        assert any("match_lost: it is gone" in row for row in screen(app))
        await pilot.press("home")
        assert app.model.revision == 0

    staged(InspectApp(live(session, 4), "pig", feed), play)


def test_q_and_ctrl_c_leave() -> None:
    """Both are an orderly end."""
    for key in ("q", "ctrl+c"):

        async def play(pilot: Pilot[None], app: InspectApp, key: str = key) -> None:
            await pilot.press(key)

        app = InspectApp(model_of(rolls(3)), "pig")
        staged(app, play)
        assert app.return_code == 0
