"""What is said to etcd's JSON gateway, and what it answers: every body, in one place.

Rules: etcd ignores fields that it does not know, so a misspelt compare would become
another compare. Hence bodies are made of the structs below and of nothing else.
Answers leave out what is zero, false or empty, and carry int64 as text; keys and
values are base64 (msgspec does that for bytes). Pure: no I/O.

Source: etcd's `rpc.proto`, as served below /v3 by etcd 3.4 and later.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Literal, TypeVar

import msgspec

from ...runtime.coordinator import CasConflict, CasOk, Change, Entry, Listing, Write

__all__ = [
    "Answer",
    "EtcdError",
    "GrantAnswer",
    "GrantRequest",
    "Header",
    "KeepAliveAnswer",
    "KeepAliveLine",
    "LeaseRequest",
    "MalformedAnswer",
    "RangeAnswer",
    "RangeRequest",
    "TxnAnswer",
    "TxnRequest",
    "WatchAnswer",
    "WatchLine",
    "WatchRequest",
    "decode",
    "grant_request",
    "lease_request",
    "range_request",
    "read_changes",
    "read_error",
    "read_listing",
    "read_txn",
    "txn_request",
    "watch_request",
]

T = TypeVar("T")


class MalformedAnswer(Exception):
    """etcd's answer does not fit what was asked."""


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """A body. What differs from etcd's default has no default here."""


class RangeRequest(Request, frozen=True):
    """Linearizable, since `serializable` is not said."""

    key: bytes
    range_end: bytes = b""
    keys_only: bool = False


class PutRequest(Request, frozen=True):
    key: bytes
    value: bytes
    lease: str = "0"


class DeleteRangeRequest(Request, frozen=True):
    key: bytes


class RequestOp(Request, frozen=True):
    """Exactly one of them."""

    request_range: RangeRequest | None = None
    request_put: PutRequest | None = None
    request_delete_range: DeleteRangeRequest | None = None


class Compare(Request, frozen=True):
    key: bytes
    target: Literal["MOD"]
    result: Literal["EQUAL"]
    mod_revision: str


class TxnRequest(Request, frozen=True):
    compare: list[Compare]
    success: list[RequestOp]
    failure: list[RequestOp]


class WatchCreate(Request, frozen=True):
    key: bytes
    range_end: bytes
    start_revision: str


class WatchRequest(Request, frozen=True):
    create_request: WatchCreate


class GrantRequest(Request, frozen=True):
    ID: str
    TTL: str


class LeaseRequest(Request, frozen=True):
    ID: str


class Header(msgspec.Struct, frozen=True):
    cluster_id: int = 0
    revision: int = 0


class Answer(msgspec.Struct, frozen=True):
    """What every answer says: who gave it."""

    header: Header = Header()


class KeyValue(msgspec.Struct, frozen=True):
    key: bytes
    value: bytes = b""
    mod_revision: int = 0


class RangeAnswer(Answer, frozen=True):
    kvs: tuple[KeyValue, ...] = ()


class ResponseOp(msgspec.Struct, frozen=True):
    response_range: RangeAnswer | None = None


class TxnAnswer(Answer, frozen=True):
    succeeded: bool = False
    responses: tuple[ResponseOp, ...] = ()


class GrantAnswer(Answer, frozen=True):
    ID: int = 0


class KeepAliveAnswer(Answer, frozen=True):
    """`TTL` 0: the lease is gone."""

    TTL: int = 0


class EtcdError(msgspec.Struct, frozen=True):
    """Of a stream (`grpc_code`), or of a call (`code`)."""

    message: str = ""
    code: int = 0
    grpc_code: int = 0


class KeepAliveLine(msgspec.Struct, frozen=True):
    result: KeepAliveAnswer | None = None
    error: EtcdError | None = None

    @property
    def header(self) -> Header:
        return Header() if self.result is None else self.result.header


class Event(msgspec.Struct, frozen=True):
    kv: KeyValue
    type: str = "PUT"


class WatchAnswer(Answer, frozen=True):
    created: bool = False
    canceled: bool = False
    compact_revision: int = 0
    cancel_reason: str = ""
    events: tuple[Event, ...] = ()


class WatchLine(msgspec.Struct, frozen=True):
    result: WatchAnswer | None = None
    error: EtcdError | None = None


