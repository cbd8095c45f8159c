"""The HTTP API of profiles: what a match leaves to those of its players."""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..client import Refusal
from .api import Api, Refused, json_answer
from .gateway import Gateway

__all__ = ["routes"]


def routes(gateway: Gateway) -> list[Route]:
    """Where all of that is asked for."""
    api = ProfilesApi(gateway)
    return [Route("/api/matches/{match}/profiles", api.page(api.profiles))]


class ProfilesApi(Api):
    """The pages of one gateway; each takes a request and gives its answer."""

    async def profiles(self, request: Request) -> Response:
        """GET /api/matches/{match}/profiles

        An operator has all of them, a seat its own; they are nobody else's business.
        """
        match = self.named(request)
        grant = self.granted(request, "watch", match)
        if grant.kind != "operator" and not grant.seat:
            raise Refused("forbidden", "A spectator has no profile.")
        remote = self.gateway.client.join(match, self.epoch(request, grant))
        kept = await self.gateway.replays.profiles(remote)
        if isinstance(kept, Refusal):
            raise Refused(kept.code, kept.message)
        if grant.seat:
            own = [profile for profile in kept.profiles if profile.seat == grant.seat]
            kept = msgspec.structs.replace(kept, profiles=own)
        return json_answer(kept)
