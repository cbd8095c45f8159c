"""Profiles around a match: read before it, kept while it goes on and at its end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from hotseat.engine import (
    Batch,
    Game,
    InvalidMatchError,
    ProfileCommitError,
    Session,
    create_session,
)
from hotseat.engine.gamekit import MoveContext, Outcome, define_game, finish, profile
from hotseat.engine.gamekit import stay as stays
from hotseat.runtime.match_profiles import MatchProfiles
from hotseat.runtime.profile_store import (
    ABSENT,
    PROFILE_BYTES_MAX,
    ProfileConflict,
    ProfileDocument,
    ProfileSchemaNewer,
)
from hotseat.runtime.testing.memory_profiles import MemoryProfiles

NAMES = {"0": "ann", "1": "bob"}


def dig(ctx: MoveContext[int]) -> Outcome:
    """Coins are the player's at once."""
    return stays(profile=ctx.profile.inc(ctx.player, "coins", ctx.args))


def boast(ctx: MoveContext[str]) -> Outcome:
    return stays(profile=ctx.profile.set(ctx.player, "motto", ctx.args))


def win(ctx: MoveContext[None]) -> Outcome:
    return finish({"winner": ctx.player})


def commit(ctx: Any) -> Any:
    return ctx.profile.inc(ctx.result["winner"], "wins", 1)


def parse(data: Any) -> Any:
    """Schema 1 called coins gold."""
    if "gold" in data:
        return {"coins": data["gold"], "wins": data["wins"]}
    return data


def treasure(version: int = 2, **more: Any) -> Game:
    rules: dict[str, Any] = {"parse": parse, "commit": commit, **more}
    return define_game(
        name="treasure",
        max_players=2,
        setup=lambda ctx: {"seen": {s: p["coins"] for s, p in ctx.profiles.items()}},
        moves=[dig, boast, win],
        profile=profile({"coins": 0, "wins": 0}, schema_version=version, **rules),
        open_information=True,
    )


class Table:
    """A game, a store, and what a host does with both."""

    def __init__(self, game: Game | None = None) -> None:
        self.game = treasure() if game is None else game
        self.documents: dict[tuple[str, str], ProfileDocument] = {}
        self.store = MemoryProfiles(self.game, self.documents)

    def profiles(self, names: Mapping[str, str] = NAMES) -> MatchProfiles:
        return MatchProfiles(self.store, self.game, names)

    async def begin(self) -> Session:
        match = {"players": ["0", "1"], "profiles": await self.profiles().load()}
        return create_session(self.game, match)

    async def kept(self, name: str) -> Any:
        document = await self.store.load(name)
        return None if document is None else document.data


def played(session: Session, event: str, payload: Any = None) -> Batch:
    batch = session.apply("0", event, payload, now=1)
    assert isinstance(batch, Batch), batch
    return batch


async def test_a_match_starts_from_what_is_stored() -> None:
    """Whoever has nothing yet starts from the default; nothing is written for it."""
    table = Table()
    await table.store.save("ann", {"coins": 7, "wins": 1}, expected=ABSENT)
    session = await table.begin()
    assert session.snapshot.G["seen"] == {"0": 7, "1": 0}
    assert await table.kept("bob") is None


async def test_what_a_move_keeps_is_kept_at_once() -> None:
    """Before the match ends, if ever; the commit at its end comes on top."""
    table = Table()
    session, profiles = await table.begin(), table.profiles()
    assert await profiles.keep(played(session, "dig", 3).steps) == []
    assert await table.kept("ann") == {"coins": 3, "wins": 0}
    batch = played(session, "win")
    await profiles.keep(batch.steps)
    assert await profiles.finish(batch.snapshot.meta.match, session.result) == []
    assert await table.kept("ann") == {"coins": 3, "wins": 1}
    assert await table.kept("bob") is None


async def test_two_matches_of_one_player_both_count() -> None:
    """A delta is done to what is stored by then, not to what a match began with."""
    table = Table()
    one, other = await table.begin(), await table.begin()
    for session, coins in ((one, 3), (other, 4)):
        await table.profiles().keep(played(session, "dig", coins).steps)
    for session in (one, other):
        batch = played(session, "win")
        await table.profiles().finish(batch.snapshot.meta.match, session.result)
    assert await table.kept("ann") == {"coins": 7, "wins": 2}


