"""What a checker says when a promise is broken."""

from __future__ import annotations

__all__ = ["Violation"]


class Violation(Exception):
    """`promise` is the invariant's number in `docs/replication.md`."""

    def __init__(self, promise: str, text: str) -> None:
        super().__init__(f"{promise}: {text}")
        self.promise = promise
