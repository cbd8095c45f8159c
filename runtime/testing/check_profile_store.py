"""The contract of `ProfileStore`, checked against any implementation.

Write a `ProfileStoreRig` for yours and run each of `PROFILE_STORE_CHECKS` as a test of
its own. Every check gets a fresh store.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

import anyio
import anyio.lowlevel

from ...engine.definition import define_game, profile, state, transition
from ...engine.errors import InvalidJsonValueError
from ...engine.frozen import thaw
from ...engine.game import Game
from ...engine.limits import SAFE_INT_MAX
from ..profile_store import (
    ABSENT,
    PROFILE_BYTES_MAX,
    ProfileConflict,
    ProfileDocument,
    ProfileNameInvalid,
    ProfileSchemaNewer,
    ProfileStore,
    ProfileTooLarge,
    SchemaVersion,
)

__all__ = ["PROFILE_STORE_CHECKS", "ProfileStoreRig", "game_of_schema"]

WRITERS, SAVES = 4, 5
"""Who save at the same time, and how often each."""

GOOD_NAMES = ("a", "0", "Ann", "ann-2", "a.b_c", "x" * 64)
BAD_NAMES = (
    "", ".", "..", ".ann", "-a", "a/b", "../a", "a\\b", "a\0", "a b", "ann\n", "ünn",
    "x" * 65, "C:a", "~",
)  # fmt: skip

ANY_JSON: dict[str, Any] = {
    "": None,
    "numbers": [0, -1, 1.5, SAFE_INT_MAX, -SAFE_INT_MAX, 1e-7],
    "text": 'é "\\ \n\u2028 🂡',
    "flags": [True, False, None],
    "deep": [[[{"a": []}]], {}],
}


class ProfileStoreRig(Protocol):
    """One fresh store."""

    def open(self, game: Game) -> ProfileStore:
        """Another handle on the store, as another process would have."""


Check = Callable[[ProfileStoreRig], Awaitable[None]]


def game_of_schema(version: SchemaVersion, name: str = "keeps") -> Game:
    """A game whose profiles are of this schema version."""
    return define_game(
        name=name,
        max_players=1,
        events=["go"],
        states={"play": state(active_players=["0"])},
        initial="play",
        setup=lambda ctx: None,
        transitions=[transition("go", "play", "play")],
        profile=profile({"wins": 0}, schema_version=version),
    )


async def check_what_is_saved_is_loaded(rig: ProfileStoreRig) -> None:
    """By every handle, with its revision and the game's schema version."""
    game = game_of_schema(3)
    store = rig.open(game)
    assert await store.load("ann") is None
    given: dict[str, Any] = {"wins": 1, "badges": ["x"]}
    saved = await store.save("ann", given, expected=ABSENT)
    given["badges"].append("not saved")
    for handle in (store, rig.open(game)):
        found = await handle.load("ann")
        data = {"wins": 1, "badges": ["x"]}
        assert found == saved == ProfileDocument("ann", 1, 3, data), found
    second = await store.save("ann", "anything", expected=1)
    assert (second.revision, second.data) == (2, "anything"), second
    assert await rig.open(game).load("ann") == second


async def check_any_json_survives(rig: ProfileStoreRig) -> None:
    """Down to the kinds of numbers, frozen."""
    store = rig.open(game_of_schema(1))
    await store.save("ann", ANY_JSON, expected=ABSENT)
    data = _there(await store.load("ann")).data
    assert thaw(data) == ANY_JSON, data
    assert repr(thaw(data)) == repr(ANY_JSON), data
    try:
        data["new"] = 1
    except TypeError:
        return
    raise AssertionError("what is loaded can be changed")


async def check_only_the_expected_revision_is_replaced(rig: ProfileStoreRig) -> None:
    """Otherwise nothing changes, and the error tells what there is."""
    store = rig.open(game_of_schema(1))
    await _conflicts(store, expected=1, found=ABSENT)
    assert await store.load("ann") is None
    await store.save("ann", "first", expected=ABSENT)
    await store.save("ann", "second", expected=1)
    for stale in (ABSENT, 1, 3, -1):
        await _conflicts(store, expected=stale, found=2)
    assert _there(await store.load("ann")).data == "second"


async def check_of_several_writers_each_counts(rig: ProfileStoreRig) -> None:
    """Who loads, adds and saves until it works loses nothing."""
    game = game_of_schema(1)

    async def count() -> None:
        store = rig.open(game)
        for _ in range(SAVES):
            saved = False
            while not saved:
                found = await store.load("ann")
                wins = 0 if found is None else found.data
                revision = ABSENT if found is None else found.revision
                try:
                    await store.save("ann", wins + 1, expected=revision)
                    saved = True
                except ProfileConflict:
                    await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as tasks:
        for _ in range(WRITERS):
            tasks.start_soon(count)
    found = _there(await rig.open(game).load("ann"))
    assert (found.data, found.revision) == (WRITERS * SAVES, WRITERS * SAVES), found


