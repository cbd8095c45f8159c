"""Alarms as a person counts them."""

from __future__ import annotations

from hotseat.nodes.cli.shown import alarm_lines as shown_lines
from hotseat.nodes.operator.alarm_lines import alarm_lines
from hotseat.nodes.operator.survey_rows import AlarmRow


def alarms(code: str, *places: str, message: str = "it is so") -> list[AlarmRow]:
    return [AlarmRow(code=code, at=at, message=message) for at in places]


def shards(*numbers: int) -> list[str]:
    return [f"shard {number}" for number in numbers]


def test_a_dead_node_is_a_line_for_each_kind_of_alarm() -> None:
    """However many shards it held; the most urgent line stands first."""
    short = alarms("shard_short", *shards(*range(6), 8, 9, 14, 15))
    unserved = alarms("shard_unserved", *shards(3))
    lines = alarm_lines([*short, *unserved, *alarms("node_silent", "n2")])
    assert [(line.code, line.at, line.count) for line in lines] == [
        ("node_silent", "n2", 1),
        ("shard_unserved", "shard 3", 1),
        ("shard_short", "shards 0-5, 8, 9, 14, 15", 10),
    ]


def test_alarms_that_say_something_else_stay_apart() -> None:
    """One line says one thing."""
    one = alarms("shard_short", *shards(1), message="1 missing")
    two = alarms("shard_short", *shards(0, 2), message="2 missing")
    lines = alarm_lines([*two, *one])
    assert [(line.at, line.message) for line in lines] == [
        ("shards 0, 2", "2 missing"),
        ("shard 1", "1 missing"),
    ]


def test_the_command_shows_the_same_lines() -> None:
    """In `cluster status` and `cluster watch`."""
    shown = shown_lines([*alarms("shard_short", *shards(0, 1, 2))])
    assert [text.plain for text in shown] == [
        "alarm shard_short at shards 0-2: it is so"
    ]


def test_a_line_has_an_end() -> None:
    """What is left out of it is counted."""
    [line] = alarm_lines(alarms("match_set_apart", *(f"m{n}" for n in range(1_010))))
    assert line.at == "m0, m1, m2, m3, m4, m5, m6, m7 and 1,002 more"
    [line] = alarm_lines(alarms("shard_short", *shards(*range(0, 4_096, 2))))
    assert line.at.endswith(", 78 and 2,008 more")
    assert line.count == 2_048
