"""The API behind the operators' pages: the cluster at a glance, and into a match.

It wants an operator's token with the scope `inspect`, in the header: here is told what
players hide from each other. Nothing is said before the token is looked at. Looking
into a match that goes on stands on record, as operators' commands do, before anything
of it is told: where no record can be written, nothing is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ...runtime.match_id import is_match_id
from ..operator.ask import operate
from ..operator.ask_cluster import find_cluster
from ..operator.rows import MATCH_STATES
from ..operator_error import OperatorError
from ..telemetry import get_logger
from ..tokens import Grant
from .api import Api, Refused
from .cluster_view import ClusterView
from .gateway import Gateway
from .inspected import FRAMES_MAX, ROWS_MAX
from .inspected_bodies import OpenedBody, ProblemBody
from .inspections import FILE_BYTES_MAX, Inspection, Inspections

__all__ = ["MATCHES_MAX", "OperatorApi", "routes"]

MATCHES_MAX: Final = 200
"""Of a page of matches."""

RECORD_S: Final = 8.0
"""For the record that somebody looks into a match."""

RECORD_AGAIN_S: Final = 3_600.0
"""After which somebody who still looks is recorded again."""

RECORDS_MAX: Final = 1_000
"""Who looks into what: so many are remembered, those recorded longest ago go first."""

WHY = "looks into it on the inspector's page"

SORTS: Final = ("shard", "idle", "records")

T = TypeVar("T")

Found: TypeAlias = Callable[[Request, Grant], Awaitable[Inspection]]

log = get_logger()


def routes(gateway: Gateway) -> list[Route]:
    """Where all of that is asked for."""
    api = OperatorApi(gateway)
    page = Api(gateway).page
    match, file = "/api/matches/{match}", "/api/inspections/{file}"
    shown = [
        Route("/api/cluster", page(api.cluster)),
        Route("/api/cluster/matches", page(api.matches)),
        Route("/api/inspect", page(api.upload), methods=["POST"]),
    ]
    for under, found in ((match, api.of_match), (file, api.of_file)):
        shown += [
            Route(f"{under}/timeline", page(api.timeline(found))),
            Route(f"{under}/graph", page(api.graph(found))),
            Route(f"{under}/frames", page(api.frames(found))),
        ]
    return shown


class OperatorApi:
    """The pages of one gateway; each takes a request and gives its answer."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._place = gateway.place
        self._view = None if gateway.place is None else ClusterView(gateway.place)
        self._inspections = Inspections(gateway.games)
        self._recorded: OrderedDict[tuple[str, str], float] = OrderedDict()
        self._recording = anyio.Lock()

    async def cluster(self, request: Request) -> Response:
        """GET /api/cluster"""
        self._granted(request)
        look = await _answered(self._cluster().look())
        headers = {"cache-control": "no-store", "etag": look.tag}
        if look.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(look.json, headers=headers, media_type="application/json")

    async def matches(self, request: Request) -> Response:
        """GET /api/cluster/matches"""
        self._granted(request)
        query = _Query(request)
        asked: dict[str, Any] = {
            "game": query.text("game"),
            "shard": query.number("shard", None),
            "states": query.states(),
            "to_act": query.text("seat"),
            "idle_ms": query.number("idleMs", None),
        }
        found = await _answered(
            self._cluster().find(
                min(query.number("limit", 50), MATCHES_MAX),
                query.sort(),
                query.after(),
                **{name: value for name, value in asked.items() if value is not None},
            )
        )
        return _json(found)

    async def upload(self, request: Request) -> Response:
        """POST /api/inspect"""
        self._granted(request)
        data = await _body(request)
        found = await _answered(self._inspections.of_file(data))
        timeline = await _answered(found.timeline(0, ROWS_MAX))
        return _json(OpenedBody(found.name, timeline), 201)

    def timeline(self, found: Found) -> Callable[[Request], Awaitable[Response]]:
        """GET .../timeline"""

        async def answer(request: Request) -> Response:
            shown, query = await self._shown(request, found), _Query(request)
            first, limit = query.number("from", 0), query.number("limit", ROWS_MAX)
            return _json(await _answered(shown.timeline(first, max(1, limit))))

        return answer

    def graph(self, found: Found) -> Callable[[Request], Awaitable[Response]]:
        """GET .../graph"""

        async def answer(request: Request) -> Response:
            shown = await self._shown(request, found)
            return _json(await _answered(shown.graph()))

        return answer

    def frames(self, found: Found) -> Callable[[Request], Awaitable[Response]]:
        """GET .../frames"""

        async def answer(request: Request) -> Response:
            shown, query = await self._shown(request, found), _Query(request)
            first, count = query.number("from", 0), query.number("count", 1)
            count = max(1, min(count, FRAMES_MAX))
            seat = request.query_params.get("seat")
            made = await _answered(shown.frames(first, count, seat))
            if not made:
                raise Refused("unknown_revision", f"There is no revision {first}.")
            return _frames_json(made)

        return answer

    async def of_match(self, request: Request, grant: Grant) -> Inspection:
        """The match in the path, which is on record as looked into."""
        match = str(request.path_params["match"])
        if not is_match_id(match):
            raise Refused("unknown_match", "That is no id of a match.")
        place = self._folder()
        shown = await _answered(self._inspections.of_match(place, match))
        if shown.running:
            await _answered(self._record(place, match, grant))
        return shown

    async def of_file(self, request: Request, grant: Grant) -> Inspection:
        """The file in the path."""
        name = str(request.path_params["file"])
        try:
            return self._inspections.find_file(name)
        except OperatorError as error:
            raise Refused(error.code, error.message) from error

    async def _shown(self, request: Request, found: Found) -> Inspection:
        return await found(request, self._granted(request))

    async def _record(self, place: Path, match: str, grant: Grant) -> None:
        """Write down that the token's holder looks into the match.

        Raises:
            OperatorError: It cannot be written.
        """
        key = (grant.id or grant.subject, match)
        if self._is_recorded(key):
            return
        async with self._recording:  # what a page asks at once is one looking
            if self._is_recorded(key):
                return
            who = f"{grant.subject or 'operator'} (token {grant.id})"
            done = await operate(
                await find_cluster(place),
                "match.inspect",
                match,
                match=match,
                who=who,
                why=WHY,
                timeout_s=RECORD_S,
            )
            log.info("match_inspected", match=match, who=who, operation=done.id)
            self._recorded[key] = anyio.current_time()
            self._recorded.move_to_end(key)
            while len(self._recorded) > RECORDS_MAX:
                self._recorded.popitem(last=False)

    def _is_recorded(self, key: tuple[str, str]) -> bool:
        then_s = self._recorded.get(key, float("-inf"))
        return anyio.current_time() < then_s + RECORD_AGAIN_S

    def _granted(self, request: Request) -> Grant:
        """
        Raises:
            TokenError, TooManyFailures, Refused: The request may not be served.
        """
        gateway = self._gateway
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip() if kind.lower() == "bearer" else ""
        address = "" if request.client is None else request.client.host
        grant = gateway.admit(token, address)
        grant.needs("inspect")
        if not gateway.requests.take(grant.id, anyio.current_time()):
            gateway.counts.busy += 1
            raise Refused("busy", "Too many requests at once. Wait a little.")
        return grant

    def _folder(self) -> Path:
        if self._place is None:
            raise Refused("no_cluster", "This gateway knows no cluster.")
        return self._place

    def _cluster(self) -> ClusterView:
        if self._view is None:
            raise Refused("no_cluster", "This gateway knows no cluster.")
        return self._view


