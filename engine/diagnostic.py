"""What validation says about a game: diagnostics, and the report that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .jsonvalue import Json

__all__ = ["Diagnostic", "Report", "Severity"]

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `code` is stable; `hint` says what to do about it.

    `event`, `source`, `target` and `state` name the place as far as there is one;
    `context` holds further facts as JSON.
    """

    code: str
    severity: Severity
    message: str
    hint: str | None = None
    event: str | None = None
    source: str | None = None
    target: str | None = None
    state: str | None = None
    context: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """Every finding, in the order of the checks. Only errors make a game unusable."""

    diagnostics: Sequence[Diagnostic]

    @property
    def errors(self) -> Sequence[Diagnostic]:
        """The findings that make the game unusable."""
        return [d for d in self.diagnostics if d.severity == "error"]

    @property
    def warnings(self) -> Sequence[Diagnostic]:
        """The findings that may be meant."""
        return [d for d in self.diagnostics if d.severity == "warning"]

    @property
    def ok(self) -> bool:
        """Whether a match of the game can start."""
        return not self.errors
