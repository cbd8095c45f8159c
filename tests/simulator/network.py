"""The network: links between nodes, and the ways of clients to nodes.

A link is up or down at both of its ends, has a session number, and loses what is on
its way when it breaks; then it may be dialled again. A broken way (`cut`) says
nothing: only silence tells. A process that is killed resets its links, and whoever
dials it is refused; a machine that vanishes does neither.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from .scheduler import MS, Scheduler
from .settings import Settings
from .trace import Trace

if TYPE_CHECKING:
    from hotseat.runtime.frame import Request, Response
    from hotseat.runtime.replication.message import Message

    from .process import Process

__all__ = ["COORDINATOR", "Network"]

COORDINATOR = "cp"

LINK_TURN_MS = 60
"""How often a link that is down is dialled, and one that is silent looked at."""

SILENCE_MS = 1_500
"""A link without a sound is closed after so long."""


class Reachable(Protocol):
    """A client, as the network sees it."""

    name: str

    def arrived(self, node: str, frame: Response) -> None: ...

    def reset(self, node: str) -> None: ...


class _Link:
    """Between two nodes."""

    __slots__ = ("a", "b", "session", "silent_ms", "up")

    def __init__(self, a: str, b: str) -> None:
        self.a = a
        self.b = b
        self.up = False
        self.session = 0
        self.silent_ms = 0


class Network:
    """Carries messages, loses some, and knows which ways are cut."""

    def __init__(
        self, scheduler: Scheduler, trace: Trace, settings: Settings, nodes: list[str]
    ) -> None:
        self._scheduler = scheduler
        self._trace = trace
        self._rates = dict(settings.rates)
        self._draw = random.Random(f"network {settings.seed}")
        self._uniform = self._draw.random
        self._cut: dict[tuple[str, str], int] = {}
        self._slow_us: dict[str, int] = {}
        self._arrival_us: dict[tuple[str, str], int] = {}
        self._links: dict[tuple[str, str], _Link] = {}
        self._nodes = nodes
        self.processes: dict[str, Process] = {}
        """The newest process of each node, dead or alive."""
        self.clients: dict[str, Reachable] = {}
        for place, a in enumerate(nodes):
            for b in nodes[place + 1 :]:
                link = _Link(a, b)
                self._links[a, b] = self._links[b, a] = link
                self._turn_later(link)

    # --- ways

    def cut(self, ways: Iterable[tuple[str, str]]) -> None:
        """From now on nothing passes there."""
        for way in ways:
            self._cut[way] = self._cut.get(way, 0) + 1

    def mend(self, ways: Iterable[tuple[str, str]]) -> None:
        """Undo one `cut`, if that has not been done meanwhile."""
        for way in ways:
            if self._cut.get(way):
                self._cut[way] -= 1

    def passes(self, source: str, target: str) -> bool:
        """Whether the way from one to the other is whole."""
        return not self._cut.get((source, target))

    def slow(self, node: str, delay_us: int) -> None:
        """All that goes to and from a node takes longer by so much (0: as before)."""
        self._slow_us[node] = delay_us

    def heal(self) -> None:
        """No way is cut, and nothing is lost any more."""
        self._cut.clear()
        self._slow_us.clear()
        self._rates.clear()

    # --- links between nodes

    def is_up(self, a: str, b: str) -> bool:
        return self._links[a, b].up

    def send(self, source: str, target: str, message: Message) -> None:
        """Put a message on the link; it may be lost."""
        link = self._links.get((source, target))
        if link is None or not link.up or not self.passes(source, target):
            self._trace.counts["link_dropped"] += 1
            return
        rates = self._rates
        if rates:
            if self._strikes("message_lost"):
                return
            if self._strikes("message_doubled"):
                self._carry(source, target, link, message)
        self._carry(source, target, link, message)

    def _carry(self, source: str, target: str, link: _Link, message: Message) -> None:
        arrival = self._scheduler.now_us + self._delay_us(source, target)
        if self._rates:
            if self._strikes("message_delayed"):
                arrival += self._draw.randint(5 * MS, 400 * MS)
            if not self._strikes("message_reordered"):
                arrival = max(arrival, self._arrival_us.get((source, target), 0))
                self._arrival_us[source, target] = arrival
        else:
            arrival = max(arrival, self._arrival_us.get((source, target), 0))
            self._arrival_us[source, target] = arrival
        self._scheduler.at(arrival, self._arrive, source, target, link.session, message)

    def _arrive(self, source: str, target: str, session: int, message: Message) -> None:
        link = self._links[source, target]
        late = session != link.session or not link.up
        if late and not self._strikes("stale_frame"):
            return  # the link drops it; the protocol must bear it all the same
        self.processes[target].received(source, message)

    def _delay_us(self, source: str, target: str) -> int:
        draw = self._uniform()
        delay = 150 + int(350 * draw)
        if draw > 0.98:
            delay += int(draw * 400_000) % 9_000  # now and then something takes longer
        if self._slow_us:
            delay += self._slow_us.get(source, 0) + self._slow_us.get(target, 0)
        return delay

    def _strikes(self, name: str) -> bool:
        rate = self._rates.get(name)
        if rate is None or self._uniform() >= rate:
            return False
        self._trace.counts[name] += 1
        return True

    def break_link(self, a: str, b: str, *, dial: bool = True) -> None:
        """A reset that nobody meant; both ends are told."""
        link = self._links[a, b]
        if link.up:
            self._down(link)
            if dial:
                self._scheduler.after(self._draw.randint(1, 5) * MS, self._dial, link)

    def died(self, node: str, *, silently: bool) -> None:
        """A process is gone. Unless its machine went with it, its peers notice."""
        for other in self._nodes:
            if other == node:
                continue
            link = self._links[node, other]
            if link.up and not silently and self.passes(node, other):
                self._down(link)
                delay_us = self._draw.randint(300, 4_000)
                self._scheduler.after(delay_us, self._dial, link)
        if not silently:
            for client in self.clients.values():
                if self.passes(node, client.name):
                    delay_us = self._delay_us(node, client.name)
                    self._scheduler.after(delay_us, client.reset, node)

    def _down(self, link: _Link) -> None:
        link.up = False
        self._trace.note(f"link {link.a}-{link.b} down")
        for end, other in ((link.a, link.b), (link.b, link.a)):
            process = self.processes.get(end)
            if process is not None and process.alive:
                delay_us = self._draw.randint(50, 500)
                self._scheduler.after(delay_us, process.link_down, other)

    def _turn_later(self, link: _Link) -> None:
        delay_us = self._draw.randint(LINK_TURN_MS // 2, LINK_TURN_MS) * MS
        self._scheduler.after(delay_us, self._turn, link)

    def _turn(self, link: _Link) -> None:
        self._turn_later(link)
        if not link.up:
            self._dial(link)
            return
        a, b = self.processes.get(link.a), self.processes.get(link.b)
        lively = a is not None and b is not None and a.lively and b.lively
        if lively and self.passes(link.a, link.b) and self.passes(link.b, link.a):
            link.silent_ms = 0
            return
        link.silent_ms += LINK_TURN_MS * 3 // 4
        if link.silent_ms > SILENCE_MS:
            self._down(link)

    def _dial(self, link: _Link) -> None:
        if link.up:
            return
        a, b = self.processes.get(link.a), self.processes.get(link.b)
        if a is None or b is None:
            return
        if not self.passes(link.a, link.b) or not self.passes(link.b, link.a):
            return
        if a.lively and b.lively:
            link.up = True
            link.session += 1
            link.silent_ms = 0
            self._trace.note(f"link {link.a}-{link.b} up, session {link.session}")
            a.link_up(link.b)
            b.link_up(link.a)
            return
        for end, other in ((a, b), (b, a)):
            if end.lively and not other.alive and not other.vanished:
                end.refused(other.node)

    # --- clients

    def ask(self, client: str, node: str, request: Request) -> None:
        """From a client to a node."""
        if not self.passes(client, node) or self._strikes("client_lost"):
            return
        delay_us = self._delay_us(client, node)
        self._scheduler.after(delay_us, self._asked, client, node, request)

    def _asked(self, client: str, node: str, request: Request) -> None:
        process = self.processes.get(node)
        if process is None or not process.alive:
            if process is not None and not process.vanished:
                self.clients[client].reset(node)
            return
        process.asked(client, request)

    def answer(self, node: str, client: str, frame: Response) -> None:
        """From a node to a client; in order, as long as nothing is lost."""
        if not self.passes(node, client) or self._strikes("client_lost"):
            return
        arrival = self._scheduler.now_us + self._delay_us(node, client)
        arrival = max(arrival, self._arrival_us.get((node, client), 0))
        self._arrival_us[node, client] = arrival
        self._scheduler.at(arrival, self.clients[client].arrived, node, frame)
