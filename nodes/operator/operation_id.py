"""The id of an operator's command: drawn by who asks, so that asking twice is no harm.

Eleven hex digits of the time in milliseconds, so that ids sort by time, and eight that
are random.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable

__all__ = ["draw_operation_id", "is_operation_id"]

_FORM = re.compile(r"[0-9a-f]{19}")


def draw_operation_id(
    now_ms: int | None = None, random: Callable[[int], str] = secrets.token_hex
) -> str:
    """A fresh one."""
    at_ms = int(time.time() * 1_000) if now_ms is None else now_ms
    return f"{at_ms & (1 << 44) - 1:011x}{random(4)}"


def is_operation_id(text: object) -> bool:
    """Whether it is written as one."""
    return isinstance(text, str) and _FORM.fullmatch(text) is not None
