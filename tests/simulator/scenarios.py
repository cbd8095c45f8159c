"""Scripted strokes, for what chance alone meets too rarely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .settings import Settings

if TYPE_CHECKING:
    from .world import World

__all__ = ["SCENARIOS", "Scenario"]


@dataclass(frozen=True)
class Scenario:
    """A world of its own kind, and what happens in it."""

    name: str
    text: str
    settings: Callable[[Settings], Settings]
    script: Callable[[World], None]


SCENARIOS: dict[str, Scenario] = {}
