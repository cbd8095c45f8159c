"""What a checker says when a promise is broken."""

from __future__ import annotations

__all__ = ["Violation", "broken"]


class Violation(Exception):
    """`promise` is the invariant's number in `docs/replication.md`."""

    def __init__(self, promise: str, text: str) -> None:
        super().__init__(f"{promise}: {text}")
        self.promise = promise


def broken(boot: str, error: Exception) -> Violation:
    """What the product raises, its own checks among it, is a broken promise too."""
    return Violation("product", f"{type(error).__name__} at {boot}: {error}")
