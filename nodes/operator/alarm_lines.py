"""Alarms as a person counts them: one line for what is wrong, with all places of it.

One dead node makes an alarm for each shard that it held. Pure, as the alarms are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .alarms import ALARMS
from .rows import Row
from .survey_rows import AlarmRow

__all__ = ["AlarmLine", "alarm_lines"]

SHARD = "shard "

RUN_MIN = 3
"""Shards in a row that are told as a range."""

SHARD_PARTS_MAX = 40
"""Ranges and single shards in a line."""

PLACES_MAX = 8
"""Nodes or matches in a line."""


class AlarmLine(Row, frozen=True, kw_only=True):
    """The same alarm at one or more places."""

    code: str
    at: str
    """Where, as a list: `n1, n2`, or `shards 0-5, 8`."""
    message: str
    count: int
    """How many alarms it stands for."""


def alarm_lines(alarms: Iterable[AlarmRow]) -> tuple[AlarmLine, ...]:
    """Alarms of the same code and message are one line; the most urgent come first."""
    places: dict[tuple[str, str], list[str]] = {}
    for alarm in alarms:
        places.setdefault((alarm.code, alarm.message), []).append(alarm.at)
    urgency = {code: place for place, code in enumerate(ALARMS)}
    lines = [
        AlarmLine(code=code, at=_at(at), message=message, count=len(at))
        for (code, message), at in places.items()
    ]
    lines.sort(key=lambda line: urgency.get(line.code, len(urgency)))
    return tuple(lines)


def _at(places: Sequence[str]) -> str:
    if len(places) == 1:
        return places[0]
    numbers = [place.removeprefix(SHARD) for place in places]
    if not all(place.startswith(SHARD) for place in places) or not all(
        number.isdecimal() for number in numbers
    ):
        return _listed([(place, 1) for place in places], PLACES_MAX)
    parts = list(_parts(sorted({int(number) for number in numbers})))
    return f"shards {_listed(parts, SHARD_PARTS_MAX)}"


def _parts(numbers: Sequence[int]) -> Iterable[tuple[str, int]]:
    """Ranges and single numbers, each with how many it stands for."""
    first = 0
    for place, number in enumerate(numbers):
        if place + 1 < len(numbers) and numbers[place + 1] == number + 1:
            continue
        run = numbers[first : place + 1]
        if len(run) >= RUN_MIN:
            yield f"{run[0]}-{run[-1]}", len(run)
        else:
            yield from ((str(each), 1) for each in run)
        first = place + 1


def _listed(parts: Sequence[tuple[str, int]], at_most: int) -> str:
    text = ", ".join(part for part, _ in parts[:at_most])
    more = sum(count for _, count in parts[at_most:])
    return f"{text} and {more:,} more" if more else text
