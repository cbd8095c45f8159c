"""The records and keys of the control plane."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hotseat.runtime.control_plane import (
    SCHEMA,
    ClusterRecord,
    ControlRecord,
    Keys,
    Move,
    NodeRecord,
    ReplicaRecord,
    ShardRecord,
    decode_record,
    encode_record,
)
from hotseat.runtime.errors import ControlRecordInvalid

SHARD = ShardRecord(
    owner="n1",
    epoch=3,
    isr=(("n1", "a"), ("n2", "b")),
    want=("n1", "n2"),
    claim="x",
    move=Move(to="n2", op="op-1"),
)


@pytest.mark.parametrize(
    "record",
    [
        SHARD,
        ClusterRecord(cluster="c", shards=16, nodes=("n1", "n2"), nonce="x"),
        NodeRecord(node="n1", boot="b", inbox="tcp://h:1", games=(("pig", "1"),)),
        ReplicaRecord(ident="i", boot=2, nonce="x", serving=False),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_survive_the_round_trip(record: ControlRecord) -> None:
    """What was written is what is read, and it is JSON."""
    value = encode_record(record)
    assert json.loads(value)["schema"] == SCHEMA
    assert decode_record(type(record), "/k", value) == record


def test_unknown_fields_are_kept_readable() -> None:
    """A field that a later build adds does not stop this one."""
    value = json.loads(encode_record(SHARD)) | {"zone": "eu"}
    assert decode_record(ShardRecord, "/k", json.dumps(value).encode()) == SHARD


def test_a_newer_schema_is_refused_with_advice() -> None:
    """A record of a newer schema is not guessed at."""
    value = json.loads(encode_record(SHARD)) | {"schema": SCHEMA + 1, "isr": None}
    with pytest.raises(ControlRecordInvalid, match=r"newer version.*upgrade"):
        decode_record(ShardRecord, "/k", json.dumps(value).encode())


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"schema":1}',
        b'{"schema":"1"}',
        b"[" * 20_000,
        encode_record(SHARD)[:-1],
        json.dumps(json.loads(encode_record(SHARD)) | {"epoch": "3"}).encode(),
        json.dumps(json.loads(encode_record(SHARD)) | {"epoch": -1}).encode(),
        json.dumps(json.loads(encode_record(SHARD)) | {"owner": None}).encode(),
        json.dumps(json.loads(encode_record(SHARD)) | {"epoch": 0}).encode(),
    ],
    ids=range(12),
)
def test_a_bad_value_is_one_clear_error(value: bytes) -> None:
    """Whatever stands at a key, reading it names the key or succeeds."""
    with pytest.raises(ControlRecordInvalid, match="/the/key") as caught:
        decode_record(ShardRecord, "/the/key", value)
    assert caught.value.code == "control_record_invalid"


@pytest.mark.parametrize(
    "wrong",
    [
        {"shards": 0},
        {"shards": 1_000_000},
        {"nodes": ()},
        {"nodes": ("n1", "n1")},
        {"min_isr": 2},
    ],
    ids=str,
)
def test_an_impossible_cluster_is_refused(wrong: dict[str, Any]) -> None:
    """A cluster record cannot hold what could not run."""
    right: dict[str, Any] = {"cluster": "c", "shards": 16, "nodes": ("n1",)}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        ClusterRecord(**(right | wrong))


def test_keys_name_and_recognise() -> None:
    """A key is recognised as what it was made for, and as nothing else."""
    keys = Keys("demo")
    assert keys.cfg == "/hotseat/v1/demo/cfg"
    assert keys.shard(7) == "/hotseat/v1/demo/shard/7"
    assert keys.replica("n1") == "/hotseat/v1/demo/replica/n1"
    assert keys.shard_of(keys.shard(7)) == 7
    assert keys.node_of(keys.node("n1")) == "n1"
    assert keys.node_of(keys.shard(7)) is None
    for other in ("shard/m-x-1", "shard/", "shard/-1", "shard/\u0661", "node/7"):
        assert keys.shard_of(keys.prefix + other) is None
    assert Keys("other").shard_of(keys.shard(7)) is None


@pytest.mark.parametrize("name", ["", "a/b"])
def test_a_cluster_name_cannot_reach_into_another(name: str) -> None:
    """A name with a slash would share a prefix with another cluster."""
    with pytest.raises(ValueError, match="cluster"):
        Keys(name)
