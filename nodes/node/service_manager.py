"""Tells the service manager how the node is: ready, alive, about to end.

systemd passes the address of a socket in NOTIFY_SOCKET, and takes datagrams of
`NAME=VALUE` lines there: sd_notify(3), sd_watchdog_enabled(3). Where the variable is
not set nobody is told, and nothing is done.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable, Mapping

import anyio

from ..telemetry import get_logger

__all__ = ["ServiceManager"]

SIGNS_PER_LIMIT = 3
"""Signs of life in the time after which the node would be ended: one may be late."""

log = get_logger()


class ServiceManager:
    """Who started this process as a service, if anybody did."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        address = environ.get("NOTIFY_SOCKET", "")
        # "@" is how an address without a file is written
        self._address = "\0" + address[1:] if address[:1] == "@" else address
        self._limit_s = _watchdog_s(environ)
        self._failed = False

    async def run(self, wait_ready: Callable[[], Awaitable[None]]) -> None:
        """Say when the node is ready, and then again and again that its loop turns."""
        if not self._address:
            return
        self._tell("STATUS=starting")
        await wait_ready()
        self._tell("READY=1\nSTATUS=serves and follows all that is meant for it")
        while self._limit_s:
            self._tell("WATCHDOG=1")
            await anyio.sleep(self._limit_s / SIGNS_PER_LIMIT)

    def stopping(self) -> None:
        """The node was told to end."""
        if self._address:
            self._tell("STOPPING=1\nSTATUS=hands over what it owns")

    def _tell(self, text: str) -> None:
        """Never waits: a manager that does not listen must not hold the loop."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.setblocking(False)
                sender.sendto(text.encode(), self._address)
        except OSError as error:
            if not self._failed:
                log.warning("service_manager_silent", error=str(error))
            self._failed = True
        else:
            self._failed = False


def _watchdog_s(environ: Mapping[str, str]) -> float:
    """How long the loop may stand still; 0: nobody watches this process."""
    meant_for = environ.get("WATCHDOG_PID", "")
    if meant_for and meant_for != str(os.getpid()):
        return 0.0
    text = environ.get("WATCHDOG_USEC", "")
    return int(text) / 1_000_000 if text.isdigit() else 0.0
