"""Logging: lines a machine can read, with what was bound, from a closed list."""

from __future__ import annotations

import ast
import errno
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from hotseat import nodes, runtime
from hotseat.nodes.telemetry import (
    EVENTS,
    get_logger,
    quiet_unless_configured,
    structured_logging,
)

LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}


def test_a_file_gets_one_json_object_per_line(tmp_path: Path) -> None:
    """Lines have event, level, time, what was bound and what was said."""
    file = tmp_path / "node.log"
    with structured_logging(file=file, bound={"cluster": "c1", "node": "n1"}):
        get_logger().info("node_ready", shards=16)
        get_logger().warning("game_broken", game="x", node="n2")
    first, second = [json.loads(line) for line in file.read_text().splitlines()]
    assert first.pop("timestamp").endswith("Z")
    assert first == {
        "event": "node_ready",
        "level": "info",
        "cluster": "c1",
        "node": "n1",
        "shards": 16,
    }
    assert second["node"] == "n2"


def test_lines_below_the_level_are_not_made(tmp_path: Path) -> None:
    """The level is a floor."""
    file = tmp_path / "node.log"
    with structured_logging(level="warning", file=file):
        get_logger().info("node_ready")
    assert file.read_text() == ""


def test_a_pipe_gets_json_and_console_can_be_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """auto is JSON where no person reads."""
    with structured_logging():
        get_logger().info("node_ready")
    assert json.loads(capsys.readouterr().err)["event"] == "node_ready"
    with structured_logging(format="console"):
        get_logger().info("node_ready")
    line = capsys.readouterr().err
    assert "node_ready" in line
    assert not line.startswith("{")


def test_an_exception_is_written_with_its_traceback(tmp_path: Path) -> None:
    """What an operator needs to find a fault is on the line."""
    file = tmp_path / "node.log"
    with structured_logging(file=file):
        try:
            raise ValueError("odd")
        except ValueError:
            get_logger().exception("game_broken")
    assert "ValueError: odd" in json.loads(file.read_text())["exception"]


def test_an_event_outside_the_list_is_kept_and_marked(tmp_path: Path) -> None:
    """A line is never lost for its name."""
    file = tmp_path / "node.log"
    with structured_logging(file=file):
        get_logger().info("no such event")
    assert json.loads(file.read_text())["unlisted"] is True


def test_every_event_in_the_code_is_of_the_list() -> None:
    """`EVENTS` is closed: nothing else is ever logged."""
    assert _logged_events() <= set(EVENTS)


def _logged_events() -> set[str]:
    files = [
        ast.parse(file.read_text("utf-8"))
        for package in (runtime, nodes)
        for file in Path(package.__path__[0]).rglob("*.py")
    ]
    constants = dict(pair for file in files for pair in _text_constants(file))
    found: set[str] = set()
    for file in files:
        for node in ast.walk(file):
            found |= _event_of(node, constants)
    return found


def _text_constants(file: ast.Module) -> Iterator[tuple[str, str]]:
    """NAME = "text", at the top of a module."""
    for node in file.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            for target in node.targets:
                yield ast.unparse(target), str(node.value.value)


def _event_of(node: ast.AST, constants: dict[str, str]) -> set[str]:
    """The event of a call such as `log.info("node_ready")`, on a name with 'log'."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return set()
    owner = ast.unparse(node.func.value)
    if node.func.attr not in LEVELS or "log" not in owner.lower() or not node.args:
        return set()
    event = node.args[0]
    if isinstance(event, ast.Constant):
        return {str(event.value)}
    name = ast.unparse(event).rpartition(".")[2]
    if name.islower():
        return set()  # handed on from a caller, who names it
    assert name in constants, f"{owner}: the event {name} must be a constant"
    return {constants[name]}


def test_a_full_disk_costs_lines_and_never_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What could not be written is counted, and told once there is room again."""
    disk = FillingDisk()
    monkeypatch.setattr(sys, "stderr", disk)
    with structured_logging(format="json"):
        for disk.full in (False, True, True, False, False):
            get_logger().info("link_up")
    lost = [json.loads(line).get("lines_lost") for line in disk.getvalue().splitlines()]
    assert lost == [None, 2, None]


class FillingDisk(io.StringIO):
    full = False

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


@pytest.fixture
def unconfigured() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()


@pytest.mark.usefixtures("unconfigured")
def test_a_library_does_not_write_to_its_programs_stdout(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A bot that prints its own lines is not interrupted; warnings go to stderr."""
    quiet_unless_configured()
    get_logger().info("link_up")
    get_logger().warning("dial_refused")
    said = capsys.readouterr()
    assert said.out == ""
    assert "dial_refused" in said.err
    assert "link_up" not in said.err


@pytest.mark.usefixtures("unconfigured")
def test_what_a_program_said_to_structlog_stands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Who wants the library's lines gets them as they chose."""
    structlog.configure(processors=[structlog.processors.JSONRenderer()])
    quiet_unless_configured()
    get_logger().info("link_up")
    assert json.loads(capsys.readouterr().out) == {"event": "link_up"}
