"""The operators' pages, by clicking: a match scrubbed while it is played, a file, and a
cluster in which a node hangs, dies and returns."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import NO_PLAYWRIGHT, Come

pytest.importorskip("playwright", reason=NO_PLAYWRIGHT)

from anyio.from_thread import BlockingPortal, start_blocking_portal
from playwright.sync_api import Locator, Page, expect

from hotseat.nodes.client import Accepted, RemoteMatch, Seat, connect
from hotseat.nodes.cluster_dir import ClusterDir

from .rig import PATIENCE_MS, Cluster, Visitor
from .test_screens import pictures

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(120)]


class Expedition:
    """A match of two who walk over the ice, played through the client library."""

    def __init__(self, portal: BlockingPortal, match: RemoteMatch) -> None:
        self.id = match.id
        self._portal = portal
        self._seats: dict[str, Seat] = {}
        for name in ("0", "1"):
            seat = portal.call(match.take, name)
            assert isinstance(seat, Seat)
            self._seats[name] = seat

    def act(self, *events: str) -> None:
        """The seats do these in turn."""
        for number, event in enumerate(events):
            done = self._portal.call(self._seats["01"[number % 2]].dispatch, event)
            assert isinstance(done, Accepted), done


@contextmanager
def expedition(cluster: Cluster) -> Iterator[Expedition]:
    home = ClusterDir.load(cluster.folder)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(connect(home, principal="guide")) as client,
    ):
        match = portal.call(lambda: client.create("expedition", players=["0", "1"]))
        assert isinstance(match, RemoteMatch), match
        yield Expedition(portal, match)


class Operator:
    """Somebody with an operator's token before one of the pages."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.page = visitor, visitor.page
        self.heading = self.page.locator(".step-head h3")
        self.selected = self.page.locator(".step.selected")
        self.here = self.page.locator(".state.here text")

    def press(self, key: str) -> None:
        self.page.keyboard.press(key)

    def shows(self, revision: int, what: str) -> None:
        """Wait until that revision is shown, in all panels."""
        expect(self.selected).to_have_attribute(
            "id", f"step-{revision}", timeout=PATIENCE_MS
        )
        expect(self.page.get_by_label("Go to revision")).to_have_value(str(revision))
        expect(self.heading).to_have_text(what, timeout=PATIENCE_MS)

    def status(self) -> Locator:
        return self.page.locator(".title .chip").first


def inspecting(come: Come, cluster: Cluster, rest: str) -> Operator:
    return Operator(come().goto(f"{cluster.url}/inspect#t={cluster.operator}{rest}"))


def test_a_match_is_scrubbed_while_it_is_played(cluster: Cluster, come: Come) -> None:
    """Followed, gone through by keys, slider and list; seen as a seat; and the address
    of a revision leads there, for who has a token."""
    with expedition(cluster) as match:
        match.act("march", "camp")
        ann = inspecting(come, cluster, f"&m={match.id}")
        ann.shows(3, "camp by seat 1")
        expect(ann.status()).to_have_text("live")
        assert cluster.operator not in ann.page.url
        states_are_apart(ann.page)
        match.act("hunt")
        ann.shows(4, "hunt by seat 0")
        ann.press("Home")
        ann.shows(0, "The match was created")
        expect(ann.here).to_have_text(["base"])
        match.act("camp")  # what comes now is not followed
        expect(ann.page.locator("#step-5")).to_be_visible()
        ann.press("ArrowRight")
        ann.shows(1, "march by seat 0")
        taken = ann.page.locator(".arrow.taken title")
        expect(taken).to_have_text(re.compile(r"^base → on the way\b"))
        expect(ann.page.locator(".facts", has_text="Chance")).to_contain_text("1 draw")
        expect(ann.page.locator(".changes")).to_contain_text("food")
        ann.press("ArrowRight")
        ann.shows(2, "weather")
        expect(ann.page.locator(".branches li").first).to_contain_text("a storm comes")
        state = ann.page.locator(".panel-state")
        expect(state).to_contain_text("food")
        ann.page.get_by_label("Seen as").select_option(label="Seat 1")
        expect(state).to_contain_text("myPlayerID")
        expect(state).not_to_contain_text("food")
        expect(ann.page).to_have_url(re.compile(r"&r=2&as=1$"))
        follow_the_address(come, cluster, ann)
        ann.page.get_by_label("Revision", exact=True).fill("3")
        ann.shows(3, "camp by seat 1")
        ann.page.locator("#step-1").click()
        ann.shows(1, "march by seat 0")
        ann.page.get_by_label("Seen as").select_option(label="Everything")
        pictures(ann.page, "inspector")
        ann.page.set_viewport_size({"width": 1200, "height": 860})
        ann.page.get_by_title("Faster (+)").click(click_count=4)
        ann.press("Home")
        ann.visitor.press("Play")
        ann.shows(5, "camp by seat 0")  # the end: it is followed again
        expect(ann.visitor.button("Live")).to_have_attribute("aria-pressed", "true")


