"""What a bots process and its workers say to each other: frames of msgpack over pipes.

A worker says `Ready` once; then each `Ask` has one `Answer`. A frame is its length in
four bytes and as many of msgpack.
"""

from __future__ import annotations

import struct
from typing import Any, Final

import msgspec

__all__ = ["FRAME_BYTES_MAX", "HEADER_BYTES", "Answer", "Ask", "Ready", "frame", "size"]

FRAME_BYTES_MAX = 4 * 1024 * 1024
"""A view and the legal actions are much less; a node sends no more than 1 MiB."""

_HEADER: Final = struct.Struct(">I")
HEADER_BYTES: Final = _HEADER.size

_encode = msgspec.msgpack.Encoder().encode


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The worker can be asked; or `problem` says why it cannot."""

    bots: list[str]
    code: str = ""
    problem: str = ""
    hint: str = ""


class Ask(msgspec.Struct, frozen=True, tag="ask"):
    """What would this bot do? Fields as in `BotView`."""

    bot: str
    seed: str
    """Of all chance in the decision."""
    game: str
    version: str
    match: str
    seat: str
    players: tuple[str, ...]
    config: Any
    view: Any
    state: str
    turn: int
    revision: int
    active_players: tuple[str, ...]
    legal: list[tuple[str, Any]]
    deadline_ms: int | None
    now_ms: int
    think_s: float
    limit_s: float
    """After which the worker ends itself, if nobody else has ended it."""


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """An action; or, with a `code`, why there is none."""

    event: str = ""
    payload: Any = None
    code: str = ""
    message: str = ""


def frame(message: Ready | Ask | Answer) -> bytes:
    """
    Raises:
        ValueError, TypeError: It is too large, or cannot be said in msgpack.
    """
    packed = _encode(message)
    if len(packed) > FRAME_BYTES_MAX:
        raise ValueError(f"{len(packed)} bytes are too many for a frame")
    return _HEADER.pack(len(packed)) + packed


def size(header: bytes) -> int:
    """How many bytes follow.

    Raises:
        ValueError: More than may be.
    """
    found: int = _HEADER.unpack(header)[0]
    if found > FRAME_BYTES_MAX:
        raise ValueError(f"a frame of {found} bytes")
    return found
