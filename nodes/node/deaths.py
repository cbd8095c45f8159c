"""In which match's code nodes of this machine died: found out, and passed on.

Found in breadcrumbs: the one that this node's last process left, and those of nodes
whose processes have gone while this one runs. Passed on to the coordinator, for all.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio

from ...runtime.control_plane import Keys
from ...runtime.coordinator import Coordinator
from ...runtime.errors import CoordinatorError
from ..telemetry import get_logger
from .breadcrumb import Breadcrumb, read_breadcrumb
from .poison import report_death

__all__ = ["Deaths"]

log = get_logger()


class Deaths:
    """`run` passes on what `node_gone` finds; `tell` what is known already."""

    def __init__(
        self,
        coordinator: Coordinator,
        keys: Keys,
        breadcrumb: Callable[[str], Path],
        now_ms: Callable[[], int],
    ) -> None:
        """`breadcrumb(node)` is where a node of this machine leaves its own."""
        self._coordinator = coordinator
        self._keys = keys
        self._breadcrumb = breadcrumb
        self._now_ms = now_ms
        self._untold: dict[str, Breadcrumb] = {}
        self._stirred = anyio.Event()

    def found(self, node: str, left: Breadcrumb | None) -> None:
        """What the last process of a node left; None: nothing."""
        if left is not None:
            self._untold[node] = left
            self._stirred.set()

    def node_gone(self, node: str) -> None:
        """Another node's process has ended: look what it was doing, if it was here."""
        self.found(node, read_breadcrumb(self._breadcrumb(node)))

    async def run(self) -> None:
        """Pass on what is found, until cancelled."""
        while True:
            await self._stirred.wait()
            self._stirred = anyio.Event()
            try:
                await self.tell()
            except CoordinatorError as error:
                log.warning("death_not_told", error=str(error))

    async def tell(self) -> None:
        """Pass on what has been found.

        Raises:
            CoordinatorUnavailable: Call again.
            ControlRecordInvalid: What stands in the coordinator cannot be read.
        """
        for node, left in [*self._untold.items()]:
            await report_death(
                self._coordinator, self._keys, node, left, self._now_ms()
            )
            if self._untold.get(node) == left:
                del self._untold[node]
