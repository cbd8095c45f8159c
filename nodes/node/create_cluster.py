"""Create a cluster's record, or check that it is the cluster that was meant."""

from __future__ import annotations

import secrets

import msgspec

from ...runtime.control_plane import (
    ClusterRecord,
    Keys,
    decode_record,
    encode_record,
)
from ...runtime.coordinator import ABSENT, Coordinator, Entry
from ...runtime.errors import ClusterMismatch
from ...runtime.settle import read_key, settle_write
from ..telemetry import get_logger

__all__ = ["ensure_cluster"]

FIXED = ("shards", "copies", "min_isr", "durability")
"""What must be configured alike at every node; `nodes` is only a first layout."""

log = get_logger()


async def ensure_cluster(
    coordinator: Coordinator, wanted: ClusterRecord
) -> ClusterRecord:
    """Write the record if there is none; return the one that stands.

    Raises:
        ClusterMismatch: The cluster was created with other values.
        ControlRecordInvalid: Its record cannot be read by this version.
        CoordinatorUnavailable: No answer, or none that settles it. Ask again.
    """
    key = Keys(wanted.cluster).cfg
    entry = await read_key(coordinator, key)
    while entry is None:
        settled = await settle_write(
            coordinator,
            key,
            ABSENT,
            lambda: encode_record(
                msgspec.structs.replace(wanted, nonce=secrets.token_hex(8))
            ),
        )
        entry = settled.entry
        if settled.landed:
            log.info("cluster_created", shards=wanted.shards, nodes=wanted.nodes)
    return _checked(key, entry, wanted)


def _checked(key: str, entry: Entry, wanted: ClusterRecord) -> ClusterRecord:
    found = decode_record(ClusterRecord, key, entry.value)
    apart = [
        f"{name} is {getattr(found, name)!r} there and {getattr(wanted, name)!r} here"
        for name in FIXED
        if getattr(found, name) != getattr(wanted, name)
    ]
    if apart:
        raise ClusterMismatch(
            f"cluster {wanted.cluster!r} was created otherwise: {'; '.join(apart)}."
            " Configure this node alike, or create another cluster"
        )
    return found
