"""Seeds that have once found a fault, and what it was."""

from __future__ import annotations

__all__ = ["REGRESSIONS"]

REGRESSIONS: dict[int, str] = {}
