"""From where a page may come that uses a gateway. Pure.

A browser says of each WebSocket, and of each request to another site, where the page is
from. What is no browser says nothing, and is let in: a token is needed all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

__all__ = ["Origins"]


class Origins:
    """The origins that were allowed, and the gateway's own."""

    def __init__(self, allowed: Sequence[str], public_url: str | None) -> None:
        self._any = "*" in allowed
        self._allowed = frozenset(allowed)
        if public_url is not None:
            parts = urlsplit(public_url.lower())
            self._allowed |= {f"{parts.scheme}://{parts.netloc}"}

    def allow(self, origin: str | None, host: str | None) -> bool:
        """Whether that page may; `host` is whom it thinks to speak to."""
        if origin is None or self._any:
            return True
        origin = origin.lower()
        if origin in self._allowed:
            return True
        scheme, _, place = origin.partition("://")
        # A proxy ends TLS, so the scheme is not ours to know.
        return scheme in ("http", "https") and bool(host) and place == str(host).lower()
