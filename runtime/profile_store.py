"""What players keep between matches, and who keeps it: the contract of a store.

A store holds one document for each player of one game. It knows nothing of matches:
`match_profiles.py` reads before one and writes during and after it.

Rules of every store:
- A document has a revision, 1 at first. `save` names the revision that it was made
  from; when somebody else has saved meanwhile, it changes nothing.
- A document also says with which schema version it was written. One of a newer schema
  than the game's is neither given out nor overwritten: older code would lose what newer
  code knows. An older one is given out as it is, for the game's `parse` to read; the
  next save writes it with the game's own version.
- `save` returns when the document is as safe as the store can make it. If it fails
  otherwise than by a refusal below, it may have been saved or not: load tells.
"""

from __future__ import annotations

import re
from typing import Final, Protocol, TypeAlias

import msgspec

from ..engine.frozen import freeze, thaw
from ..engine.game import Game
from ..engine.jsonvalue import Json
from .errors import RuntimeFault

__all__ = [
    "ABSENT",
    "PROFILE_BYTES_MAX",
    "ProfileConflict",
    "ProfileDocument",
    "ProfileNameInvalid",
    "ProfileSchemaNewer",
    "ProfileStore",
    "ProfileStoreBusy",
    "ProfileStoreFault",
    "ProfileTooLarge",
    "ProfileUnreadable",
    "SchemaVersion",
    "check_name",
    "check_schema",
    "checked_data",
]

ABSENT: Final = 0
"""The revision of a player who has no document yet."""

PROFILE_BYTES_MAX = 256 * 1024
"""Of one profile in JSON. Those of all its players are part of a match's state."""

SchemaVersion: TypeAlias = "str | int | None"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NUMBERS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})*")


class ProfileDocument(msgspec.Struct, frozen=True):
    """A profile as it is stored; `data` is frozen, and was not read by `parse` yet."""

    player: str
    revision: int
    schema_version: SchemaVersion
    data: Json


class ProfileStore(Protocol):
    """The documents of one game."""

    async def load(self, player: str) -> ProfileDocument | None:
        """The player's document; None if there is none.

        Raises:
            ProfileNameInvalid: No store keeps a player of this name.
            ProfileSchemaNewer: It was written by a newer version of the game.
            ProfileUnreadable: What is stored is no document of this player.
            ProfileStoreFault: The store could not do it.
        """

    async def save(self, player: str, data: Json, *, expected: int) -> ProfileDocument:
        """Replace the document of revision `expected`, ABSENT for a first one.

        Raises:
            ProfileConflict: There is another revision, or none.
            ProfileTooLarge: More than PROFILE_BYTES_MAX.
            InvalidJsonValueError: The data is not JSON.
            ProfileStoreBusy: Somebody else writes, for too long; nothing was saved.
            ProfileNameInvalid, ProfileSchemaNewer, ProfileUnreadable,
            ProfileStoreFault: As for `load`.
        """


class ProfileStoreFault(RuntimeFault):
    """A store of profiles could not do what was asked."""

    code = "profile_store"


class ProfileStoreBusy(ProfileStoreFault):
    """Somebody else has been writing for too long."""

    code = "profile_store_busy"


class ProfileConflict(ProfileStoreFault):
    """The document is not of the expected revision. `found` is what it is of."""

    code = "profile_conflict"

    def __init__(self, player: str, expected: int, found: int) -> None:
        self.found = found
        super().__init__(
            f"the profile of {player} is at revision {found}, not {expected}: load it "
            "again"
        )


class ProfileSchemaNewer(ProfileStoreFault):
    """The document was written by a newer version of the game."""

    code = "profile_schema_newer"


class ProfileUnreadable(ProfileStoreFault):
    """What is stored is no document of this player and game."""

    code = "profile_unreadable"


class ProfileTooLarge(ProfileStoreFault):
    """A profile is larger than the limit."""

    code = "profile_too_large"


class ProfileNameInvalid(ProfileStoreFault):
    """A name that a store cannot keep anything under."""

    code = "profile_name_invalid"


def check_name(name: str, what: str) -> None:
    """Names are plain, so that any store can use them as they are.

    Raises:
        ProfileNameInvalid: Something else than 1 to 64 letters, digits and `._-`, or
            it begins with one of these.
    """
    if _NAME.fullmatch(name) is None:
        raise ProfileNameInvalid(
            f"{what} {name[:80]!r} cannot keep profiles: 1 to 64 of a-z, A-Z, 0-9 and "
            "._- name one, the first of them a letter or a digit"
        )


def check_schema(game: Game, player: str, stored: SchemaVersion) -> None:
    """Let pass what the game wrote itself, or an older version of it.

    Versions are numbers, or numbers with dots; none is older than any. Others have no
    order: only the same one passes.

    Raises:
        ProfileSchemaNewer: It is newer, or nobody can tell.
    """
    known = _known(game)
    if stored == known:
        return
    theirs, ours = _order(stored), _order(known)
    if theirs is None or ours is None or theirs > ours:
        raise ProfileSchemaNewer(
            f"the profile of {player} was written with schema version {stored!r}, and "
            f"this {game.name} reads {known!r}: play it with the newer version of the "
            "game"
        )


def checked_data(data: Json) -> Json:
    """The data, frozen.

    Raises:
        InvalidJsonValueError: It is not JSON.
        ProfileTooLarge: More than PROFILE_BYTES_MAX.
    """
    frozen = freeze(data, label="the profile")
    size = len(msgspec.json.encode(thaw(frozen)))
    if size > PROFILE_BYTES_MAX:
        raise ProfileTooLarge(
            f"a profile of {size:,} bytes is beyond the limit of "
            f"{PROFILE_BYTES_MAX:,}: keep less between matches"
        )
    return frozen


def _known(game: Game) -> SchemaVersion:
    return None if game.profile is None else game.profile.schema_version


def _order(version: SchemaVersion) -> tuple[int, ...] | None:
    if version is None:
        return ()
    text = str(version)
    if _NUMBERS.fullmatch(text) is None:
        return None
    return tuple(map(int, text.split(".")))
