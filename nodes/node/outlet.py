"""The way out of a node: answers and views, to a peer or through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import msgspec

from ...runtime.codec import encode_frame
from ...runtime.errors import CodecError, LinkError
from ...runtime.frame import Response, Returned
from ...runtime.link import Endpoint
from ...runtime.route import Route
from ...runtime.traces import Traces
from ...runtime.translate import refused
from ..telemetry import get_logger

__all__ = ["NodeOutlet", "OutletStatistics"]

log = get_logger()


@dataclass(frozen=True, slots=True)
class OutletStatistics:
    """Frames since the start. `dropped`: the link was down or full."""

    GAUGES: ClassVar[frozenset[str]] = frozenset()

    delivered: int
    dropped: int
    unsendable: int


class NodeOutlet:
    """Sends over the endpoint; drops and counts what cannot go.

    A dropped answer is asked for again with the same key; a dropped view is made
    good by the next one or by a resync: nothing here is the only copy.
    """

    def __init__(self, endpoint: Endpoint, traces: Traces | None = None) -> None:
        self._endpoint = endpoint
        self._traces = traces
        self._delivered = self._dropped = self._unsendable = 0

    def deliver(self, route: Route, frame: Response) -> None:
        """Send, or drop and count. Never raises."""
        if self._traces is not None:
            self._traces.note_answered(route, frame)
        try:
            self._send(route, frame)
        except CodecError as error:
            self._unsendable += 1
            log.error("answer_unsendable", code=error.code, error=str(error))
            if frame.request:
                self._try(route, refused(frame.request, error.code, str(error)))
        except LinkError as error:
            self._drop(route, error)

    def statistics(self) -> OutletStatistics:
        return OutletStatistics(self._delivered, self._dropped, self._unsendable)

    def _try(self, route: Route, frame: Response) -> None:
        try:
            self._send(route, frame)
        except LinkError as error:
            self._drop(route, error)

    def _send(self, route: Route, frame: Response) -> None:
        if route.client is None:
            self._endpoint.send(route.peer, frame)
        else:
            raw = msgspec.Raw(encode_frame(frame))
            self._endpoint.send(route.peer, Returned(route.client, raw))
        self._delivered += 1

    def _drop(self, route: Route, error: LinkError) -> None:
        self._dropped += 1
        log.debug("answer_dropped", peer=route.peer, code=error.code)
