"""A node process ends with the process that started it.

The parent holds the other end of the node's stdin and never writes: when it reads
as ended, the parent is gone, however it went. A thread watches, so that a loop that
hangs cannot keep an orphan alive.
"""

from __future__ import annotations

import os
import signal
import threading
import time

from ..telemetry import get_logger

__all__ = ["stop_with_parent"]


def stop_with_parent(stdin: int, grace_s: float) -> None:
    """Send this process SIGTERM when `stdin` ends; end it hard after `grace_s`."""

    def watch() -> None:
        while os.read(stdin, 4096):
            pass
        get_logger().warning("parent_gone")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(grace_s)
        os._exit(1)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()
