"""A peer's queue keeps order and its two bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.runtime.codec import (
    FRAME_LIMIT_BYTES,
    FRAMES_PER_MESSAGE_MAX,
    encode_message,
)
from hotseat.runtime.errors import LinkFull
from hotseat.runtime.outbox import Outbox

sizes = st.lists(st.integers(1, FRAME_LIMIT_BYTES // 2), max_size=20)


@given(sizes, st.data())
def test_messages_hold_all_frames_in_order(
    lengths: list[int], data: st.DataObject
) -> None:
    """However takes and undone takes alternate, frames leave in order, in messages
    that are within the limit."""
    outbox = Outbox(frames_max=100, bytes_max=100 * FRAME_LIMIT_BYTES)
    frames = [bytes([n]) * length for n, length in enumerate(lengths)]
    for frame in frames:
        outbox.put(frame)
    left: list[bytes] = []
    while taken := outbox.take():
        assert len(encode_message(1, taken)) > 0  # raises beyond the limit
        if data.draw(st.booleans()):
            outbox.put_back(taken)
            assert outbox.take() == taken
        left += taken
    assert left == frames
    assert len(outbox) == 0


def test_bytes_and_frames_are_bounded() -> None:
    """Either bound refuses a frame by name; room that was freed is room again."""
    outbox = Outbox(frames_max=3, bytes_max=100)
    outbox.put(b"x" * 60)
    with pytest.raises(LinkFull, match="does not keep up"):
        outbox.put(b"x" * 41)
    taken = outbox.take()
    outbox.put_back(taken)
    with pytest.raises(LinkFull):
        outbox.put(b"x" * 41)
    outbox.take()
    for _ in range(3):
        outbox.put(b"x")
    with pytest.raises(LinkFull) as caught:
        outbox.put(b"x")
    assert caught.value.code == "busy"
    outbox.clear()
    outbox.put(b"x" * 100)


def test_tiny_frames_are_counted() -> None:
    """A message never holds more frames than the receiver takes."""
    outbox = Outbox(frames_max=FRAMES_PER_MESSAGE_MAX + 1, bytes_max=10**6)
    for _ in range(FRAMES_PER_MESSAGE_MAX + 1):
        outbox.put(b"\xc0")
    assert len(outbox.take()) == FRAMES_PER_MESSAGE_MAX
    assert len(outbox.take()) == 1
