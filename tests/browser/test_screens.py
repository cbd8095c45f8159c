"""What the play page looks like, and that everybody can use it: pictures of every
screen in build/screenshots, names of all that can be chosen, contrast of the colours.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from .conftest import NO_PLAYWRIGHT, Come

pytest.importorskip("playwright", reason=NO_PLAYWRIGHT)

from playwright.sync_api import Page, expect

from .rig import DESKTOP, PHONE, Cluster, Visitor

pytestmark = [pytest.mark.system, pytest.mark.slow, pytest.mark.timeout(120)]

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
SIZES = {"phone": PHONE, "desktop": DESKTOP}

CONTRAST_MIN = 4.5
"""Of text on what it stands on (WCAG 2, level AA)."""

INTERACTIVE = frozenset(
    ("button", "link", "textbox", "combobox", "checkbox", "radio", "slider", "gridcell")
)

PAIRS = (
    ("--ink", "--surface"),
    ("--ink", "--raised"),
    ("--ink", "--accent-soft"),
    ("--muted", "--surface"),
    ("--muted", "--raised"),
    ("--muted", "--sunken"),
    ("--accent", "--surface"),
    ("--accent", "--raised"),
    ("--accent-ink", "--accent"),
    ("--accent-ink", "--accent-strong"),
    ("--good", "--good-soft"),
    ("--warn", "--warn-soft"),
    ("--bad", "--bad-soft"),
    ("--bad", "--raised"),
)
"""Text, and what it stands on."""

CONTRAST = """(pairs) => {
  const context = document.createElement("canvas").getContext("2d");
  const style = getComputedStyle(document.documentElement);
  const luminance = (name) => {
    context.fillStyle = style.getPropertyValue(name).trim();
    const number = parseInt(context.fillStyle.slice(1), 16);
    const part = (shift) => {
      const value = ((number >> shift) & 255) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(16) + 0.7152 * part(8) + 0.0722 * part(0);
  };
  return pairs.map((pair) => {
    const [low, high] = pair.map(luminance).sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
}"""

OVERFLOW = "() => document.documentElement.scrollWidth - innerWidth"


def pictures(page: Page, name: str) -> None:
    """A screen as phones and desktops show it, light and dark. Nothing sticks out to
    the side, and all that can be chosen has a name."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for size, wanted in SIZES.items():
        page.set_viewport_size(wanted)
        assert page.evaluate(OVERFLOW) <= 0, f"{name} is wider than a {size}"
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            place = SCREENSHOTS / f"{name}-{size}-{scheme}.png"
            page.screenshot(path=place, full_page=size == "phone")
    page.emulate_media(color_scheme="light")
    assert unnamed(page) == []


def unnamed(page: Page) -> list[str]:
    """The roles of what can be chosen and has no name for who does not see it."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        node["role"]["value"]
        for node in nodes
        if not node["ignored"]
        and node["role"]["value"] in INTERACTIVE
        and not node.get("name", {}).get("value")
    ]


def arrive(cluster: Cluster, visitors: list[Visitor], game: str, *seats: str) -> None:
    """Have the visitors sit down in a new match; the seats that are left stay empty."""
    created = cluster.open_match(game, list(seats))
    for visitor, seat in zip(visitors, created["seats"], strict=False):
        visitor.goto("about:blank").goto(f"{cluster.url}/#t={seat['token']}")
    for visitor in visitors:
        visitor.is_connected()


def test_home_and_table(cluster: Cluster, come: Come) -> None:
    """Choosing a game, being invited to a table, and waiting there."""
    ada, bob = come(), come()
    ada.goto(cluster.url)
    ada.page.locator("label.tile", has_text="Crazy eights").click()
    ada.page.get_by_label("Your name").fill("Ada")
    pictures(ada.page, "home")
    ada.press("Open a table")
    link = ada.page.get_by_label("Link that invites to this table").input_value()
    bob.goto(link)
    expect(bob.button("Join the table")).to_be_visible()
    pictures(bob.page, "invited")
    bob.page.get_by_label("Your name").fill("Bob")
    bob.press("Join the table")
    ada.press("Take this seat: Seat 1")
    bob.press("Take this seat: Seat 2")
    ada.page.get_by_label("A bot for Seat 3").select_option(label="Random (easy)")
    bob.press("I am ready")
    expect(ada.page.locator(".place.bot")).to_be_visible()
    expect(ada.page.locator(".chip", has_text=re.compile("^ready"))).to_be_visible()
    pictures(ada.page, "table")


def test_boards_with_cells(cluster: Cluster, come: Come) -> None:
    """Connect four, reversi and chess, after a few moves."""
    ada, bob = both = [come(), come()]
    arrive(cluster, both, "connect-four", "0", "1")
    for number, column in enumerate((4, 4, 3, 5, 4)):
        mover = (ada, bob)[number % 2]
        mover.sees("Your turn")
        mover.page.locator(f'[data-cell="{column - 1}"]').click()
    bob.sees("Your turn")
    pictures(bob.page, "connect-four")
    arrive(cluster, both, "reversi", "0", "1")
    ada.page.locator(".choosable").first.click()
    bob.sees("Your turn")
    pictures(bob.page, "reversi")
    arrive(cluster, both, "chess", "white", "black")
    white, black = both
    white.page.locator('[data-cell="e2"]').click()
    white.page.locator('[data-cell="e4"]').click()
    black.sees("Your turn")
    black.page.locator('[data-cell="g8"]').click()
    expect(black.page.locator(".target")).to_have_count(2)
    pictures(black.page, "chess")


def test_boards_with_secrets(cluster: Cluster, come: Come) -> None:
    """Battleship, cards, dice, hands and bids, as one player sees them."""
    ada, bob = both = [come(), come()]
    arrive(cluster, both, "battleship", "0", "1")
    for player in (ada, bob):
        for row in (1, 3, 5):
            mine = player.page.get_by_role("grid", name="Your sea")
            mine.get_by_role("gridcell", name=re.compile(f"^B{row}:")).click()
            placed = f"{(row + 1) // 2} of 3"
            expect(player.page.locator(".sea.mine")).to_contain_text(
                re.compile(f"{placed}|afloat")
            )
    for player, cell in ((ada, "B1"), (bob, "C3"), (ada, "H8")):
        player.sees("Your turn")
        sea = player.page.get_by_role("grid", name=re.compile("^The sea of"))
        sea.get_by_role("gridcell", name=re.compile(f"^{cell}:")).click()
    bob.sees("Your turn")
    pictures(bob.page, "battleship")
    first, second = both
    arrive(cluster, both, "crazy-eights", "0", "1", "2")
    first.press("Deal the cards")
    expect(first.page.locator(".hand .card-face")).to_have_count(5)
    pictures(first.page, "crazy-eights")
    arrive(cluster, both, "liars-dice", "0", "1")
    for player in (first, second):
        player.press("Roll your dice")
    first.press("One more")
    first.press("Bid 2 ones")
    second.sees("Your turn")
    pictures(second.page, "liars-dice")
    arrive(cluster, both, "sealed-auction", "0", "1")
    for player, amount in ((first, 4), (second, 2)):
        player.press(f"Bid {amount}")
    expect(first.page.locator(".lot.sold")).to_have_count(1)
    pictures(first.page, "sealed-auction")


def test_boards_of_chance_and_an_end(cluster: Cluster, come: Come) -> None:
    """Pig; rock, paper, scissors to its end, and its replay."""
    ada, bob = both = [come(), come()]
    arrive(cluster, [ada], "pig-dice", "0", "1")
    ada.press("Roll")
    expect(ada.page.locator(".die.large")).to_be_visible()
    pictures(ada.page, "pig-dice")
    arrive(cluster, both, "rock-paper-scissors", "0", "1")
    ada.press("Rock")
    bob.press("Scissors")
    expect(ada.page.locator(".rounds tbody tr")).to_have_count(1)
    pictures(ada.page, "rock-paper-scissors")
    ada.press("Paper")
    bob.press("Rock")
    ada.sees("You won")
    bob.sees("Player 1 won")
    pictures(bob.page, "ended")
    bob.press("Watch the replay")
    bob.press("Pause")
    pictures(bob.page, "replay")


def test_the_colours_can_be_told_apart(cluster: Cluster, come: Come) -> None:
    """Text stands out from what it stands on, light and dark."""
    visitor = come().goto(cluster.url)
    for scheme in ("light", "dark"):
        visitor.page.emulate_media(color_scheme=scheme)
        found = visitor.page.evaluate(CONTRAST, [list(pair) for pair in PAIRS])
        ratios = zip(PAIRS, found, strict=True)
        faint = [pair for pair, ratio in ratios if ratio < CONTRAST_MIN]
        assert faint == [], scheme
