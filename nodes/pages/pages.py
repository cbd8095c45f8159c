"""The pages and their files, as routes of a gateway.

Rules:
- All files are read once, at the start: a request only names one of them, and can
  lead to no other.
- Nothing comes from elsewhere: the policy lets a page load scripts, styles and images
  of its own origin only, no script that stands in a page, and lets nobody frame it.
- A browser asks each time whether a file has changed (ETag): a newer gateway is not
  met with old scripts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Protocol

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

__all__ = ["PAGES", "File", "Pages", "Site", "policy", "routes"]

PAGES: Mapping[str, str] = {
    "/": "play.html",
    "/inspect": "inspect.html",
    "/cluster": "cluster.html",
}
"""Which file is shown where."""

MEDIA_TYPES: Mapping[str, str] = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
"""By ending. Files of any other are not shown."""


class Site(Protocol):
    """What is to be known of the gateway."""

    @property
    def url(self) -> str:
        """Where players reach it."""


@dataclass(frozen=True)
class File:
    """A file as it is sent. `tag` is of its content."""

    body: bytes
    media_type: str
    tag: str


class Pages:
    """The files of the pages, by their path under `/static/`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._files = {path: _read(file) for path, file in _found(_static(), "")}

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(self._files)

    async def file(self, request: Request) -> Response:
        """GET /static/{path}"""
        return self._answer(request, str(request.path_params["path"]))

    def page(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        """What shows the page of that name."""

        async def answer(request: Request) -> Response:
            return self._answer(request, name)

        return answer

    def _answer(self, request: Request, path: str) -> Response:
        file = self._files.get(path)
        if file is None:
            return PlainTextResponse("There is no such page.\n", 404)
        headers = {
            "cache-control": "no-cache",
            "content-security-policy": policy(self._site.url),
            "cross-origin-opener-policy": "same-origin",
            "etag": file.tag,
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
        }
        if file.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(file.body, headers=headers, media_type=file.media_type)


def routes(site: Site) -> list[Route]:
    """Where the pages and their files are shown."""
    pages = Pages(site)
    shown = [
        Route(path, pages.page(name))
        for path, name in PAGES.items()
        if name in pages.paths
    ]
    return [*shown, Route("/static/{path:path}", pages.file)]


def policy(url: str) -> str:
    """The content security policy of a page whose gateway is reached at `url`."""
    # Some browsers do not count WebSockets of the same origin as 'self'.
    sockets = re.sub("^http", "ws", url) if url else ""
    rules = {
        "default-src": "'self'",
        "base-uri": "'none'",
        "connect-src": f"'self' {sockets}".strip(),
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "object-src": "'none'",
        "require-trusted-types-for": "'script'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _static() -> Traversable:
    return files(__package__) / "static"


def _found(folder: Traversable, above: str) -> list[tuple[str, Traversable]]:
    """The files in a folder and below, with their paths."""
    found: list[tuple[str, Traversable]] = []
    for item in folder.iterdir():
        path = f"{above}{item.name}"
        if item.is_dir():
            found += _found(item, f"{path}/")
        elif item.name.rpartition(".")[2] in MEDIA_TYPES:
            found.append((path, item))
    return found


def _read(file: Traversable) -> File:
    body = file.read_bytes()
    tag = hashlib.blake2b(body, digest_size=16).hexdigest()
    return File(body, MEDIA_TYPES[file.name.rpartition(".")[2]], f'"{tag}"')
