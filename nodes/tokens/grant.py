"""What a token grants: a value, and its claims.

The acting seat comes from here alone, never from what a message says.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from .token_error import TokenError

__all__ = ["SCOPES", "Grant", "Kind"]

Kind = Literal["seat", "spectator", "operator", "session", "invite", "guest"]
"""`session` resumes one session of a seat: a gateway gives it to a page. `invite` lets
anybody into a lobby; `guest` is one person there, and `match` is the lobby's room."""

SCOPES: Mapping[Kind, frozenset[str]] = {
    "seat": frozenset({"play", "watch"}),
    "spectator": frozenset({"watch"}),
    "operator": frozenset({"create", "inspect", "invite", "watch"}),
    "session": frozenset({"play", "watch"}),
    "invite": frozenset({"enter"}),
    "guest": frozenset({"lobby"}),
}
"""What each kind may do at most. A token may allow less."""

NAME_CHARACTERS_MAX = 128
EPOCH_MAX = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Grant:
    """What the holder may do, and until when.

    An operator's grant is of no match. Times are seconds since 1970.
    """

    kind: Kind
    scopes: frozenset[str]
    expires_s: float
    match: str = ""
    epoch: int = 0
    """In which the match was created; it goes with every question about it."""
    seat: str = ""
    session: int = 0
    subject: str = ""
    """Who it was given to, in the issuer's words. A guest's is the user's id."""
    id: str = ""
    """Names the token in logs."""
    issued_s: float = 0.0
    name: str = ""
    """What a guest is called; `clean_name` makes it fit to be shown."""
    renew: bool = True
    """Whether what lasts longer may be given for it while it is good."""
    until_s: int = 0
    """A session's: when the token of its seat runs out; 0: that is not known."""

    def __post_init__(self) -> None:
        """Raises ValueError: the parts do not make one of the kinds."""
        if self.kind not in get_args(Kind):
            raise ValueError(f"{self.kind!r} is no kind of token")
        if not self.scopes <= SCOPES[self.kind]:
            raise ValueError(f"a {self.kind} token cannot allow {sorted(self.scopes)}")
        seated = self.kind in ("seat", "session")
        if bool(self.match) != (self.kind != "operator"):
            raise ValueError("all but an operator's token name a match")
        if bool(self.seat) != seated or (self.session > 0) != (self.kind == "session"):
            raise ValueError(f"a {self.kind} token names its seat and session alone")
        if self.kind == "guest" and not self.subject:
            raise ValueError("a guest token names its user")
        if self.name and self.kind != "guest":
            raise ValueError("a guest alone has a name")
        if self.until_s and self.kind != "session":
            raise ValueError("a session's token alone says when its seat's runs out")
        if not math.isfinite(self.expires_s):
            raise ValueError("a token runs out some day")
        if not 0 <= self.epoch <= EPOCH_MAX:
            raise ValueError("an epoch is a whole number from 0")
        for text in (self.match, self.seat, self.subject, self.id, self.name):
            if len(text) > NAME_CHARACTERS_MAX or re.search(r"[\x00-\x1f]", text):
                raise ValueError("a name is too long, or no text")

    def needs(self, scope: str, match: str | None = None) -> None:
        """Make sure that it allows `scope`, for `match`.

        Raises:
            TokenError: token_wrong_scope, token_wrong_match.
        """
        if match is not None and self.kind != "operator" and self.match != match:
            raise TokenError("token_wrong_match")
        if scope not in self.scopes:
            raise TokenError("token_wrong_scope")

    def of_place(self) -> Grant:
        """Of a session, what its seat's token grants; else the grant as it is."""
        if self.kind != "session":
            return self
        until_s = float(self.until_s)
        return replace(self, kind="seat", session=0, expires_s=until_s, until_s=0)

    def claims(self) -> dict[str, Any]:
        """The claims of our own, beside the registered ones."""
        said: dict[str, Any] = {
            "kind": self.kind,
            "scope": " ".join(sorted(self.scopes)),
        }
        said |= {"match": self.match, "epoch": self.epoch} if self.match else {}
        said |= {"seat": self.seat} if self.seat else {}
        said |= {"session": self.session} if self.session else {}
        said |= {"name": self.name} if self.name else {}
        said |= {} if self.renew else {"renew": False}
        said |= {"until": self.until_s} if self.until_s else {}
        return said

    @classmethod
    def of_claims(cls, claims: Mapping[str, Any]) -> Grant:
        """Read what was signed.

        Raises:
            TokenError: token_invalid: it is none of ours.
        """
        try:
            return cls(
                kind=claims["kind"],
                scopes=frozenset(_text(claims["scope"]).split()),
                expires_s=float(claims["exp"]),
                match=_text(claims.get("match", "")),
                epoch=_number(claims.get("epoch", 0)),
                seat=_text(claims.get("seat", "")),
                session=_number(claims.get("session", 0)),
                subject=_text(claims.get("sub", "")),
                id=_text(claims.get("jti", "")),
                issued_s=float(claims.get("iat", 0)),
                name=_text(claims.get("name", "")),
                renew=_truth(claims.get("renew", True)),
                until_s=_number(claims.get("until", 0)),
            )
        except (KeyError, TypeError, ValueError):
            raise TokenError("token_invalid") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def _number(value: object) -> int:
    if type(value) is not int:
        raise ValueError("no whole number")
    return value