class _Query:
    """The parts of a query, each as what it must be.

    Each method raises:
        Refused: malformed_request.
    """

    def __init__(self, request: Request) -> None:
        self._asked = request.query_params

    def text(self, name: str) -> str | None:
        found = self._asked.get(name) or None
        if found is not None and len(found) > 128:
            raise _malformed(name)
        return found

    def number(self, name: str, default: Any) -> Any:
        """A whole number from 0; the default, where there is none."""
        text = self._asked.get(name, "")
        if not text:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 15):
            raise _malformed(name)
        return int(text)

    def states(self) -> list[str] | None:
        found = [state for state in self._asked.getlist("state") if state]
        if not set(found) <= set(MATCH_STATES):
            raise _malformed("state")
        return found or None

    def sort(self) -> str:
        found = self._asked.get("sort") or SORTS[0]
        if found not in SORTS:
            raise _malformed("sort")
        return found

    def after(self) -> tuple[int, str] | None:
        """SHARD/MATCH, the last of the page before."""
        found = self._asked.get("after", "")
        if not found:
            return None
        shard, _, match = found.partition("/")
        known = shard.isascii() and shard.isdigit() and len(shard) <= 15
        if not (known and is_match_id(match)):
            raise _malformed("after")
        return int(shard), match


async def _answered(answer: Awaitable[T]) -> T:
    """
    Raises:
        Refused: What the cluster says no with.
    """
    try:
        return await answer
    except OperatorError as error:
        log.info("operator_refused", code=error.code, error=error.message)
        raise Refused(error.code, f"{error.message.rstrip('.')}.") from error


async def _body(request: Request) -> bytes:
    """
    Raises:
        Refused: too_large.
    """
    data = bytearray()
    async with aclosing(request.stream()) as chunks:
        async for chunk in chunks:
            data += chunk
            if len(data) > FILE_BYTES_MAX:
                raise Refused(
                    "too_large",
                    f"Files of up to {FILE_BYTES_MAX:,} bytes are looked at here; "
                    "hotseat inspect opens larger ones.",
                )
    return bytes(data)


def _malformed(name: str) -> Refused:
    return Refused("malformed_request", f"`{name}` is not understood.")


def _frames_json(made: list[bytes | ProblemBody]) -> Response:
    """A `FramesBody`, whose frames are JSON already."""
    frames = [each for each in made if isinstance(each, bytes)]
    last = made[-1]
    problem = msgspec.json.encode(last if isinstance(last, ProblemBody) else None)
    body = b'{"frames":[' + b",".join(frames) + b'],"problem":' + problem + b"}"
    return Response(body, headers=_PRIVATE, media_type="application/json")


def _json(body: Any, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(body),
        status,
        headers=_PRIVATE,
        media_type="application/json",
    )


_PRIVATE: Mapping[str, str] = {"cache-control": "no-store"}
