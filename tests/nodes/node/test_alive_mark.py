"""When a node was last alive."""

from __future__ import annotations

from pathlib import Path

from hotseat.nodes.node.alive_mark import TOUCH_MS, AliveMark


def test_the_next_process_knows_when_the_last_one_lived(tmp_path: Path) -> None:
    """To a second; the first process ever finds nothing."""
    first = AliveMark(tmp_path / "alive")
    assert first.last_ms == 0
    first.touch(1_000_000)
    first.touch(1_000_000 + TOUCH_MS - 1)
    assert AliveMark(tmp_path / "alive").last_ms == 1_000_000
    first.touch(1_000_000 + TOUCH_MS)
    assert AliveMark(tmp_path / "alive").last_ms == 1_000_000 + TOUCH_MS


def test_a_clock_that_was_set_back_is_marked(tmp_path: Path) -> None:
    """Else the mark would stand still until the clock has caught up."""
    mark = AliveMark(tmp_path / "alive")
    mark.touch(10_000_000)
    mark.touch(5_000_000)
    assert AliveMark(tmp_path / "alive").last_ms == 5_000_000
