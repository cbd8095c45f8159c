"""The codec: every frame comes back as it was, and no bytes can surprise it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgpack
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hotseat.runtime import codec, frame
from hotseat.runtime.codec import (
    FRAME_LIMIT_BYTES,
    FRAMES_PER_MESSAGE_MAX,
    MESSAGE_LIMIT_BYTES,
    PAYLOAD_LIMIT_BYTES,
    VALUE_DEPTH_MAX,
    Message,
    decode_frame,
    decode_message,
    encode_frame,
    encode_hello,
    encode_message,
    pack,
    unpack,
)
from hotseat.runtime.errors import (
    CodecError,
    FrameMalformed,
    FrameTooDeep,
    FrameTooLarge,
    NotSerializable,
)
from hotseat.runtime.replication import message as replication

REFUSALS = (FrameMalformed, FrameTooDeep, FrameTooLarge)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
fields = {
    str: texts,
    bytes: st.binary(max_size=40),
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1),
    type(None): st.none(),
    msgspec.Raw: json_values.map(pack),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Values of a field's type, as far as the table of frames uses types."""
    if kind in fields:
        return fields[kind]
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if get_origin(kind) is tuple:
        inner = [values_of(k) for k in get_args(kind) if k is not ...]
        many = st.lists(inner[0], max_size=5).map(tuple)
        return many if ... in get_args(kind) else st.tuples(*inner)
    if get_args(kind):
        return st.one_of([values_of(k) for k in get_args(kind)])
    return structs_of(kind)


def structs_of(kind: type[msgspec.Struct]) -> st.SearchStrategy[Any]:
    """Structs of one type with any fields."""
    hints = get_type_hints(kind)
    names = kind.__struct_fields__
    return st.builds(kind, **{name: values_of(hints[name]) for name in names})


frames = st.one_of([structs_of(kind) for kind in get_args(frame.Frame)])


def plain(value: object) -> Any:
    """Compare structs by their fields; `Raw` compares by its bytes only as bytes."""
    if isinstance(value, msgspec.Raw):
        return bytes(value)
    if isinstance(value, msgspec.Struct):
        return type(value), [plain(v) for v in msgspec.structs.astuple(value)]
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    return value


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(frames)
def test_every_frame_comes_back(sent: frame.Frame) -> None:
    """A frame of any type survives the wire unchanged, alone and as Raw."""
    encoded = encode_frame(sent)
    assert plain(decode_frame(encoded)) == plain(sent)
    assert plain(decode_frame(msgspec.Raw(encoded))) == plain(sent)


def test_every_frame_type_is_in_the_table() -> None:
    """All tagged structs but the link's own message are frames or the hello."""
    kinds = {
        kind
        for module in (frame, replication)
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, msgspec.Struct)
        and kind.__struct_config__.tag is not None
    }
    assert kinds == {*get_args(frame.Frame), frame.Hello}
    assert {*get_args(replication.Message)} < kinds


@given(st.integers(0, 2**63 - 1), st.lists(frames, max_size=40))
def test_a_message_keeps_its_frames_in_order(
    link: int, sent: list[frame.Frame]
) -> None:
    """What was queued together arrives together, in order, with its link number."""
    message = decode_message(encode_message(link, [encode_frame(f) for f in sent]))
    assert isinstance(message, Message)
    assert message.link == link
    assert plain(message.frames) == plain(tuple(sent))


@given(structs_of(frame.Hello))
def test_a_hello_is_a_message_of_its_own(hello: frame.Hello) -> None:
    """A hello comes back as a hello."""
    assert decode_message(encode_hello(hello)) == hello


@given(st.binary(max_size=300))
def test_no_bytes_surprise_the_codec(data: bytes) -> None:
    """Any bytes give a value or a refusal with a code; nothing else is raised."""
    for decode in (decode_message, decode_frame, unpack):
        with suppress(*REFUSALS):
            decode(data)