async def test_a_lost_race_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody saves between load and save: the delta is done to theirs."""
    table = Table()
    session = await table.begin()
    save, races = table.store.save, 3

    async def raced(player: str, data: Any, *, expected: int) -> ProfileDocument:
        nonlocal races
        if races:
            races -= 1
            theirs = await table.kept(player) or {"coins": 0, "wins": 0}
            theirs = {**theirs, "coins": theirs["coins"] + 10}
            await save(player, theirs, expected=expected)
        return await save(player, data, expected=expected)

    monkeypatch.setattr(table.store, "save", raced)
    await table.profiles().keep(played(session, "dig", 1).steps)
    assert await table.kept("ann") == {"coins": 31, "wins": 0}
    races = 1_000
    with pytest.raises(ProfileConflict):
        await table.profiles().keep(played(session, "dig", 1).steps)


async def test_an_older_profile_is_migrated_by_the_game() -> None:
    """`parse` reads it for the match; the first change writes it in the new form."""
    table = Table()
    old = MemoryProfiles(treasure(1), table.documents)
    await old.save("ann", {"gold": 5, "wins": 1}, expected=ABSENT)
    session = await table.begin()
    assert session.snapshot.G["seen"]["0"] == 5
    assert await table.kept("ann") == {"gold": 5, "wins": 1}
    await table.profiles().keep(played(session, "dig", 1).steps)
    assert await table.kept("ann") == {"coins": 6, "wins": 1}
    document = await table.store.load("ann")
    assert document is not None
    assert document.schema_version == 2


async def test_a_newer_profile_stops_the_match_before_it_begins() -> None:
    """Rather than have it played with half of what the player has."""
    table = Table()
    newer = MemoryProfiles(treasure(3), table.documents)
    await newer.save("bob", {"purse": []}, expected=ABSENT)
    with pytest.raises(ProfileSchemaNewer, match="bob"):
        await table.begin()


async def test_a_profile_that_parse_cannot_read_stops_the_match() -> None:
    """The engine says whose it is."""
    table = Table()
    await table.store.save("ann", 3, expected=ABSENT)
    with pytest.raises(InvalidMatchError, match="player '0'"):
        await table.begin()


async def test_what_does_not_apply_is_reported_and_the_others_get_theirs() -> None:
    """One player's profile may have changed under the match."""

    def both(ctx: Any) -> Any:
        return {s: [{"op": "inc", "path": ["wins"], "value": 1}] for s in ("0", "1")}

    table = Table(treasure(commit=both))
    session = await table.begin()
    await table.store.save("ann", {"coins": 0, "wins": "many"}, expected=ABSENT)
    batch = played(session, "win")
    match = batch.snapshot.meta.match
    [rejection] = await table.profiles().finish(match, session.result)
    assert (rejection.player_id, rejection.reason) == ("0", "type_mismatch")
    assert await table.kept("ann") == {"coins": 0, "wins": "many"}
    assert await table.kept("bob") == {"coins": 0, "wins": 1}


async def test_a_profile_that_grows_too_large_stays_as_it_was() -> None:
    """The limit is reported like a delta that does not apply."""
    table = Table()
    session, profiles = await table.begin(), table.profiles()
    await profiles.keep(played(session, "dig", 1).steps)
    batch = played(session, "boast", "x" * PROFILE_BYTES_MAX)
    [rejection] = await profiles.keep(batch.steps)
    assert (rejection.player_id, rejection.reason) == ("0", "profile_too_large")
    assert await table.kept("ann") == {"coins": 1, "wins": 0}


async def test_a_commit_that_fails_saves_nothing() -> None:
    """It is the game's fault, and said so."""

    def broken(ctx: Any) -> Any:
        return {"0": ctx.result["nothing"]}

    table = Table(treasure(commit=broken))
    session = await table.begin()
    batch = played(session, "win")
    with pytest.raises(ProfileCommitError):
        await table.profiles().finish(batch.snapshot.meta.match, session.result)
    assert table.documents == {}
