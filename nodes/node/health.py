"""What a node tells those who watch it: metrics, that it lives, that it is ready.

`/healthz` answers as long as the node's loop turns: who gets no answer may end it.
`/readyz` is 200 when the node serves and follows all that is meant for it, and 503
otherwise: it may start, catch up or stop, and is none the worse for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..telemetry import get_logger
from .http_door import HttpDoor, Page
from .metrics import CONTENT_TYPE_LATEST, Metrics, Parts

__all__ = ["Health"]

log = get_logger()


class Health:
    """The pages of one node; `door_operation` gives the metrics at its door, too."""

    def __init__(
        self, parts: Parts, ready: Callable[[], bool], facts: Mapping[str, str]
    ) -> None:
        self._metrics = Metrics(parts, facts)
        self._ready = ready

    def http_door(self, address: str) -> HttpDoor:
        """The pages, to be served at HOST:PORT."""
        pages = {
            "/metrics": self._text,
            "/healthz": self._alive,
            "/readyz": self._readiness,
        }
        return HttpDoor(address, pages, failed=_log_failure)

    def door_operation(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The operation `metrics` of the door for commands."""
        return {"text": self._metrics.text().decode()}

    def _text(self) -> Page:
        return Page(self._metrics.text(), content_type=CONTENT_TYPE_LATEST)

    def _alive(self) -> Page:
        return Page(b"ok\n")

    def _readiness(self) -> Page:
        return Page(b"ready\n") if self._ready() else Page(b"not ready\n", 503)


def _log_failure(path: str, error: Exception) -> None:
    log.error("page_failed", path=path, exc_info=error)
