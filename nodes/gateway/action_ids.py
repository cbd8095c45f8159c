"""Numbers for the action ids of one connection. Pure.

A node knows an action by its number in the session. A page of the reference protocol
names its actions as it likes, and begins anew in each instance: its ids are numbered in
the order in which they first come. A page that resumes sessions counts by itself, since
what another gateway numbered is known to nobody.
"""

from __future__ import annotations

import re

__all__ = ["ACTION_IDS_MAX", "ActionIds"]

ACTION_IDS_MAX = 1024
"""Ids of one connection that are remembered: far more than the keys a seat's node
remembers, so that what is forgotten here is refused there."""

_NUMBER = re.compile(r"[1-9][0-9]{0,14}")


class ActionIds:
    """The ids of one connection. `counted`: they are the numbers themselves."""

    __slots__ = ("_counted", "_next", "_numbers")

    def __init__(self, next_action: int, *, counted: bool) -> None:
        self._next = next_action
        self._counted = counted
        self._numbers: dict[str, int] = {}

    def number(self, id: str) -> int | None:
        """The number of an id, the same each time; None: it can have none."""
        if self._counted:
            return int(id) if _NUMBER.fullmatch(id) else None
        known = self._numbers.get(id)
        if known is None:
            if len(self._numbers) >= ACTION_IDS_MAX:
                del self._numbers[next(iter(self._numbers))]
            known = self._numbers[id] = self._next
            self._next += 1
        return known