msgpack_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.binary(max_size=9)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
    | st.builds(msgpack.ExtType, st.integers(0, 127), st.binary(max_size=9))
    | st.builds(
        msgpack.Timestamp, st.integers(0, 2**63 - 1), st.integers(0, 10**9 - 1)
    ),
    lambda inner: (
        st.lists(inner, max_size=16)
        | st.dictionaries(st.integers(-9, 9) | st.text("ab"), inner)
    ),
    max_leaves=30,
)


@given(
    msgpack_values, st.sampled_from([0, 1, 2, 10, 12, 13, 45, 47, 60, 70, 79, 83, 99])
)
def test_no_msgpack_surprises_the_codec(value: Any, tag: int) -> None:
    """Well-formed msgpack that is no frame of ours gives a refusal, nothing else."""
    tagged = [tag, *value] if isinstance(value, list) else [tag, value]
    for data in (msgpack.packb(value), msgpack.packb(tagged)):
        for decode in (decode_message, decode_frame, unpack):
            with suppress(*REFUSALS):
                decode(data)


@given(frames, st.data())
def test_a_damaged_frame_is_a_value_or_a_refusal(
    sent: frame.Frame, data: st.DataObject
) -> None:
    """One changed byte, or a cut tail, never raises anything but a CodecError."""
    message = bytearray(encode_message(7, [encode_frame(sent)]))
    at = data.draw(st.integers(0, len(message) - 1))
    message[at] = data.draw(st.integers(0, 255))
    for damaged in (bytes(message), bytes(message[:at])):
        with suppress(*REFUSALS):
            decode_message(damaged)


@given(json_values)
def test_a_value_comes_back(value: Any) -> None:
    """JSON in, the same JSON out."""
    assert unpack(pack(value, limit=FRAME_LIMIT_BYTES)) == value


def test_subclasses_of_list_and_dict_are_what_they_extend() -> None:
    """A frozen G is packed without being copied first."""

    class D(dict[str, Any]):
        pass

    class L(list[Any]):
        pass

    assert unpack(pack(D(a=L([1, D()])))) == {"a": [1, {}]}


@pytest.mark.parametrize("depth", [VALUE_DEPTH_MAX + 1, 900, 20_000])
def test_deep_values_are_too_deep_both_ways(depth: int) -> None:
    """20,000 levels end in a refusal at the sender, and at a receiver without one."""
    with pytest.raises(FrameTooDeep):
        pack(nested(depth))
    with pytest.raises(FrameTooDeep):
        unpack(b"\x91" * (depth - 1) + b"\x90")


def test_the_deepest_value_that_is_allowed_passes() -> None:
    """The limit itself is inside."""
    value = nested(VALUE_DEPTH_MAX)
    assert unpack(pack(value)) == value


def test_deep_bytes_inside_a_frame_cost_only_that_message() -> None:
    """A frame that is too deep even to skip is refused as too deep."""
    payload = msgspec.Raw(b"\x91" * 20_000 + b"\x90")
    deep = encode_frame(frame.CreateMatch(1, "k", "g", "", payload))
    with pytest.raises(FrameTooDeep):
        decode_frame(deep)
    with pytest.raises(FrameTooDeep):
        decode_message(encode_message(1, [deep]))


def test_a_value_that_contains_itself_is_too_deep() -> None:
    """A cycle ends the walk."""
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(FrameTooDeep):
        pack(loop)
    wide: list[Any] = []
    wide += [wide] * 1000
    with pytest.raises(FrameTooLarge):
        pack(wide)


@pytest.mark.parametrize(
    "value",
    [b"x", {1}, (1,), {1: 2}, {b"a": 1}, float("nan"), float("inf"), 2**70, object()],
)
def test_what_is_not_json_is_refused_by_pack(value: object) -> None:
    """msgpack could write some of these; a game's value may not be one."""
    with pytest.raises(NotSerializable):
        pack([value])


