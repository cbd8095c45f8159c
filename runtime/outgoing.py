"""One outgoing link as its endpoint keeps it: an address, a queue, and a channel."""

from __future__ import annotations

import anyio

from .link import PeerAddress
from .link_options import LinkOptions
from .outbox import Outbox
from .wire import Channel

__all__ = ["Outgoing"]


class Outgoing:
    """One outgoing link: its address, its queue and, when up, its channel."""

    def __init__(self, address: PeerAddress, options: LinkOptions) -> None:
        self.address = address
        self.wanted = False  # by `connect`; else only as long as the peer is up
        self.outbox = Outbox(
            frames_max=options.queue_frames_max, bytes_max=options.queue_bytes_max
        )
        self.number = 0
        self.channel: Channel | None = None  # set while hello has been sent
        self.blocked = anyio.Event()  # the channel has no room
        self.torn_pipe: int | None = None  # the peer's pipe when the channel was lost
        self.life = anyio.CancelScope()
        self.connection = anyio.CancelScope()

    def restart(self, address: PeerAddress) -> None:
        """Drop the connection and what waits; the next one goes to `address`."""
        self.address = address
        self.channel = None
        self.outbox.clear()
        self.connection.cancel()
