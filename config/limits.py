"""All bounds of the system in one place, and what must hold between them.

Each bound is declared beside the code that enforces it; here they are collected,
and their relations asserted at import: a change that breaks one stops the process
before it serves anybody.
"""

from __future__ import annotations

from ..engine import limits as engine

__all__ = ["LIMITS"]

LIMITS = {
    "nesting": engine.NESTING_MAX,
    "payload_bytes": engine.PAYLOAD_BYTES_MAX,
    "g_bytes": engine.G_BYTES_MAX,
    "g_bytes_hard": engine.G_BYTES_HARD_MAX,
    "internal_events_per_batch": engine.INTERNAL_EVENTS_MAX,
}
"""Bound by name, unit last. `hotseat version --json` prints them."""

assert engine.PAYLOAD_BYTES_MAX < engine.G_BYTES_MAX < engine.G_BYTES_HARD_MAX, LIMITS
