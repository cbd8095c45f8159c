"""The secret by which gateways hold a seat for a player, and bots their own.

Derived from the cluster's secret, so that every gateway of a cluster can take every
seat that a token grants, and every bots process a bot's seat, and none has anything to
remember.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable

__all__ = ["seat_secrets"]

PURPOSE = b"hotseat seat 1\0"
"""Keeps these apart from whatever else is derived from the same secret."""


def seat_secrets(cluster_secret: bytes) -> Callable[[str, str], str]:
    """Gives the secret of a match's seat: 43 characters that nobody can guess."""

    def secret(match: str, seat: str) -> str:
        named = PURPOSE + match.encode() + b"\0" + seat.encode()
        digest = hmac.digest(cluster_secret, named, hashlib.sha256)
        return base64.urlsafe_b64encode(digest).decode("ascii").rstrip("=")

    return secret
