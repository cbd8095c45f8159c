"""People with browsers before a real cluster: they click, and tell what they see."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Locator,
    Page,
    ViewportSize,
    WebSocket,
    expect,
    sync_playwright,
)

from ..system.shell import hotseat

__all__ = [
    "DESKTOP",
    "PHONE",
    "Cluster",
    "Crowd",
    "Visitor",
    "claims",
    "is_gone",
    "running_browser",
    "running_cluster",
]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
NO_CHROMIUM = "no Chromium here: apt-get install chromium"

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

DESKTOP: ViewportSize = {"width": 1200, "height": 860}
PHONE: ViewportSize = {"width": 390, "height": 844}

HERE = Path(__file__).parent
"""Where the games of these tests are found."""

HEARTBEAT_S = "2"
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)


class Cluster:
    """Three nodes, a gateway and bots, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = (folder / "run" / "gateway.url").read_text().strip()
        self._operator = ""

    @property
    def operator(self) -> str:
        """A token to open matches with."""
        if not self._operator:
            self._operator = self.told("token", "mint", "--operator", "site").strip()
        return self._operator

    def told(self, *arguments: str) -> str:
        """What a command prints, which must succeed."""
        done = hotseat(*arguments, "--dir", str(self.folder))
        assert done.returncode == 0, done.stderr
        return done.stdout

    def open_match(self, game: str, players: list[str]) -> dict[str, Any]:
        """A match with links, as a site's server opens it."""
        answer = httpx.post(
            f"{self.url}/api/matches",
            json={"game": game, "players": players},
            headers={"authorization": f"Bearer {self.operator}"},
        )
        assert answer.status_code == 201, answer.text
        created: dict[str, Any] = answer.json()
        return created

    def kill_owner(self, match: str) -> str:
        """Kill the node that owns a match, as a power cut would; its name."""
        found = json.loads(self.told("match", "show", match, "--json"))
        owner = next(c["node"] for c in found["copies"] if c["role"] == "owner")
        pid = int((self.folder / "run" / f"{owner}.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
        return str(owner)


@contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that notices within seconds that a page sleeps."""
    started = hotseat(
        *("up", "--dir", str(folder), "--nodes", "3", "--shards", "8"),
        *("--gateway", "127.0.0.1:0", "--detach"),
        *("--game", "hotseat.engine.games.chess:game", "--game", "nim:game"),
        *("--game", "expedition:game"),
        cwd=HERE,
        HOTSEAT_GATEWAY_HEARTBEAT_S=HEARTBEAT_S,
        HOTSEAT_GATEWAY_LOBBIES_PER_MIN="600",
    )
    assert started.returncode == 0, started.stderr
    try:
        yield Cluster(folder)
    finally:
        stopped = hotseat("down", "--dir", str(folder))
        assert stopped.returncode == 0, stopped.stderr


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Chromium without a window; the test is skipped where there is none."""
    if CHROMIUM is None:
        pytest.skip(NO_CHROMIUM)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(ARGUMENTS)
        )
        try:
            yield browser
        finally:
            browser.close()


class Visitor:
    """A person with a browser of their own, and what it complained of."""

    def __init__(self, browser: Browser, *, phone: bool = False) -> None:
        self.phone = phone
        self.context: BrowserContext = browser.new_context(
            viewport=PHONE if phone else DESKTOP, has_touch=phone
        )
        self.context.set_default_timeout(PATIENCE_MS)
        self.complaints: list[str] = []
        self.frames: list[str] = []
        self._bent = False
        self.page = self.tab()

    def tab(self) -> Page:
        """One more tab."""
        page = self.context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("websocket", self._listen)
        return page

    def goto(self, address: str) -> Visitor:
        self.page.goto(address)
        return self

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name, exact=True)

    def press(self, name: str) -> None:
        """Click a button."""
        self.button(name).click()

    def cell(self, name: str) -> Locator:
        """A cell of a board, by what is read out."""
        return self.page.get_by_role("gridcell", name=name, exact=True)

    def sees(self, text: str | re.Pattern[str]) -> None:
        """Wait until it says so above the board."""
        expect(self.page.locator(".whose")).to_have_text(text)

    def is_connected(self) -> None:
        """Wait until what is shown is current."""
        expect(self.page.locator("#link")).to_have_text(
            "Connected", timeout=PATIENCE_MS
        )

    @property
    def heard(self) -> str:
        """What is read out to who does not look."""
        return self.page.locator("#said").text_content() or ""

    @property
    def match(self) -> str:
        """The match of the page's address."""
        return str(claims(self.page.url.partition("#t=")[2].partition("&")[0])["match"])

    def bend(self) -> Page:
        """The page, to be bent for a test: this visitor does not come again."""
        self._bent = True
        return self.page

    def forget(self) -> bool:
        """Leave, and remember nothing; whether that was possible."""
        if self._bent or len(self.context.pages) > 1:
            return False
        if self.page.url.startswith("http"):
            self.page.evaluate("sessionStorage.clear()")
        self.page.goto("about:blank")
        self.complaints, self.frames = [], []
        return True

    def close(self) -> None:
        self.context.close()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: self.frames.append(str(data)))


class Crowd:
    """Visitors who wait for the next test. Each comes back as if for the first time."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._waiting: list[Visitor] = []

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        for visitor in self._waiting:
            visitor.close()

    def take(self, *, phone: bool) -> Visitor:
        """Somebody, with a phone or without."""
        for visitor in self._waiting:
            if visitor.phone == phone:
                self._waiting.remove(visitor)
                return visitor
        return Visitor(self._browser, phone=phone)

    def give_back(self, visitor: Visitor) -> None:
        if visitor.forget():
            self._waiting.append(visitor)
        else:
            visitor.close()


def claims(token: str) -> dict[str, Any]:
    """What a token says of itself."""
    part = token.split(".")[1]
    said: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * 3))
    return said


def is_gone(locator: Locator) -> None:
    """Wait until it is not there any more."""
    expect(locator).to_have_count(0)
