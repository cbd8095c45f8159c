"""What is wrong with a token, or with the keys. Never with the token in the text."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...runtime.errors import RuntimeFault

__all__ = ["TOKEN_REFUSALS", "KeyFileError", "TokenError"]

TOKEN_REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "token_missing": "A token is needed. Ask whoever opened the match for one.",
        "token_malformed": "That is no token. Copy the whole link.",
        "token_unknown_key": "The token was signed with a key that is not in use. Ask "
        "for a new one.",
        "token_invalid": "The token's signature or its claims are wrong.",
        "token_expired": "The token has expired. Ask for a new one.",
        "token_not_yet": "The token is not valid yet. Look at the clocks.",
        "token_wrong_match": "The token is for another match.",
        "token_wrong_scope": "The token does not allow that.",
    }
)
"""Every code, with its sentence."""


class TokenError(RuntimeFault):
    """A token that is not accepted; `code` is one of `TOKEN_REFUSALS`."""

    code = "token_invalid"

    def __init__(self, code: str) -> None:
        super().__init__(TOKEN_REFUSALS[code])
        self.code = code


class KeyFileError(RuntimeFault):
    """The file of keys cannot be used: `keys_unreadable`, `keys_exposed`,
    `keys_malformed`, `no_signing_key`, `unknown_key`."""

    code = "keys_unreadable"

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
