"""Logs are followed as they are written: whole lines, through rotation and cuts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hotseat.nodes.operator import log_tail
from hotseat.nodes.operator.log_line import LogFilter, LogLine
from hotseat.nodes.operator.log_tail import LogTail


def logged(event: str, **more: Any) -> str:
    """One line of a node's log."""
    fields = {"node": "n1", "event": event, "level": "info", **more}
    return json.dumps(fields)


def append(path: Path, text: str) -> None:
    """As a node does."""
    with path.open("a") as file:
        file.write(text)


def test_lines_come_once_and_whole(tmp_path: Path) -> None:
    """What was there is history; a line without an end waits for it."""
    path = tmp_path / "n1.log"
    with LogTail(path) as tail:
        assert (tail.history(), tail.read()) == ([], [])
        append(path, "a\nb\nha")
        assert tail.read() == ["a", "b"]
        append(path, "lf\n")
        assert tail.read() == ["half"]
        assert tail.read() == []
    with LogTail(path) as tail:
        assert tail.history() == ["a", "b", "half"]
        append(path, "c\n")
        assert tail.read() == ["c"]


def test_a_log_that_is_put_aside_is_read_to_its_end(tmp_path: Path) -> None:
    """Then the new one is read from its beginning."""
    path = tmp_path / "n1.log"
    append(path, "a\n")
    with LogTail(path) as tail:
        assert tail.history() == ["a"]
        append(path, "b\nc")
        path.replace(tmp_path / "n1.log.1")
        assert tail.read() == ["b"]
        append(path, "d\n")
        assert tail.read() == ["c", "d"]
        append(path, "e\n")
        assert tail.read() == ["e"]


def test_a_log_that_is_cut_is_begun_anew(tmp_path: Path) -> None:
    """As after `: > n1.log`."""
    path = tmp_path / "n1.log"
    append(path, "a long line\nand ha")
    with LogTail(path) as tail:
        assert tail.history() == ["a long line"]
        path.write_text("new\n")
        assert tail.read() == ["new"]


def test_history_and_lines_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A huge log is not read as a whole, a huge line not kept."""
    monkeypatch.setattr(log_tail, "HISTORY_BYTES_MAX", 10)
    monkeypatch.setattr(log_tail, "LINE_BYTES_MAX", 100)
    path = tmp_path / "n1.log"
    append(path, "1234\n5678\n90ab\n")
    with LogTail(path) as tail:
        assert tail.history() == ["90ab"]
        append(path, "x" * 150)
        assert tail.read() == ["x" * 150]
        append(path, "\n")
        assert tail.read() == [""]


def test_lines_are_found_by_what_is_asked() -> None:
    """Node, event, match, level; each alone."""
    lines = [
        LogLine.read("n1", logged("match_dropped", match="abc")),
        LogLine.read("n1", logged("loop_late", level="warning")),
        LogLine.read("up", logged("child_killed", node="n2", level="warning")),
        LogLine.read("n1", "Traceback (most recent call last):"),
    ]

    def found(**asked: Any) -> list[int]:
        return [n for n, one in enumerate(lines) if LogFilter(**asked).admits(one)]

    assert found() == [0, 1, 2, 3]
    assert found(nodes=frozenset({"n2"})) == [2]
    assert found(nodes=frozenset({"up"})) == [2]
    assert found(events=frozenset({"loop_late"})) == [1]
    assert found(match="abc") == [0]
    assert found(level="warning") == [1, 2, 3]
    assert found(level="error") == [3]


def test_the_newest_of_several_logs_come_in_order() -> None:
    """A traceback stays behind the line that it belongs to."""
    lines = [
        LogLine.read("n1", logged("b", timestamp="2026-01-01T00:00:02Z")),
        LogLine.read("n1", "Traceback"),
        LogLine.read("n2", logged("a", timestamp="2026-01-01T00:00:01Z")),
        LogLine.read("n2", logged("c", timestamp="2026-01-01T00:00:03Z")),
    ]
    assert [one.event or one.text for one in LogFilter().last(lines, 3)] == [
        "b",
        "Traceback",
        "c",
    ]
    assert LogFilter().last(lines, 0) == []


def test_a_line_for_people_has_its_fields_behind_the_event() -> None:
    """Time, level, node, event first; an exception below."""
    text = logged(
        "game_failed",
        level="error",
        timestamp="2026-01-01T10:20:30.123456Z",
        match="abc",
        exception="Traceback\n  line",
    )
    assert LogLine.read("n1", text).shown() == (
        "10:20:30.123 error    n1    game_failed match=abc\nTraceback\n  line"
    )
    assert LogLine.read("n1", "{broken").shown() == "n1    {broken"
