"""Keeps a log from growing without bound: the old one is put aside at a start."""

from __future__ import annotations

from pathlib import Path

__all__ = ["LOG_BYTES_MAX", "put_aside"]

LOG_BYTES_MAX = 8 * 1024 * 1024
"""A log beyond it is put aside when its process starts anew. No action of a match is
logged, so that a process in good health takes months to write so much."""


def put_aside(log: Path) -> None:
    """Rename a log that is too long to NAME.log.1; the one before that is dropped."""
    if log.exists() and log.stat().st_size > LOG_BYTES_MAX:
        log.replace(log.with_suffix(".log.1"))