def test_lone_surrogates_are_refused() -> None:
    """Text that is not Unicode cannot leave."""
    with pytest.raises(NotSerializable):
        pack("\ud800")
    with pytest.raises(NotSerializable):
        encode_frame(frame.Unwatch(1, "\ud800", 1))


@pytest.mark.parametrize(
    "value", [b"x", b"", {1: 2}, float("nan"), msgpack.ExtType(5, b""), {b"a": 1}]
)
def test_what_is_not_json_is_refused_by_unpack(value: object) -> None:
    """A payload that only msgpack can say is malformed."""
    with pytest.raises(FrameMalformed):
        unpack(msgpack.packb([value]))


def test_sizes_are_refused_at_the_sender() -> None:
    """A 50 MB frame and a fat payload are `too_large` before they leave."""
    fat = msgspec.Raw(msgpack.packb("x" * 50_000_000))
    with pytest.raises(FrameTooLarge, match="50,000") as caught:
        encode_frame(frame.CreateMatch(1, "k", "g", "", fat))
    assert caught.value.code == "too_large"
    with pytest.raises(FrameTooLarge):
        pack("x" * PAYLOAD_LIMIT_BYTES)
    assert len(bytes(pack("x" * (PAYLOAD_LIMIT_BYTES - 3)))) == PAYLOAD_LIMIT_BYTES


def test_sizes_are_refused_at_the_receiver() -> None:
    """What a sender without our codec forced onto the wire is `too_large`."""
    with pytest.raises(FrameTooLarge):
        decode_message(bytes(MESSAGE_LIMIT_BYTES + 1))
    with pytest.raises(FrameTooLarge):
        decode_frame(bytes(FRAME_LIMIT_BYTES + 1))


def test_the_largest_frame_fits_into_a_message() -> None:
    """What encode_frame lets through, a message carries."""
    payload = msgspec.Raw(msgpack.packb("x" * (FRAME_LIMIT_BYTES - 14)))
    largest = encode_frame(frame.CreateMatch(1, "k", "g", "", payload))
    assert FRAME_LIMIT_BYTES - 8 < len(largest) <= FRAME_LIMIT_BYTES
    decode_message(encode_message(2**63 - 1, [largest]))


def test_a_refusal_does_not_repeat_at_length_what_was_sent() -> None:
    """It is logged before anybody has proved anything: a line, not a megabyte."""
    hello = [1, 1, "c", "p", "x" * 900_000, "i", "u", "tcp://", [], "r", 1, b""]
    with pytest.raises(FrameMalformed) as caught:
        decode_message(msgpack.packb(hello))
    assert len(str(caught.value)) < 400


def test_frames_of_a_message_are_counted() -> None:
    """Too many tiny frames are refused by both ends."""
    beat = encode_frame(frame.Heartbeat(0))
    decode_message(encode_message(1, [beat] * FRAMES_PER_MESSAGE_MAX))
    with pytest.raises(FrameTooLarge):
        encode_message(1, [beat] * (FRAMES_PER_MESSAGE_MAX + 1))
    forced = b"\x93\x00\x01\xdc\x20\x01" + beat * (FRAMES_PER_MESSAGE_MAX + 1)
    with pytest.raises(FrameMalformed):
        decode_message(forced)


def test_a_newer_peer_may_add_fields() -> None:
    """Fields at the end that we do not know are ignored."""
    sync = frame.Sync(1, "m", 2)
    longer = msgpack.packb([*msgpack.unpackb(encode_frame(sync)), "new"])
    assert decode_frame(longer) == sync


def test_all_codec_errors_carry_a_code() -> None:
    """Logs and refusals use the code, so each class has its own."""
    classes = [*REFUSALS, NotSerializable]
    assert len({kind.code for kind in classes}) == len(classes)
    assert all(issubclass(kind, CodecError) for kind in classes)
    assert codec.PAYLOAD_LIMIT_BYTES < codec.FRAME_LIMIT_BYTES
