"""One line of a log: what it says, whether it is asked for, how it is shown. Pure.

A line that is no JSON was printed past the log, as a traceback is: it counts as an
error, and is shown as it stands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["LEVELS", "LogFilter", "LogLine"]

LEVELS: Final = ("debug", "info", "warning", "error", "critical")

_OWN: Final = ("timestamp", "level", "event", "node", "cluster")


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of the log of `source`; `fields` is None if it has none."""

    source: str
    text: str
    fields: dict[str, Any] | None

    @classmethod
    def read(cls, source: str, text: str) -> LogLine:
        """Make sense of a line."""
        try:
            fields = json.loads(text) if text.startswith("{") else None
        except (ValueError, RecursionError):
            fields = None
        return cls(source, text, fields if isinstance(fields, dict) else None)

    @property
    def node(self) -> str:
        """Who wrote it."""
        return self._said("node") or self.source

    @property
    def event(self) -> str:
        """What happened; "" if it does not say."""
        return self._said("event")

    @property
    def level(self) -> str:
        """One of `LEVELS`."""
        said = self._said("level").lower()
        return said if said in LEVELS else "error" if self.fields is None else "info"

    @property
    def time(self) -> str:
        """When, in ISO 8601; "" if it does not say."""
        return self._said("timestamp")

    def shown(self) -> str:
        """For people: time, level, node, event, then the other fields. Not safe yet:
        it may hold what a player typed."""
        if self.fields is None:
            return f"{self.source:<5} {self.text}"
        time = self.time[11:23]
        others = (
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in self.fields.items()
            if name not in _OWN and name != "exception"
        )
        head = f"{time:<12} {self.level:<8} {self.node:<5} {self.event}"
        trace = self._said("exception")
        return " ".join((head, *others)) + (f"\n{trace}" if trace else "")

    def _said(self, name: str) -> str:
        value = None if self.fields is None else self.fields.get(name)
        return "" if value is None else str(value)


@dataclass(frozen=True, slots=True)
class LogFilter:
    """What is asked for; empty and None: whatever it is."""

    nodes: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()
    match: str | None = None
    level: str = "debug"

    def admits(self, line: LogLine) -> bool:
        """Whether the line is asked for."""
        if self.nodes and not {line.node, line.source} & self.nodes:
            return False
        if LEVELS.index(line.level) < LEVELS.index(self.level):
            return False
        if self.events and line.event not in self.events:
            return False
        return self.match is None or self.match in line.text

    def last(self, lines: Iterable[LogLine], count: int) -> list[LogLine]:
        """The newest lines of several logs that are asked for, oldest first.

        A line without a time stands behind the one that came before it in its log.
        """
        times: dict[str, str] = {}
        timed: list[tuple[str, int, LogLine]] = []
        for number, line in enumerate(lines):
            times[line.source] = line.time or times.get(line.source, "")
            if self.admits(line):
                timed.append((times[line.source], number, line))
        timed.sort(key=lambda one: one[:2])
        return [line for _, _, line in timed[max(0, len(timed) - count) :]]
