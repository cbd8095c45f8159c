"""A door that lies open to a network: nothing is answered before authentication.

Who asks proves that it has the cluster's secret, over the request itself and a number
that the door drew for it, which is good once and for a short time: what is overheard
cannot be said again, nor changed, nor said to another door. The answer is proved in the
same way. Nothing is hidden: who must hide it puts TLS or a tunnel around it.

    {"op": "hello"}                                        -> {"nonce"}
    {"op": "sealed", "nonce", "request", "proof"}          -> {"answer", "proof"}

A proof is HMAC-SHA256 under a key derived from the secret. All else, garbage too, is
answered `unauthenticated`.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any

import msgpack

__all__ = ["NONCE_S", "SPENT_MAX", "SealedDoor", "is_private", "prove", "proved"]

NONCE_S = 10.0
"""In which the request must come."""

SPENT_MAX = 10_000
"""Requests within that time; with more of them, none is answered."""

_RANDOM_BYTES = 8
_SEAL_BYTES = 16

_PURPOSE = b"hotseat door v1"


def is_private(address: str) -> bool:
    """Whether a door there is reached through a folder of this machine only."""
    return address.startswith("ipc://")


def prove(secret: bytes, kind: bytes, nonce: bytes, message: bytes) -> bytes:
    """The proof of a message; `kind` is request or answer."""
    key = hmac.digest(secret, _PURPOSE, sha256)
    return hmac.digest(key, kind + b"\x00" + nonce + message, sha256)


def proved(
    secret: bytes, kind: bytes, nonce: bytes, message: bytes, proof: object
) -> bool:
    """Whether that is its proof."""
    right = prove(secret, kind, nonce, message)
    return isinstance(proof, bytes) and hmac.compare_digest(right, proof)


class SealedDoor:
    """Stands before a door; give `answer` to a `DoorServer`."""

    def __init__(
        self,
        answer: Callable[[bytes], Awaitable[bytes]],
        secret: bytes,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._inner = answer
        self._secret = secret
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._spent: dict[bytes, int] = {}  # when; the oldest first

    async def answer(self, request: bytes) -> bytes:
        """Answer one request; what proves nothing learns nothing."""
        try:
            asked = msgpack.unpackb(request)
        except (ValueError, msgpack.UnpackException, RecursionError):
            return _UNAUTHENTICATED
        if not isinstance(asked, dict):
            return _UNAUTHENTICATED
        if asked.get("op") == "hello":
            return _packed({"ok": True, "nonce": self._draw()})
        inner, nonce = asked.get("request"), asked.get("nonce")
        if not isinstance(inner, bytes) or not isinstance(nonce, bytes):
            return _UNAUTHENTICATED
        good = proved(self._secret, b"request", nonce, inner, asked.get("proof"))
        if not good or not self._spend(nonce):
            return _UNAUTHENTICATED
        answer = await self._inner(inner)
        proof = prove(self._secret, b"answer", nonce, answer)
        return _packed({"ok": True, "answer": answer, "proof": proof})

    def _draw(self) -> bytes:
        """Nothing is kept of it: who floods the door with hellos hurts nobody."""
        drawn = self._now_ms().to_bytes(8, "big") + secrets.token_bytes(_RANDOM_BYTES)
        return drawn + self._seal(drawn)

    def _spend(self, nonce: bytes) -> bool:
        """Whether this door drew it, lately, and it was not used."""
        drawn, seal = nonce[:-_SEAL_BYTES], nonce[-_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(drawn)):
            return False
        oldest_ms = self._now_ms() - int(NONCE_S * 1_000)
        while self._spent and next(iter(self._spent.values())) < oldest_ms:
            del self._spent[next(iter(self._spent))]
        drawn_ms = int.from_bytes(drawn[:8], "big")
        if drawn_ms < oldest_ms or nonce in self._spent:
            return False
        if len(self._spent) >= SPENT_MAX:
            return False
        self._spent[nonce] = self._now_ms()
        return True

    def _seal(self, drawn: bytes) -> bytes:
        return hmac.digest(self._key, drawn, sha256)[:_SEAL_BYTES]

    def _now_ms(self) -> int:
        return int(self._clock() * 1_000)


def _packed(answer: dict[str, Any]) -> bytes:
    packed: bytes = msgpack.packb(answer)
    return packed


_UNAUTHENTICATED = _packed(
    {
        "ok": False,
        "code": "unauthenticated",
        "message": "Prove first that you have the cluster's secret.",
    }
)