async def check_an_older_schema_is_given_out(rig: ProfileStoreRig) -> None:
    """With its version, until the next save writes it with the game's."""
    pairs: list[tuple[SchemaVersion, SchemaVersion]] = [
        (None, 1), (None, "1"), (9, 10), ("9", "10"), ("1.9", "1.10"), (1, "1.1"),
    ]  # fmt: skip
    for number, (old, new) in enumerate(pairs):
        name = f"ann{number}"
        await rig.open(game_of_schema(old)).save(name, "old", expected=ABSENT)
        store = rig.open(game_of_schema(new))
        found = _there(await store.load(name))
        assert (found.data, found.schema_version) == ("old", old), found
        await store.save(name, "new", expected=found.revision)
        assert _there(await store.load(name)).schema_version == new


async def check_a_newer_schema_is_left_alone(rig: ProfileStoreRig) -> None:
    """It is neither given out nor overwritten; nor is one that has no order."""
    pairs: list[tuple[SchemaVersion, SchemaVersion]] = [
        (2, 1), (1, None), ("1.10", "1.9"), ("2", 1), ("spring", "autumn"),
        ("spring", 1), (1, "spring"),
    ]  # fmt: skip
    for number, (new, old) in enumerate(pairs):
        name = f"ann{number}"
        author = rig.open(game_of_schema(new))
        await author.save(name, "new", expected=ABSENT)
        store = rig.open(game_of_schema(old))
        load, save = partial(store.load, name), partial(store.save, name, "old")
        await _refuses(ProfileSchemaNewer, load)
        await _refuses(ProfileSchemaNewer, partial(save, expected=1))
        assert _there(await author.load(name)).data == "new"


async def check_players_and_games_keep_apart(rig: ProfileStoreRig) -> None:
    """Each has a document of its own."""
    one, other = game_of_schema(1, "one"), game_of_schema(1, "other")
    await rig.open(one).save("Ann", "hers", expected=ABSENT)
    assert await rig.open(one).load("bob") is None
    assert await rig.open(other).load("Ann") is None
    for name in GOOD_NAMES:
        await rig.open(other).save(name, name, expected=ABSENT)
    for name in GOOD_NAMES:
        assert _there(await rig.open(other).load(name)).data == name
    assert _there(await rig.open(one).load("Ann")).data == "hers"


async def check_names_are_plain(rig: ProfileStoreRig) -> None:
    """No name reaches beyond the store, or is two names to some other store."""
    store = rig.open(game_of_schema(1))
    for name in BAD_NAMES:
        load, save = partial(store.load, name), partial(store.save, name, 1)
        await _refuses(ProfileNameInvalid, load)
        await _refuses(ProfileNameInvalid, partial(save, expected=ABSENT))
    for name in ("", "a/b", ".."):
        try:
            rig.open(game_of_schema(1, name or ".hidden"))
        except ProfileNameInvalid:
            continue
        raise AssertionError(f"a game {name!r} was taken")


async def check_what_cannot_be_kept_is_refused(rig: ProfileStoreRig) -> None:
    """More than the limit, or no JSON; what was there stays."""
    store = rig.open(game_of_schema(1))
    fits = "x" * (PROFILE_BYTES_MAX - 2)
    await store.save("ann", fits, expected=ABSENT)
    assert _there(await store.load("ann")).data == fits
    save = store.save
    await _refuses(ProfileTooLarge, lambda: save("ann", fits + "x", expected=1))
    await _refuses(InvalidJsonValueError, lambda: save("ann", object(), expected=1))
    await _refuses(InvalidJsonValueError, lambda: save("ann", float("nan"), expected=1))
    assert _there(await store.load("ann")).revision == 1


PROFILE_STORE_CHECKS: tuple[Check, ...] = (
    check_what_is_saved_is_loaded,
    check_any_json_survives,
    check_only_the_expected_revision_is_replaced,
    check_of_several_writers_each_counts,
    check_an_older_schema_is_given_out,
    check_a_newer_schema_is_left_alone,
    check_players_and_games_keep_apart,
    check_names_are_plain,
    check_what_cannot_be_kept_is_refused,
)


def _there(found: ProfileDocument | None) -> ProfileDocument:
    assert found is not None, "there is no document"
    return found


async def _conflicts(store: ProfileStore, *, expected: int, found: int) -> None:
    told = None
    try:
        await store.save("ann", "stale", expected=expected)
    except ProfileConflict as error:
        told = error.found
    assert told == found, f"expected {expected}, told of {told}, but it is {found}"


async def _refuses(
    kind: type[Exception], call: Callable[[], Awaitable[object]]
) -> None:
    try:
        await call()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was not raised")
