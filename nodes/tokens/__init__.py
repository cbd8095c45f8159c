"""Signed tokens: who may play at a seat, watch a match, be in a lobby, or run it all.

Standard JSON Web Tokens, signed with HS256 or EdDSA, so that any issuer that holds a
key of the set can mint them, and any gateway can check them without asking anybody.
"""

from __future__ import annotations

from .display_name import clean_name as clean_name
from .grant import Grant as Grant
from .grant import Kind as Kind
from .key_file import KeyFile as KeyFile
from .key_set import KeySet as KeySet
from .key_set import SigningKey as SigningKey
from .token_error import KeyFileError as KeyFileError
from .token_error import TokenError as TokenError
from .tokens import Tokens as Tokens
