"""The files of the pages: where they are shown, under which policy, how long kept."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from hotseat.nodes.pages import Pages, routes
from hotseat.nodes.pages.pages import PAGES, policy

STATIC = Path(__file__).parents[3] / "nodes" / "pages" / "static"
LOCAL = re.compile(r"""(?:from|import|href=|src=|url\()\s*\(?["']([^"']+)["']""")


class Site:
    url = "https://play.example.org"


def http() -> httpx.AsyncClient:
    transport = httpx.ASGITransport(Starlette(routes=routes(Site())))
    return httpx.AsyncClient(transport=transport, base_url="http://gw")


async def test_the_play_page_is_shown_under_a_strict_policy() -> None:
    """Nothing of another origin is loaded, no script in the page runs, and no other
    site frames it."""
    async with http() as asked:
        answer = await asked.get("/")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    rules = dict(
        rule.split(" ", 1)
        for rule in answer.headers["content-security-policy"].split("; ")
    )
    assert rules["default-src"] == "'self'"
    assert rules["connect-src"] == "'self' wss://play.example.org"
    assert rules["frame-ancestors"] == "'none'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"


async def test_a_file_that_has_not_changed_is_not_sent_again() -> None:
    """A browser asks each time, and is told by the tag."""
    async with http() as asked:
        first = await asked.get("/static/play.js")
        tag = first.headers["etag"]
        again = await asked.get("/static/play.js", headers={"if-none-match": tag})
        other = await asked.get("/static/play.js", headers={"if-none-match": '"x"'})
    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")
    assert (other.status_code, other.content) == (200, first.content)


@pytest.mark.parametrize(
    "path",
    ["nothing.js", "../pages.py", "%2e%2e/pages.py", "boards", "", "/etc/passwd"],
)
async def test_only_the_pages_files_are_shown(path: str) -> None:
    """No path leads out of the folder."""
    async with http() as asked:
        assert (await asked.get(f"/static/{path}")).status_code == 404


def test_all_that_the_pages_load_is_there_and_is_ours() -> None:
    """Every file that another one names exists; none is of another origin."""
    paths = Pages(Site()).paths
    missing: list[str] = []
    for path in paths:
        if path.endswith(".svg"):
            continue
        for named in LOCAL.findall((STATIC / path).read_text("utf-8")):
            if named.startswith(("#", "data:")) or named in PAGES:
                continue
            place = (
                named.removeprefix("/static/")
                if named.startswith("/static/")
                else str((Path("/") / path).parent.joinpath(named).resolve())[1:]
            )
            if place not in paths:
                missing.append(f"{path}: {named}")
    assert missing == []


def test_a_gateway_that_is_not_told_its_address_allows_its_own() -> None:
    """Then the page's own origin is all there is."""
    assert "connect-src 'self';" in policy("")
