"""The client library: create matches, sit down, act, watch.

    async with connect(Path(".hotseat")) as client:
        match = await client.create("tic-tac-toe", players=["0", "1"])
        seat = await match.take("0")
        outcome = await seat.dispatch("place", {"cell": 4})
        async for view in seat.views(legal=True):
            ...

It works on trio and on asyncio. A node's no is a returned `Refusal`; what is raised
is in `outcome`. Links that break, nodes that restart and owners that change
are made good with the same key until the operation's deadline.
"""

from __future__ import annotations

from .connect import ask_doors as ask_doors
from .connect import connect as connect
from .match import RemoteMatch as RemoteMatch
from .match import Seat as Seat
from .match import Spectator as Spectator
from .match import UpdateStream as UpdateStream
from .match import ViewStream as ViewStream
from .options import ClientOptions as ClientOptions
from .outcome import Accepted as Accepted
from .outcome import ClientError as ClientError
from .outcome import ClusterUnreachable as ClusterUnreachable
from .outcome import NoAnswer as NoAnswer
from .outcome import OutcomeUnknown as OutcomeUnknown
from .outcome import Refusal as Refusal
from .outcome import WatchEnded as WatchEnded
from .shell import Client as Client
from .shell import open_client as open_client
from .view import KeptUpdate as KeptUpdate
from .view import UndoAsked as UndoAsked
from .view import View as View
