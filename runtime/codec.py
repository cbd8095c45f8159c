"""Bytes to values and back: the only place that knows how anything is written.

On the wire a *message* is one msgpack value: a `Hello`, or
`[0, link, [frame, ...]]` with everything that one wake-up had for a peer.

Rules:
- `decode_*` and `unpack` answer any bytes at all with a value or a `CodecError`,
  never with another exception.
- Sizes are checked before decoding, counts before allocating. A `Raw` inside a
  frame is skipped, not built; `unpack` bounds its depth when somebody needs it.
- A decoded `Raw` keeps the message that it came in alive; copy what lives long.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Annotated, Any, Final, TypeVar

import msgspec

from ..engine.limits import NESTING_MAX, PAYLOAD_BYTES_MAX
from .errors import (
    CodecError,
    FrameMalformed,
    FrameTooDeep,
    FrameTooLarge,
    NotSerializable,
)
from .frame import Frame, Hello, Struct

__all__ = [
    "FRAMES_PER_MESSAGE_MAX",
    "FRAME_LIMIT_BYTES",
    "MESSAGE_LIMIT_BYTES",
    "PAYLOAD_LIMIT_BYTES",
    "VALUE_DEPTH_MAX",
    "Message",
    "decode_frame",
    "decode_message",
    "encode_frame",
    "encode_hello",
    "encode_message",
    "pack",
    "pack_trusted",
    "unpack",
]

# Bytes of one encoded frame. Room for the view of a large G; small enough that a
# peer's bytes can be held in memory before they are believed.
FRAME_LIMIT_BYTES: Final = 1024 * 1024

# Bytes around the frames of a message: its array, its tag, its link, its count.
_HEADER_BYTES_MAX = 1 + 1 + 9 + 5

# Bytes of one message: the largest frame fits alone.
MESSAGE_LIMIT_BYTES: Final = FRAME_LIMIT_BYTES + _HEADER_BYTES_MAX

# Frames of one message: bounds the objects that a megabyte of tiny ones becomes.
FRAMES_PER_MESSAGE_MAX: Final = 8192

# Containers inside containers of a packed value: what the engine allows, and room
# for what is put around it (a list of steps, each with its G). The engine judges a
# payload itself.
VALUE_DEPTH_MAX: Final = NESTING_MAX + 8

# Characters of a decoder's reason: it may repeat what was sent, and it is logged.
_REASON_LENGTH_MAX = 200

# Bytes of a packed value that a player sends.
PAYLOAD_LIMIT_BYTES: Final = PAYLOAD_BYTES_MAX


class Message(Struct, frozen=True, tag=0):
    """All the frames that one wake-up of the sender had for us, in order.

    `link` repeats the number of the sender's hello: a message of another link is
    stale.
    """

    link: int
    frames: Annotated[
        tuple[Frame, ...], msgspec.Meta(max_length=FRAMES_PER_MESSAGE_MAX)
    ]


T = TypeVar("T")

_encoder = msgspec.msgpack.Encoder()
_frame_decoder: msgspec.msgpack.Decoder[Frame] = msgspec.msgpack.Decoder(Frame)
_message_decoder: msgspec.msgpack.Decoder[Hello | Message] = msgspec.msgpack.Decoder(
    Hello | Message
)
_value_decoder = msgspec.msgpack.Decoder()


def encode_frame(frame: Frame) -> bytes:
    """Return the bytes of one frame.

    Raises:
        FrameTooLarge: They are more than `FRAME_LIMIT_BYTES`.
        NotSerializable: A string holds a lone surrogate, or an integer is too wide.
    """
    encoded = _encode(frame)
    _check_size(len(encoded), FRAME_LIMIT_BYTES, type(frame).__name__)
    return encoded


def decode_frame(data: bytes | msgspec.Raw) -> Frame:
    """Read one frame.

    Raises:
        FrameTooLarge: More bytes than `FRAME_LIMIT_BYTES`.
        FrameTooDeep: Nested too deeply even to be skipped.
        FrameMalformed: No frame of ours.
    """
    _check_size(memoryview(data).nbytes, FRAME_LIMIT_BYTES, "a frame")
    return _decode(_frame_decoder.decode, data)


def encode_hello(hello: Hello) -> bytes:
    """Return the bytes of a hello: a message of its own, the first on a pipe."""
    return _encode(hello)


def encode_message(link: int, frames: Sequence[bytes]) -> bytes:
    """Join encoded frames into one message.

    Raises:
        FrameTooLarge: Together they are more than `MESSAGE_LIMIT_BYTES`, or more
            than `FRAMES_PER_MESSAGE_MAX`.
    """
    count = len(frames)
    _check_size(count, FRAMES_PER_MESSAGE_MAX, "a message", unit="frames")
    small = count < 16  # msgpack's fixarray; else array 16
    array = bytes((0x90 | count,)) if small else b"\xdc" + count.to_bytes(2, "big")
    message = b"".join((b"\x93\x00", _encoder.encode(link), array, *frames))
    _check_size(len(message), MESSAGE_LIMIT_BYTES, "a message")
    return message


def decode_message(data: bytes) -> Hello | Message:
    """Read what came through a pipe.

    Raises:
        FrameTooLarge: More bytes than `MESSAGE_LIMIT_BYTES`.
        FrameTooDeep: Nested too deeply even to be skipped.
        FrameMalformed: No message of ours.
    """
    _check_size(len(data), MESSAGE_LIMIT_BYTES, "a message")
    return _decode(_message_decoder.decode, data)


def pack(value: object, limit: int = PAYLOAD_LIMIT_BYTES) -> msgspec.Raw:
    """Encode a game's JSON value: None, bool, int, float, str, list, dict.

    Subclasses of list and dict are taken for what they extend.

    Raises:
        FrameTooLarge: It is more than `limit` bytes.
        FrameTooDeep: It is nested deeper than `VALUE_DEPTH_MAX`, or contains itself.
        NotSerializable: It is not JSON.
    """
    _check_json(value, NotSerializable, values_max=limit)
    encoded = _encode(value)
    _check_size(len(encoded), limit, "the value")
    return msgspec.Raw(encoded)


def pack_trusted(value: object, limit: int) -> msgspec.Raw:
    """Encode what this process built itself around values that the engine froze.

    As `pack`, without looking whether it is JSON: a view costs what its bytes cost.

    Raises:
        FrameTooLarge: It is more than `limit` bytes.
        NotSerializable: The encoder does not know a type in it.
    """
    encoded = _encode(value)
    _check_size(len(encoded), limit, "the value")
    return msgspec.Raw(encoded)


def unpack(raw: msgspec.Raw | bytes) -> Any:
    """Decode a game's JSON value; the inverse of `pack`.

    Raises:
        FrameTooLarge: More bytes than `FRAME_LIMIT_BYTES`.
        FrameTooDeep: It is nested deeper than `VALUE_DEPTH_MAX`.
        FrameMalformed: It is not JSON in msgpack.
    """
    size = memoryview(raw).nbytes
    _check_size(size, FRAME_LIMIT_BYTES, "the value")
    value = _decode(_value_decoder.decode, raw)
    _check_json(value, FrameMalformed, values_max=size)
    return value


def _encode(value: object) -> bytes:
    try:
        return _encoder.encode(value)
    except (TypeError, ValueError, OverflowError) as error:
        # ValueError covers UnicodeEncodeError: a lone surrogate.
        raise NotSerializable(f"cannot be written as msgpack: {error}") from error


def _decode(decode: Callable[[Any], T], data: bytes | msgspec.Raw) -> T:
    try:
        return decode(data)
    except RecursionError:
        raise FrameTooDeep(
            f"nested too deeply to be read; the limit is {VALUE_DEPTH_MAX}"
        ) from None
    except (msgspec.MsgspecError, ValueError, OverflowError, TypeError) as error:
        # Dates out of range and keys that cannot be hashed come as plain errors.
        why = str(error)[:_REASON_LENGTH_MAX]
        raise FrameMalformed(f"not a message of this protocol: {why}") from error


def _check_size(size: int, limit: int, what: str, unit: str = "bytes") -> None:
    if size > limit:
        raise FrameTooLarge(f"{what} is {size:,} {unit}; the limit is {limit:,}")


_SCALARS = frozenset({type(None), bool, int, str})


def _check_json(value: object, error: type[CodecError], *, values_max: int) -> None:
    """Check types and depth level by level: one Python step for each container.

    A value is a byte at least, so `values_max` bytes hold no more of them; that
    also ends the walk of a value that contains itself many times over.
    """
    level: list[Any] = [[value]]
    seen = 0
    for _ in range(VALUE_DEPTH_MAX + 1):
        below: list[Any] = []
        for container in level:
            values = _values_of(container, error)
            seen += len(values)
            if seen > values_max:
                raise FrameTooLarge(f"more than {values_max:,} values")
            kinds = set(map(type, values))
            if not kinds <= _SCALARS:
                below += _check_kinds(values, error)
        if not below:
            return
        level = below
    raise FrameTooDeep(f"nested deeper than the limit of {VALUE_DEPTH_MAX}")


def _values_of(
    container: dict[Any, Any] | list[Any], error: type[CodecError]
) -> Collection[Any]:
    if isinstance(container, list):
        return container
    if not set(map(type, container)) <= {str}:
        raise error("a key is not a string")
    return container.values()


def _check_kinds(values: Collection[Any], error: type[CodecError]) -> list[Any]:
    """Return the containers among `values`; the others must be JSON scalars."""
    containers = []
    for value in values:
        if type(value) in _SCALARS:
            continue
        if isinstance(value, dict | list):
            containers.append(value)
        elif type(value) is float:
            if not math.isfinite(value):
                raise error(f"{value} is not a JSON number")
        else:
            raise error(f"a {type(value).__name__} is not a JSON value")
    return containers
