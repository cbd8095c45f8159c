"""The keys that sign and check tokens: several at a time, the newest signs.

A key is for one algorithm, and that is fixed by its id: what a token says of its own
algorithm is never believed. An EdDSA key may be public alone: it checks the tokens of
an issuer elsewhere.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import (
    Ed25519PrivateKey,
    Ed25519PublicKey,
)

from .token_error import KeyFileError

__all__ = ["KEYS_MAX", "Algorithm", "KeySet", "SigningKey"]

Algorithm = Literal["HS256", "EdDSA"]

KEYS_MAX = 8
"""More than that are never needed at once: the oldest go when new ones are made."""

SECRET_BYTES = 32
KEY_ID_BYTES = 6


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One key. The secret never shows: neither in a repr nor in an error."""

    id: str
    algorithm: Algorithm
    made_ms: int
    secret: bytes = field(repr=False, default=b"")
    """HS256: the secret. EdDSA: the private key's 32 bytes; empty: it only checks."""
    public: bytes = b""
    """EdDSA: the public key's 32 bytes."""

    @property
    def signs(self) -> bool:
        return bool(self.secret)

    def to_sign(self) -> Any:
        """The key as PyJWT wants it for signing."""
        assert self.signs, f"key {self.id} only checks"
        if self.algorithm == "HS256":
            return self.secret
        return Ed25519PrivateKey.from_private_bytes(self.secret)

    def to_check(self) -> Any:
        """The key as PyJWT wants it for checking."""
        if self.algorithm == "HS256":
            return self.secret
        return Ed25519PublicKey.from_public_bytes(self.public)

    @classmethod
    def draw(cls, algorithm: Algorithm, now_ms: int) -> SigningKey:
        """A new key, from the system's randomness."""
        id = secrets.token_hex(KEY_ID_BYTES)
        if algorithm == "HS256":
            return cls(id, algorithm, now_ms, secrets.token_bytes(SECRET_BYTES))
        private = Ed25519PrivateKey.generate()
        public = private.public_key().public_bytes_raw()
        return cls(id, algorithm, now_ms, private.private_bytes_raw(), public)

    def to_json(self) -> dict[str, Any]:
        said: dict[str, Any] = {
            "kid": self.id,
            "alg": self.algorithm,
            "made_ms": self.made_ms,
        }
        said |= {"secret": _written(self.secret)} if self.secret else {}
        said |= {"public": _written(self.public)} if self.public else {}
        return said

    @classmethod
    def of_json(cls, said: Any) -> SigningKey:
        """Raises ValueError, KeyError or TypeError: it is no key."""
        id, algorithm, made_ms = said["kid"], said["alg"], said["made_ms"]
        secret, public = _read(said.get("secret")), _read(said.get("public"))
        if not isinstance(id, str) or not id or type(made_ms) is not int:
            raise ValueError("a key has an id, and the time when it was made")
        if algorithm == "HS256" and (len(secret) < SECRET_BYTES or public):
            raise ValueError("an HS256 key is a secret of 32 bytes or more")
        if algorithm == "EdDSA":
            if secret:
                private = Ed25519PrivateKey.from_private_bytes(secret)
                public = private.public_key().public_bytes_raw()
            Ed25519PublicKey.from_public_bytes(public)
        elif algorithm != "HS256":
            raise ValueError("an algorithm is HS256 or EdDSA")
        return cls(id, algorithm, made_ms, secret, public)


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys in use, oldest first. Ids are unique."""

    keys: tuple[SigningKey, ...]

    @property
    def signing(self) -> SigningKey:
        """The newest key that can sign.

        Raises:
            KeyFileError: no_signing_key.
        """
        for key in reversed(self.keys):
            if key.signs:
                return key
        raise KeyFileError("no_signing_key", "no key of the set can sign")

    def find(self, id: object) -> SigningKey | None:
        return next((key for key in self.keys if key.id == id), None)

    def rotated(self, new: SigningKey) -> KeySet:
        """With a new key, which signs from now on; the others go on checking."""
        return KeySet((*self.keys, new)[-KEYS_MAX:])

    def without(self, id: str) -> KeySet:
        """Without a key: what it has signed is refused from now on.

        Raises:
            KeyFileError: unknown_key; no_signing_key: no other key can sign.
        """
        if self.find(id) is None:
            raise KeyFileError("unknown_key", f"there is no key {id}")
        left = KeySet(tuple(key for key in self.keys if key.id != id))
        assert left.signing
        return left

    def to_json(self) -> dict[str, Any]:
        return {"version": 1, "keys": [key.to_json() for key in self.keys]}

    @classmethod
    def of_json(cls, said: Any) -> KeySet:
        """
        Raises:
            KeyFileError: keys_malformed. The text names no secret.
        """
        try:
            if said["version"] != 1:
                raise ValueError("its version is not 1")
            keys: Sequence[SigningKey] = [
                SigningKey.of_json(key) for key in said["keys"]
            ]
            if not keys or len({key.id for key in keys}) != len(keys):
                raise ValueError("it has no keys, or two of one id")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f"{type(error).__name__}: {error}"
            raise KeyFileError("keys_malformed", f"no set of keys: {what}") from None
        return cls(tuple(keys[-KEYS_MAX:]))


def _written(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii")


def _read(text: Any) -> bytes:
    return b"" if text is None else base64.urlsafe_b64decode(text)
