"""Keep a node's address in the coordinator, under a session of this process.

A second live process with the same node id is found out here: it waits for as long
as a dead predecessor's session may last, then gives up. A process that once was
registered and finds another boot in its place has been replaced: it gives up at once.

A predecessor that held the very folder that this process holds now is known to be dead:
its address is replaced without a wait.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable

import anyio
import msgspec

from ...runtime.control_plane import Keys, NodeRecord, decode_record, encode_record
from ...runtime.coordinator import ABSENT, Coordinator, Entry, Session
from ...runtime.errors import CoordinatorUnavailable, NodeIdInUse
from ...runtime.settle import read_key, settle_write
from ..telemetry import get_logger

__all__ = ["NODE_TTL_S", "Registration"]

NODE_TTL_S = 2.0
"""A lease: how long a dead node's address may stand. A hint, so it may be long
enough for a busy machine."""

PATIENCE_S = 2 * NODE_TTL_S
"""How long a starting node waits for its predecessor's session to run out."""

LOOK_S = 0.1
"""Between two looks at a lease."""

log = get_logger()


class Registration:
    """One process's `node/<id>` key."""

    def __init__(self, coordinator: Coordinator, keys: Keys, node: NodeRecord) -> None:
        self._coordinator = coordinator
        self._key = keys.node(node.node)
        self._node = node
        self._was_registered = False
        self._changed = False
        self.registered = False

    async def stay(self, on_registered: Callable[[], None]) -> None:
        """Register, and again whenever the lease is lost, until cancelled.

        Raises:
            NodeIdInUse: Another live process has the id.
            ControlRecordInvalid: The key holds what this version cannot read.
            CoordinatorUnavailable: The coordinator went away. Call again.
        """
        while True:
            async with self._coordinator.session(NODE_TTL_S) as session:
                try:
                    await self._register(session)
                    self.registered = self._was_registered = True
                    on_registered()
                    while not session.lost:
                        await anyio.sleep(LOOK_S)
                        if self._changed:
                            await self._register(session)
                finally:
                    self.registered = False
            log.warning("registration_lost", node=self._node.node)

    def tell(self, node: NodeRecord) -> None:
        """From now on the key shall hold this, of the same process."""
        self._node = node
        self._changed = True

    async def _register(self, session: Session) -> None:
        self._changed = False
        deadline_s = anyio.current_time() + PATIENCE_S
        awaited = False
        while not session.lost:
            entry = await read_key(self._coordinator, self._key)
            if entry is None or self._is_mine_to_replace(entry):
                expected = ABSENT if entry is None else entry.revision
                settled = await settle_write(
                    self._coordinator,
                    self._key,
                    expected,
                    self._value,
                    session=session.id,
                )
                if settled.landed:
                    log.info("node_registered", node=self._node.node)
                    return
                continue
            if self._was_registered or anyio.current_time() > deadline_s:
                raise self._in_use(entry)
            if not awaited:
                awaited = True
                log.info("node_id_awaited", node=self._node.node, patience_s=PATIENCE_S)
            await anyio.sleep(LOOK_S)
        raise CoordinatorUnavailable("the lease was lost before it was used")

    def _value(self) -> bytes:
        nonce = secrets.token_hex(8)
        return encode_record(msgspec.structs.replace(self._node, nonce=nonce))

    def _is_mine_to_replace(self, entry: Entry) -> bool:
        """Written by this process, or by a dead one that held the same folder."""
        record = decode_record(NodeRecord, self._key, entry.value)
        if record.boot == self._node.boot:
            return True
        same_place = record.place == self._node.place != ""
        return same_place and not self._was_registered

    def _in_use(self, entry: Entry) -> NodeIdInUse:
        other = decode_record(NodeRecord, self._key, entry.value)
        return node_id_in_use(other)


def node_id_in_use(other: NodeRecord) -> NodeIdInUse:
    """The error that names the other process."""
    return NodeIdInUse(
        f"node id {other.node!r} is in use by another live process"
        f" (inbox {other.inbox}, boot {other.boot}): stop it, or choose another id"
    )