def decode(body: bytes | str, type: type[T]) -> T:
    """
    Raises:
        msgspec.MsgspecError: It is no JSON, or not of this form.
    """
    # not strict: numbers come as text
    return msgspec.json.decode(body, type=type, strict=False)


def range_request(prefix: str) -> RangeRequest:
    """All keys under `prefix`."""
    return RangeRequest(*_range(prefix))


def txn_request(writes: Sequence[Write]) -> TxnRequest:
    """All or nothing; where nothing, the revisions that stand there."""
    keys = [_key(write.key) for write in writes]
    return TxnRequest(
        compare=[
            Compare(key, "MOD", "EQUAL", str(write.expected))
            for key, write in zip(keys, writes, strict=True)
        ],
        success=[_operation(write) for write in writes],
        failure=[
            RequestOp(request_range=RangeRequest(key, keys_only=True)) for key in keys
        ],
    )


def watch_request(prefix: str, from_revision: int) -> WatchRequest:
    """Changes under `prefix` after `from_revision`."""
    key, range_end = _range(prefix)
    return WatchRequest(WatchCreate(key, range_end, str(from_revision + 1)))


def grant_request(lease: str, ttl_s: int) -> GrantRequest:
    """A lease whose id we choose: to ask again makes no second one."""
    return GrantRequest(lease, str(ttl_s))


def lease_request(lease: str) -> LeaseRequest:
    """For a keep-alive or a revocation."""
    return LeaseRequest(lease)


def read_listing(answer: RangeAnswer) -> Listing:
    entries = [Entry(_text(kv.key), kv.value, kv.mod_revision) for kv in answer.kvs]
    entries.sort(key=lambda entry: entry.key)
    return Listing(tuple(entries), answer.header.revision)


def read_txn(answer: TxnAnswer, writes: Sequence[Write]) -> CasOk | CasConflict:
    """
    Raises:
        MalformedAnswer: It is no answer to these writes.
    """
    if answer.succeeded:
        return CasOk(answer.header.revision)
    moved = []
    found_there = [response.response_range for response in answer.responses]
    if len(found_there) != len(writes):
        raise MalformedAnswer("a refused transaction without what stands there")
    for write, found in zip(writes, found_there, strict=True):
        if found is None:
            raise MalformedAnswer("a refused transaction without what stands there")
        revision = found.kvs[0].mod_revision if found.kvs else 0
        if revision != write.expected:
            moved.append(write.key)
    if not moved:
        raise MalformedAnswer("a refused transaction, and no key has moved")
    return CasConflict(tuple(moved))


def read_changes(answer: WatchAnswer) -> list[tuple[Change, ...]]:
    """What each transaction of this answer changed, in order."""
    changes = [
        Change(
            _text(event.kv.key),
            None if event.type == "DELETE" else event.kv.value,
            event.kv.mod_revision,
        )
        for event in answer.events
    ]
    grouped = groupby(changes, key=lambda change: change.revision)
    return [tuple(group) for _, group in grouped]


def read_error(body: bytes | str) -> EtcdError | None:
    """The error that a body tells of: None, if it is not one of etcd's.

    The versions differ in form: `{"code", "message"}`, or the same in "error".
    """
    try:
        said = msgspec.json.decode(body)
        if isinstance(said, dict) and isinstance(said.get("error"), dict):
            said = said["error"]
        error = msgspec.convert(said, EtcdError, strict=False)
    except msgspec.MsgspecError:
        return None
    return error if error.code or error.grpc_code else None


def _operation(write: Write) -> RequestOp:
    key = _key(write.key)
    if write.value is None:
        return RequestOp(request_delete_range=DeleteRangeRequest(key))
    lease = "0" if write.session is None else write.session
    return RequestOp(request_put=PutRequest(key, write.value, lease))


def _range(prefix: str) -> tuple[bytes, bytes]:
    """etcd's half-open range of a prefix; two zero bytes are all keys."""
    key = _key(prefix)
    if not key:
        return b"\0", b"\0"
    return key, key[:-1] + bytes([key[-1] + 1])  # UTF-8 has no byte 0xff


def _key(text: str) -> bytes:
    return text.encode()


def _text(key: bytes) -> str:
    return key.decode("utf-8", "replace")  # keys of others: never written by us
