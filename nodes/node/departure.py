"""A node that is told to stop hands over what it owns first, and asks to be let go.

Its key in the coordinator says that this very process leaves: so it is given nothing
more, and hands over its shards (`runtime/replication/drainer.py`). Players notice as
little as of any move. Then the owners of the shards that it follows let it out of their
in-sync sets, so that no commit waits for it. All this within a limit; what is left then
is taken over as ever.

Where nobody is there to take anything, as when a whole cluster stops, nothing is waited
for.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

import anyio

from ...runtime.control_plane import DrainRecord, Keys, decode_record, encode_record
from ...runtime.coordinator import ABSENT, Coordinator
from ...runtime.errors import CoordinatorError
from ...runtime.settle import read_key, settle_write
from ..telemetry import get_logger
from .replicator import Replicator

if TYPE_CHECKING:
    from ...runtime.replication.placing import Placing

__all__ = ["Departure"]

SAY_S = 1.0
"""For the coordinator to take the key: if it does not, it takes no moves either."""

LET_GO_S = 0.5
"""For the owners to let it out: a compare-and-swap or two."""

LOOK_S = 0.01

log = get_logger()


class Departure:
    """Of one process. `go` is called once."""

    def __init__(
        self,
        coordinator: Coordinator,
        keys: Keys,
        node: str,
        replicator: Replicator,
        limit_s: float,
    ) -> None:
        """`limit_s`: how long it may take to hand over; 0: nothing is handed over."""
        self._coordinator = coordinator
        self._keys = keys
        self._node = node
        self._replicator = replicator
        self._limit_s = limit_s

    async def go(self, hurried: anyio.Event) -> None:
        """Hand over, within the limit, or until `hurried`."""
        runner = self._replicator.runner
        if runner is None or not self._limit_s:
            return
        placing = runner.core.placing
        async with anyio.create_task_group() as tasks:

            async def hurry() -> None:
                await hurried.wait()
                tasks.cancel_scope.cancel()

            tasks.start_soon(hurry)
            await self._hand_over(placing)
            self._replicator.let_go()
            with anyio.move_on_after(LET_GO_S):
                await self._until(lambda: self._is_let_go(placing))
            tasks.cancel_scope.cancel()

    async def _hand_over(self, placing: Placing) -> None:
        owned = len(placing.owned())
        if not owned or self._is_alone(placing):
            return
        log.info("node_draining", shards=owned, limit_s=self._limit_s)
        began_s = anyio.current_time()
        with anyio.move_on_after(self._limit_s):
            said = False
            with anyio.move_on_after(SAY_S):
                said = await self._say(placing)
            if said:
                await self._until(placing.is_done)
        log.info(
            "node_drained",
            shards=owned,
            left=placing.owned(),
            took_s=round(anyio.current_time() - began_s, 3),
        )

    async def _say(self, placing: Placing) -> bool:
        """Write the key, unless an operator has: his stays when this process ends."""
        key, numbers = self._keys.drain(self._node), count(1)

        def encode() -> bytes:
            nonce = f"{placing.boot}.{next(numbers)}"
            return encode_record(
                DrainRecord(node=self._node, boot=placing.boot, nonce=nonce)
            )

        try:
            while True:
                entry = await read_key(self._coordinator, key)
                if entry is not None:
                    said = decode_record(DrainRecord, key, entry.value)
                    if said.boot in ("", placing.boot):
                        return True
                expected = ABSENT if entry is None else entry.revision
                written = await settle_write(self._coordinator, key, expected, encode)
                if written.landed:
                    return True
        except CoordinatorError as error:
            log.warning("drain_not_said", error=str(error))
            return False

    def _is_alone(self, placing: Placing) -> bool:
        """There is nobody to take anything; what is on its way may yet arrive."""
        return not placing.fleet.up - {self._node}

    def _is_let_go(self, placing: Placing) -> bool:
        return placing.holding()[1] == 0 or self._is_alone(placing)

    async def _until(self, true: Callable[[], bool]) -> None:
        while not true():  # noqa: ASYNC110  # it depends on records, which have no event
            await anyio.sleep(LOOK_S)