BOXES = """() => {
  const found = [...document.querySelectorAll(".state")].map((each) => {
    const { x, y, width, height } = each.querySelector("rect").getBBox();
    return [each.querySelector("title").textContent, [x, y, x + width, y + height]];
  });
  return Object.fromEntries(found);
}"""


def states_are_apart(page: Page) -> None:
    """Each state of the graph lies within its parent, and on no other one."""
    boxes = page.evaluate(BOXES)
    assert len(boxes) == 8
    for name, (left, top, right, bottom) in boxes.items():
        for other, (x1, y1, x2, y2) in boxes.items():
            if name.startswith(f"{other} / "):
                assert x1 < left < right < x2, (name, other)
                assert y1 < top < bottom < y2, (name, other)
            elif name != other and not other.startswith(f"{name} / "):
                apart = right < x1 or x2 < left or bottom < y1 or y2 < top
                assert apart, (name, other)


def follow_the_address(come: Come, cluster: Cluster, ann: Operator) -> None:
    """Somebody else is sent it: asked for a token, then there."""
    bob = Operator(come().goto(ann.page.url))
    bob.page.get_by_label("Operator’s token").fill(cluster.operator)
    bob.visitor.press("Enter")
    bob.shows(2, "weather")
    expect(bob.page.get_by_label("Seen as")).to_have_value("1")


def test_a_file_is_looked_at(cluster: Cluster, come: Come, tmp_path: Path) -> None:
    """An exported log from this machine; and what is none is refused with a reason."""
    with expedition(cluster) as match:
        match.act("march", "camp", "hunt")
    log, wrong = tmp_path / "saved.hotseat", tmp_path / "wrong.json"
    cluster.told("match", "export", match.id, "-o", str(log))
    wrong.write_text("{}")
    ann = inspecting(come, cluster, "")
    expect(ann.page.get_by_role("heading", name="Look into a match")).to_be_visible()
    pictures(ann.page, "inspector-choice")
    ann.page.get_by_label("Choose a file, or drop it here").set_input_files(wrong)
    expect(ann.page.get_by_role("alert")).to_contain_text("That is no saved match")
    # The browser told of the refused request, which is all right.
    ann.visitor.complaints.clear()
    ann.page.get_by_label("Choose a file, or drop it here").set_input_files(log)
    ann.shows(0, "The match was created")
    expect(ann.status()).to_have_text("file")
    ann.press("End")
    ann.shows(4, "hunt by seat 0")
    expect(ann.here).to_have_text(["asleep"])
    expect(ann.visitor.button("To live")).to_be_hidden()


def test_a_node_hangs_dies_and_returns(cluster: Cluster, come: Come) -> None:
    """The cluster's page says so, without being asked; and leads to its matches."""
    ann = Operator(come().goto(f"{cluster.url}/cluster#t={cluster.operator}"))
    nodes = ann.page.locator("#nodes-table tbody tr")
    expect(nodes.locator(".chip")).to_have_text(["ready"] * 3, timeout=PATIENCE_MS)
    with expedition(cluster) as match:
        match.act("march", "camp")
        link = ann.page.get_by_role("link", name=f"Inspect match {match.id}")
        expect(ann.page.locator("#hottest-table").locator(link)).to_be_visible(
            timeout=PATIENCE_MS
        )
        ann.page.get_by_label("Game").fill("expedition")
        ann.visitor.press("Find")
        found = ann.page.locator("#matches-table").locator(link)
        expect(found).to_be_visible()
        pictures(ann.page, "cluster")
        ann.page.set_viewport_size({"width": 1200, "height": 860})
        hung = nodes.nth(1)
        pid = int((cluster.folder / "run" / "n2.pid").read_text().split()[0])
        os.kill(pid, signal.SIGSTOP)
        expect(hung).to_contain_text("silent", timeout=PATIENCE_MS)
        expect(ann.page.locator(".alarms")).to_contain_text("n2")
        # However many shards lack a copy then: that is one thing that is wrong.
        short = ann.page.locator(".alarm", has_text="shard_short")
        expect(short).to_contain_text(re.compile(r"^shards \d"))
        expect(short).to_have_count(1)
        pictures(ann.page, "cluster-alarm")
        os.kill(pid, signal.SIGKILL)  # whoever started it starts it again
        expect(nodes.locator(".chip")).to_have_text(["ready"] * 3, timeout=30_000)
        expect(ann.page.locator(".alarms")).to_have_count(0, timeout=30_000)
        ann.page.set_viewport_size({"width": 1200, "height": 860})
        found.click()
        ann.shows(3, "camp by seat 1")
