"""Links inside one process, with faults: the twin of `hotseat.nodes.nng`.

The endpoint is the real one; only the wire is memory. Every pipe keeps order and
holds a few messages; what a fault takes away is exactly what its method says, so a
test can name the moment at which things go wrong.

Faults are set between two processes by name and work both ways.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import count

import anyio

from ..endpoint import WireEndpoint
from ..errors import LinkRefused
from ..hello import Credential
from ..link import Identity
from ..link_options import LinkOptions
from ..wire import Channel, Post, current_post

__all__ = ["MemoryEndpoint", "MemoryNetwork", "MemoryWire"]

_SCHEME = "memory://"


class MemoryNetwork:
    """Where memory wires find each other. One per test, in one event loop."""

    def __init__(self, *, pipe_messages_max: int = 8) -> None:
        """`pipe_messages_max`: what one pipe holds before its sender must wait."""
        self.pipe_messages_max = pipe_messages_max
        self._wires: dict[str, MemoryWire] = {}
        self._pipes: dict[int, _Pipe] = {}
        self._numbers = count(1)
        self._cuts: set[frozenset[str]] = set()
        self._delays_s: dict[frozenset[str], float] = {}

    def drop(self, one: str, other: str) -> None:
        """Take down the pipes between two processes, with what they hold."""
        self.drop_one_way(one, other)
        self.drop_one_way(other, one)

    def drop_one_way(self, source: str, target: str) -> None:
        """Take down only the pipes that `source` dialled to `target`."""
        for pipe in self._between(source, target):
            if pipe.source.process == source:
                pipe.go_down()

    def cut(self, one: str, other: str) -> None:
        """Let nothing through between two processes, and tell nobody."""
        self._cuts.add(frozenset((one, other)))

    def heal(self, one: str, other: str) -> None:
        """End a cut or a delay. What a cut held back goes on."""
        pair = frozenset((one, other))
        self._cuts.discard(pair)
        self._delays_s.pop(pair, None)
        for pipe in list(self._pipes.values()):
            self.attach(pipe)
        for pipe in self._between(one, other):
            pipe.hurry()

    def delay(self, one: str, other: str, delay_s: float) -> None:
        """Let each message between two processes take so long, in order."""
        self._delays_s[frozenset((one, other))] = delay_s

    # For the wires.

    def is_cut(self, one: str, other: str) -> bool:
        return frozenset((one, other)) in self._cuts

    def delay_s(self, one: str, other: str) -> float:
        return self._delays_s.get(frozenset((one, other)), 0.0)

    def register(self, wire: MemoryWire) -> None:
        if wire.inbox in self._wires:
            raise LinkRefused(f"{wire.inbox} is in use: another process listens there")
        self._wires[wire.inbox] = wire
        for pipe in list(self._pipes.values()):
            self.attach(pipe)

    def unregister(self, wire: MemoryWire) -> None:
        if self._wires.get(wire.inbox) is wire:
            del self._wires[wire.inbox]
        for pipe in list(self._pipes.values()):
            if wire in (pipe.source, pipe.target):
                pipe.go_down()

    def new_pipe(self, pipe: _Pipe) -> int:
        number = next(self._numbers)
        self._pipes[number] = pipe
        return number

    def remove(self, pipe: _Pipe) -> None:
        self._pipes.pop(pipe.number, None)

    def attach(self, pipe: _Pipe) -> None:
        """Bring a pipe up if its inbox is there and can be reached."""
        wire = self._wires.get(pipe.inbox)
        if wire is not None and not self.is_cut(pipe.source.process, wire.process):
            pipe.come_up(wire)

    def _between(self, one: str, other: str) -> list[_Pipe]:
        pair = {one, other}
        return [
            pipe
            for pipe in self._pipes.values()
            if pipe.target is not None
            and {pipe.source.process, pipe.target.process} == pair
        ]


class MemoryEndpoint(WireEndpoint):
    """An endpoint in a `MemoryNetwork`; its inbox is `memory://<process>`."""

    def __init__(
        self,
        network: MemoryNetwork,
        identity: Identity,
        credential: Credential,
        options: LinkOptions | None = None,
        *,
        inbox: str | None = None,
    ) -> None:
        wire = MemoryWire(network, identity.process, inbox)
        jitter = random.Random(identity.process).random
        super().__init__(wire, identity, credential, options, jitter=jitter)


class MemoryWire:
    """Implements `hotseat.runtime.wire.Wire` in memory."""

    def __init__(
        self, network: MemoryNetwork, process: str, inbox: str | None = None
    ) -> None:
        self.process = process
        self.inbox = inbox or _SCHEME + process
        self._network = network
        self._pipes: dict[int, _Pipe] = {}  # in the order in which they are served
        self._arrival = anyio.Event()
        self._opened: Callable[[int], None] = lambda pipe: None
        self._closed: Callable[[int], None] = lambda pipe: None
        self._done = False

    def listen(
        self, opened: Callable[[int], None], closed: Callable[[int], None]
    ) -> str:
        """
        Raises:
            LinkRefused: Another wire listens there.
        """
        self._opened, self._closed = opened, closed
        self._network.register(self)
        return self.inbox

    def receive(self) -> tuple[int, bytes] | None:
        now_s = anyio.current_time()
        for number, pipe in self._pipes.items():
            if pipe.ready_s() <= now_s:
                # Each pipe in turn.
                self._pipes[number] = self._pipes.pop(number)
                return number, pipe.take()
        return None

    async def wait(self) -> None:
        self._arrival = anyio.Event()
        ready_s = min((pipe.ready_s() for pipe in self._pipes.values()), default=None)
        with anyio.CancelScope() as scope:
            if ready_s is not None:
                scope.deadline = ready_s
            await self._arrival.wait()

    def close_pipe(self, pipe: int) -> None:
        if pipe in self._pipes:
            self._pipes[pipe].go_down()

    def dial(
        self, inbox: str, up: Callable[[], None], down: Callable[[], None]
    ) -> Channel:
        """
        Raises:
            LinkRefused: `inbox` is no address in memory.
        """
        if not inbox.startswith(_SCHEME):
            raise LinkRefused(f"{inbox!r} is no address of a memory network")
        return _Pipe(self._network, self, inbox, up, down)

    def close(self) -> None:
        self._done = True
        self._network.unregister(self)

    # For the pipes that lead here.

    def pipe_up(self, pipe: _Pipe) -> None:
        self._pipes[pipe.number] = pipe
        pipe.post(partial(self._tell, self._opened, pipe.number))

    def pipe_down(self, pipe: _Pipe) -> None:
        del self._pipes[pipe.number]
        pipe.post(partial(self._tell, self._closed, pipe.number))

    def arrival(self) -> None:
        self._arrival.set()

    def _tell(self, callback: Callable[[int], None], pipe: int) -> None:
        if not self._done:
            callback(pipe)


class _Pipe:
    """A channel at its source; the queue that its target reads."""

    def __init__(
        self,
        network: MemoryNetwork,
        source: MemoryWire,
        inbox: str,
        up: Callable[[], None],
        down: Callable[[], None],
    ) -> None:
        self.source = source
        self.inbox = inbox
        self.target: MemoryWire | None = None
        self._network = network
        self._up, self._down = up, down
        self._held: deque[tuple[float, bytes]] = deque()  # ready at, message
        self._room = anyio.Event()
        self._over = False
        self.post: Post = current_post()
        self.number = network.new_pipe(self)
        network.attach(self)

    def send(self, message: bytes) -> bool:
        full = len(self._held) >= self._network.pipe_messages_max
        if self.target is None or self._over or full:
            return False
        delay_s = self._network.delay_s(self.source.process, self.target.process)
        self._held.append((anyio.current_time() + delay_s, message))
        self.target.arrival()
        return True

    async def wait(self) -> None:
        while self._over or len(self._held) >= self._network.pipe_messages_max:
            self._room = anyio.Event()
            await self._room.wait()

    def close(self) -> None:
        self._down = lambda: None  # who closes it knows
        self.go_down()

    def ready_s(self) -> float:
        """When the oldest message may be taken; never, if none or cut."""
        assert self.target is not None
        if not self._held or self._network.is_cut(
            self.source.process, self.target.process
        ):
            return float("inf")
        return self._held[0][0]

    def take(self) -> bytes:
        message = self._held.popleft()[1]
        self._room.set()
        return message

    def hurry(self) -> None:
        """A fault has ended: what is held may be taken now."""
        self._held = deque((0.0, message) for _, message in self._held)
        if self.target is not None:
            self.target.arrival()

    def come_up(self, target: MemoryWire) -> None:
        if self.target is None and not self._over:
            self.target = target
            target.pipe_up(self)
            self.post(self._up)

    def go_down(self) -> None:
        if self._over:
            return
        self._over = True
        self._held.clear()
        self._network.remove(self)
        if self.target is not None:
            self.target.pipe_down(self)
        self.post(lambda: self._down())
