"""Options of what becomes of results: where they are told, and how patiently."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["ResultOptions"]


@dataclass(frozen=True, slots=True)
class ResultOptions:
    """May differ from node to node, but should not: any node may come to tell them."""

    file: str | None = None
    """Append each result to this file, as a line of JSON. Unset: no file."""
    webhook: str | None = None
    """POST each result to this http(s) URL, as JSON. Unset: nobody is told."""
    timeout_s: float = 10.0
    """After which the receiver has not answered."""
    retry_first_s: float = 1.0
    """Between the first failure and the second attempt; doubled each time, and
    jittered, up to ..."""
    retry_max_s: float = 300.0
    at_once: int = 4
    """Results on their way at the same time."""
    waiting_max: int = 10_000
    """Results in memory that wait; the others are found again when there is room."""

    @property
    def wanted(self) -> bool:
        """Whether anybody is to be told."""
        return self.file is not None or self.webhook is not None

    def validate(self) -> tuple[str, ...]:
        """Every fault, as one sentence each; empty when all is well."""
        faults = [
            f"{field.name} must be positive, not {value}"
            for field in fields(self)
            if isinstance(value := getattr(self, field.name), int | float)
            and not value > 0
        ]
        if self.retry_first_s > self.retry_max_s:
            faults.append("retry_first_s must not exceed retry_max_s")
        if self.webhook is not None and not self.webhook.startswith(
            ("http://", "https://")
        ):
            faults.append(f"webhook must be an http(s) URL, not {self.webhook!r}")
        return tuple(faults)
