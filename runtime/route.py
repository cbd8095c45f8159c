"""Where answers go, and the way out of the actors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from .frame import Response

__all__ = ["Outlet", "Route"]


@dataclass(frozen=True, slots=True)
class Route:
    """Back to `peer` itself, or to its client `client` in a `Returned` through it."""

    peer: str
    client: str | None = None
    principal: str = "local"

    @property
    def asker(self) -> tuple[str, str]:
        """Who asks, whichever way the question came: (process, principal)."""
        return (self.client or self.peer, self.principal)


class Outlet(Protocol):
    """Takes answers and views on their way."""

    def deliver(self, route: Route, frame: Response) -> None:
        """Send, or drop and count when the link is down or full. Never raises."""
