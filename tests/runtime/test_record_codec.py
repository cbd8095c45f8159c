"""Packed records: what was written is read, and nothing else ever is."""

from __future__ import annotations

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.engine.errors import InvalidJsonValueError
from hotseat.engine.frozen import enclose
from hotseat.engine.record import Record, RecordKind
from hotseat.runtime.errors import (
    ChecksumWrong,
    CodecError,
    ContentMalformed,
    FormatTooNew,
)
from hotseat.runtime.record_codec import RECORD_FORMAT, pack_record, unpack_record
from hotseat.runtime.sealed import seal

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=8), inner, max_size=5)
    ),
    max_leaves=20,
)
DIGESTS = st.binary(min_size=16, max_size=16)


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Records of every kind, with any input."""
    return Record(
        draw(st.integers(0, 2**40)),
        draw(st.sampled_from(RecordKind)),
        draw(st.integers(0, 2**50) | st.floats(0.5, 1e9).filter(lambda f: f % 1)),
        draw(st.integers(0, 2**40)),
        enclose(draw(st.dictionaries(st.text(max_size=8), VALUES, max_size=6))),
        draw(DIGESTS),
        draw(DIGESTS),
    )


def sealed(content: object) -> bytes:
    """A packed record of any content, with the right checksum."""
    body: bytes = msgpack.packb(content)
    return bytes(msgpack.packb(seal(RECORD_FORMAT, body), use_bin_type=True))


def wide(packed: bytes) -> bytes:
    """The same bin with four bytes of length, as records are written."""
    content: bytes = msgpack.unpackb(packed)
    return b"\xc6" + len(content).to_bytes(4, "big") + content


PLAIN = [1, "action", 5, 1, {"seat": "0"}, b"p" * 16, b"d" * 16]


@given(records())
def test_what_was_packed_is_read(record: Record) -> None:
    """Equal, in the order of its keys, and frozen."""
    again = unpack_record(pack_record(record))
    assert again == record
    assert str(again.input) == str(record.input)
    assert type(again.input) is type(record.input)


@given(records())
def test_a_packed_record_travels_as_one_value(record: Record) -> None:
    """A frame carries it raw, and the package msgpack reads it."""
    packed = pack_record(record)
    frame = msgspec.msgpack.encode([1, msgspec.Raw(packed), 2])
    _, raw, _ = msgspec.msgpack.decode(frame, type=tuple[int, msgspec.Raw, int])
    assert unpack_record(raw) == record
    body = msgpack.unpackb(packed)[5:]
    assert msgpack.unpackb(body)[4] == record.input
    assert msgpack.packb(msgpack.unpackb(body)) == body


@given(records(), st.data())
def test_every_changed_byte_is_found(record: Record, data: st.DataObject) -> None:
    """Whichever it is, and wherever the record is cut off."""
    packed = bytearray(pack_record(record))
    at = data.draw(st.integers(0, len(packed) - 1))
    packed[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CodecError):
        unpack_record(bytes(packed))
    with pytest.raises(CodecError):
        unpack_record(pack_record(record)[:at])


@given(st.binary(max_size=64) | VALUES.map(msgpack.packb))
def test_any_bytes_give_a_codec_error(data: bytes) -> None:
    """Bytes that nobody wrote never give another exception, sealed or not."""
    with pytest.raises(CodecError):
        unpack_record(data)
    with pytest.raises(CodecError):
        unpack_record(wide(msgpack.packb(seal(RECORD_FORMAT, data))))


@given(st.integers(0, 6), VALUES)
def test_content_of_another_shape_is_refused(at: int, value: object) -> None:
    """A field of another type is an error, or a record that can be packed again."""
    content = [*PLAIN[:at], value, *PLAIN[at + 1 :]]
    try:
        record = unpack_record(wide(sealed(content)))
    except ContentMalformed:
        return
    assert unpack_record(pack_record(record)) == record


@pytest.mark.parametrize(
    "content",
    [
        [1, "mystery", 5, 1, {}, b"p" * 16, b"d" * 16],
        [-1, "action", 5, 1, {}, b"p" * 16, b"d" * 16],
        [1, "action", 5, 1, {}, b"p" * 16, b"d"],
        [1, "action", float("inf"), 1, {}, b"p" * 16, b"d" * 16],
        [1, "action", 5, 1, {"x": 2**60}, b"p" * 16, b"d" * 16],
        [1, "action", 5, 1, {"x": b"bytes"}, b"p" * 16, b"d" * 16],
        [*PLAIN, "more"],
        PLAIN[:-1],
    ],
)
def test_what_no_record_can_hold_is_refused(content: object) -> None:
    """An unknown kind, a negative number, a digest cut short, what is not JSON."""
    with pytest.raises(ContentMalformed):
        unpack_record(wide(sealed(content)))


def test_nesting_without_end_is_refused() -> None:
    """A value that no recursion can read is malformed, not a crash."""
    deep = b"\x97\x01\xa6action\x05\x01\x81\xa1x" + b"\x91" * 100_000
    with pytest.raises(ContentMalformed):
        unpack_record(wide(msgpack.packb(seal(RECORD_FORMAT, deep))))


def test_errors_say_what_happened() -> None:
    """A changed byte, and a newer version, are told apart."""
    packed = pack_record(unpack_record(wide(sealed(PLAIN))))
    with pytest.raises(ChecksumWrong, match="changed since it was written"):
        unpack_record(packed[:-1] + b"?")
    newer = seal(RECORD_FORMAT + 1, b"whatever")
    with pytest.raises(FormatTooNew, match="upgrade this node"):
        unpack_record(wide(msgpack.packb(newer)))


def test_the_plain_record_is_one() -> None:
    """The examples above fail for what was changed in them, not for the rest."""
    assert unpack_record(wide(sealed(PLAIN))).kind is RecordKind.ACTION
    with pytest.raises(InvalidJsonValueError):
        enclose({"x": 2**60})
