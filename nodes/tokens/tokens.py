"""Mints tokens and reads them. PyJWT knows the format; what is believed is said here.

Rules:
- The key is found by its id, and the algorithm is the key's.
- A token names its issuer's cluster (`aud`): one cluster's tokens are not another's.
- Expiry is demanded; clocks may differ by `leeway_s`.
- Whatever is wrong is one `TokenError`; its text never holds a part of the token.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import jwt

from .grant import SCOPES, Grant, Kind
from .key_set import KeySet
from .token_error import TokenError

if TYPE_CHECKING:
    from jwt.types import Options

__all__ = ["LEEWAY_S", "TOKEN_CHARACTERS_MAX", "TokenStatistics", "Tokens"]

ISSUER = "hotseat"

LEEWAY_S = 30.0
"""By so much clocks of issuer and gateway may differ."""

TOKEN_CHARACTERS_MAX = 4096
"""Longer ones are not looked at."""

_DEMANDED: Options = {
    "require": ["exp", "aud", "iss"],
    # Times are compared here, where the clock is an argument.
    "verify_iat": False,
    "verify_exp": False,
    "verify_nbf": False,
}


@dataclass(frozen=True, slots=True)
class TokenStatistics:
    """Counts since the start."""

    GAUGES: ClassVar[frozenset[str]] = frozenset()

    minted: int
    accepted: int
    refused: int


class Tokens:
    """The tokens of one cluster."""

    def __init__(
        self,
        cluster: str,
        keys: Callable[[], KeySet],
        *,
        now_s: Callable[[], float] = time.time,
        leeway_s: float = LEEWAY_S,
    ) -> None:
        """`keys` gives the keys as they are now."""
        self._audience = f"{ISSUER}:{cluster}"
        self._keys = keys
        self._now_s = now_s
        self._leeway_s = leeway_s
        self._minted = self._accepted = self._refused = 0

    def seat(self, match: str, epoch: int, seat: str, ttl_s: float) -> str:
        """A token to play at a seat."""
        return self.mint("seat", ttl_s, match=match, epoch=epoch, seat=seat)

    def spectator(self, match: str, epoch: int, ttl_s: float) -> str:
        """A token to watch a match."""
        return self.mint("spectator", ttl_s, match=match, epoch=epoch)

    def operator(self, subject: str, ttl_s: float) -> str:
        """A token to open matches, invite to them, and look into the cluster."""
        return self.mint("operator", ttl_s, subject=subject)

    def invite(self, lobby: str, epoch: int, ttl_s: float) -> str:
        """A token with which anybody may come into a lobby."""
        return self.mint("invite", ttl_s, match=lobby, epoch=epoch)

    def guest(self, lobby: str, epoch: int, user: str, name: str, ttl_s: float) -> str:
        """A token for one person in a lobby."""
        return self.mint(
            "guest", ttl_s, match=lobby, epoch=epoch, subject=user, name=name
        )

    def session(self, seat: Grant, session: int, ttl_s: float) -> str:
        """A token to come back to one session of the seat that `seat` grants; no longer
        than that, if it forbids to be renewed."""
        if not seat.renew:
            ttl_s = min(ttl_s, seat.expires_s - self._now_s())
        until_s = int(seat.expires_s)
        return self._like(seat, "session", ttl_s, session=session, until_s=until_s)

    def renewed(self, grant: Grant, ttl_s: float) -> str | None:
        """A newer token for the same, where less than half of `ttl_s` is left of what
        is granted; None: it lasts, or forbids to be renewed."""
        left_s = grant.expires_s - self._now_s()
        if not grant.renew or left_s >= ttl_s / 2:
            return None
        return self._like(grant, grant.kind, ttl_s)

    def mint(self, kind: Kind, ttl_s: float, **fields: Any) -> str:
        """Sign a token of that kind, with all that the kind may do if not said.

        Raises:
            ValueError: The fields do not make a grant of that kind.
            KeyFileError: No key can sign.
        """
        now_s = self._now_s()
        fields.setdefault("scopes", SCOPES[kind])
        grant = Grant(kind, expires_s=now_s + ttl_s, id=secrets.token_hex(8), **fields)
        registered = {
            "iss": ISSUER,
            "aud": self._audience,
            "iat": int(now_s),
            "nbf": int(now_s),
            "exp": int(grant.expires_s),
            "jti": grant.id,
        }
        registered |= {"sub": grant.subject} if grant.subject else {}
        key = self._keys().signing
        self._minted += 1
        return jwt.encode(
            {**registered, **grant.claims()},
            key.to_sign(),
            algorithm=key.algorithm,
            headers={"kid": key.id},
        )

    def read(self, token: str | None) -> Grant:
        """What a token grants.

        Raises:
            TokenError: It is not accepted; the code says why.
            KeyFileError: The keys cannot be read.
        """
        try:
            grant = self._read(token)
        except TokenError:
            self._refused += 1
            raise
        self._accepted += 1
        return grant

    @property
    def can_sign(self) -> bool:
        """Whether a key here signs; else all are of an issuer elsewhere."""
        return any(key.signs for key in self._keys().keys)

    def left_s(self, grant: Grant) -> float:
        """How long what it grants may still be used."""
        return max(0.0, grant.expires_s + self._leeway_s - self._now_s())

    def statistics(self) -> TokenStatistics:
        return TokenStatistics(self._minted, self._accepted, self._refused)

    def _like(self, grant: Grant, kind: Kind, ttl_s: float, **more: Any) -> str:
        """A token for the same person at the same place, which allows the same."""
        return self.mint(
            kind,
            ttl_s,
            scopes=grant.scopes,
            match=grant.match,
            epoch=grant.epoch,
            seat=grant.seat,
            subject=grant.subject,
            name=grant.name,
            renew=grant.renew,
            **more,
        )

    def _read(self, token: str | None) -> Grant:
        if not token:
            raise TokenError("token_missing")
        if len(token) > TOKEN_CHARACTERS_MAX:
            raise TokenError("token_malformed")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            raise TokenError("token_malformed") from None
        key = self._keys().find(header.get("kid"))
        if key is None:
            raise TokenError("token_unknown_key")
        try:
            claims = jwt.decode(
                token,
                key.to_check(),
                algorithms=[key.algorithm],
                audience=self._audience,
                issuer=ISSUER,
                options=_DEMANDED,
            )
        except jwt.PyJWTError:
            raise TokenError("token_invalid") from None
        grant = Grant.of_claims(claims)
        now_s = self._now_s()
        if now_s >= grant.expires_s + self._leeway_s:
            raise TokenError("token_expired")
        try:
            begins_s = float(claims.get("nbf", 0))
        except (TypeError, ValueError):
            raise TokenError("token_invalid") from None
        if now_s < begins_s - self._leeway_s:
            raise TokenError("token_not_yet")
        return grant
