"""A newer token in the place of one that has not long to go.

Whoever comes while their token is good can go on coming, however long a match takes:
a token has to outlast the longest absence, not the match.
"""

from __future__ import annotations

from typing import Any

from ..tokens import Grant
from .gateway import Gateway

__all__ = ["Renewal"]


class Renewal:
    """Of one seat or guest, as long as they are connected."""

    __slots__ = ("_gateway", "grant")

    def __init__(self, gateway: Gateway, grant: Grant) -> None:
        self._gateway = gateway
        self.grant = grant
        """By the newest token."""

    def fields(self) -> dict[str, Any]:
        """What to tell of a newer token: itself, and until when it is good; nothing, as
        long as the one before is good enough, or where another issuer gives them."""
        tokens, kind = self._gateway.tokens, self.grant.kind
        if not tokens.can_sign:
            return {}
        token = tokens.renewed(self.grant, self._gateway.options.token_ttl_s)
        if token is None:
            return {}
        self.grant = tokens.read(token)
        expires_s = int(self.grant.expires_s)
        return {f"{kind}Token": token, "tokenExpiresS": expires_s}
