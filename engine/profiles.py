"""Profiles: what a player keeps between matches, and the deltas that change it.

A match starts with the profiles of its players (`hydrate_profiles`); a resolver may
return deltas for them (`apply_profile_deltas`). A delta is a list of operations on
one player's profile, applied in order, all or none::

    {"op": "set",    "path": ["rank"],   "value": 3}      set [] replaces everything
    {"op": "inc",    "path": ["wins"],   "value": 1}      a missing number counts as 0
    {"op": "push",   "path": ["badges"], "value": "x"}    onto an existing list
    {"op": "remove", "path": ["badges", 0]}

A segment of a path is a key or an index; numeric text indexes a list, a number on an
object is its text. Nothing is mutated: what did not change is shared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .definition import Game
from .errors import InvalidJsonValueError, InvalidMatchError, ProfileDeltaError
from .frozen import FDict, freeze
from .jsonvalue import Json

__all__ = ["apply_profile_delta", "apply_profile_deltas", "hydrate_profiles"]

_MISSING: Any = object()
_OPS_WITH_VALUE = ("set", "push")


def hydrate_profiles(game: Game, match: FDict) -> FDict:
    """The match with one profile for each player, read by the game's `parse`.

    A game without `profile` passes on what the match holds, untouched.

    Raises:
        InvalidMatchError: invalid_profile: `parse` raised, or a profile is not JSON.
    """
    if game.profile is None:
        return match
    stored = match.get("profiles")
    if stored is not None and not isinstance(stored, Mapping):
        raise InvalidMatchError("match.profiles must be an object")
    given: Mapping[str, Json] = stored if isinstance(stored, Mapping) else {}
    profiles: dict[str, Json] = {}
    for player in match["players"]:
        data = given.get(player, _MISSING)
        data = game.profile.default if data is _MISSING else data
        profiles[player] = _parsed(game, player, data)
    return _frozen_match({**match, "profiles": profiles})


def apply_profile_deltas(match: FDict, deltas: object) -> tuple[FDict, FDict | None]:
    """The match after a resolver's deltas, and the deltas of seated players.

    The shape of every delta is checked, those of players who do not sit here too;
    these are then dropped. The second value is None when nothing is left of them.

    Raises:
        ProfileDeltaError: A delta is malformed or does not apply.
        InvalidJsonValueError: They are not JSON.
    """
    if not isinstance(deltas, Mapping):
        raise ProfileDeltaError(
            f"profile must map players to deltas, not be {type(deltas).__name__}",
            reason="invalid_delta",
        )
    for player, delta in deltas.items():
        if not _well_formed(delta):
            raise ProfileDeltaError(
                f"the profile delta of player {player!r} is malformed",
                reason="invalid_delta",
            )
    seated = {p: delta for p, delta in deltas.items() if p in match["players"]}
    if not seated:
        return match, None
    frozen: FDict = freeze(seated, label="profile")
    profiles = dict(match.get("profiles") or {})
    for player, delta in frozen.items():
        profiles[player] = apply_profile_delta(profiles.get(player), delta)
    changed: FDict = freeze({**match, "profiles": profiles}, label="match")
    return changed, frozen


def apply_profile_delta(data: Json, delta: object) -> Json:
    """One player's profile after a delta; `data` itself stays as it is.

    Raises:
        ProfileDeltaError: It is malformed, or `at` does not apply; its `reason` is
            one of invalid_delta, empty_path, missing_path, invalid_container,
            type_mismatch, out_of_range.
        InvalidJsonValueError: A value is not JSON.
    """
    if not _well_formed(delta):
        raise ProfileDeltaError("the delta is malformed", reason="invalid_delta")
    assert isinstance(delta, Sequence)
    changed = data
    for at, op in enumerate(delta):
        try:
            changed = _apply(changed, op, op["path"], 0)
        except _DoesNotApply as problem:
            raise ProfileDeltaError(
                f"operation {at} ({op['op']}): {problem}", reason=problem.reason, at=at
            ) from None
    return freeze(changed, label="profile")


class _DoesNotApply(Exception):
    def __init__(self, reason: str, text: str) -> None:
        self.reason = reason
        super().__init__(text)


def _apply(node: Any, op: Mapping[str, Any], path: Sequence[Any], depth: int) -> Any:
    """A copy of `node` with the operation done beneath it; siblings are shared."""
    if not path:
        if op["op"] != "set":
            raise _DoesNotApply("empty_path", f"{op['op']} requires a path")
        return op["value"]
    if depth == len(path) - 1:
        return _apply_here(node, op, path[depth])
    if not isinstance(node, (Mapping, list, tuple)):
        raise _DoesNotApply(
            "invalid_container", f"segment {depth} is not an object or array"
        )
    child = _child(node, path[depth])
    if child is _MISSING:
        raise _DoesNotApply("missing_path", f"segment {depth} ({path[depth]}) missing")
    return _with_child(node, path[depth], _apply(child, op, path, depth + 1))


def _apply_here(node: Any, op: Mapping[str, Any], segment: Any) -> Any:
    if not isinstance(node, (Mapping, list, tuple)):
        raise _DoesNotApply(
            "invalid_container", "final container is not an object or array"
        )
    current = _child(node, segment)
    match op["op"]:
        case "set":
            return _with_child(node, segment, op["value"])
        case "inc":
            if current is not _MISSING and not _is_number(current):
                raise _DoesNotApply("type_mismatch", "inc target is not a number")
            total = (0 if current is _MISSING else current) + op["value"]
            return _with_child(node, segment, total)
        case "push":
            if not isinstance(current, (list, tuple)):
                raise _DoesNotApply("type_mismatch", "push target is not an array")
            return _with_child(node, segment, [*current, op["value"]])
        case _:
            return _without_child(node, segment, current)


def _child(node: Any, segment: Any) -> Any:
    if isinstance(node, Mapping):
        return node.get(_key(segment), _MISSING)
    index = _index(segment)
    return node[index] if index is not None and index < len(node) else _MISSING


def _with_child(node: Any, segment: Any, value: Any) -> Any:
    if isinstance(node, Mapping):
        return {**node, _key(segment): value}
    index = _index(segment)
    if index is None or index > len(node):
        raise _DoesNotApply("out_of_range", f"index {segment} out of range")
    return [*node[:index], value, *node[index + 1 :]]


def _without_child(node: Any, segment: Any, current: Any) -> Any:
    if isinstance(node, Mapping):
        if current is _MISSING:
            raise _DoesNotApply("missing_path", f"key {_key(segment)} not present")
        return {key: value for key, value in node.items() if key != _key(segment)}
    index = _index(segment)
    if index is None or index >= len(node):
        raise _DoesNotApply("out_of_range", f"index {segment} out of range")
    return [*node[:index], *node[index + 1 :]]


def _key(segment: Any) -> str:
    return segment if isinstance(segment, str) else str(segment)


def _index(segment: Any) -> int | None:
    """A non-negative index; numeric text counts, and empty text is 0."""
    try:
        value = float(segment or 0)
    except ValueError:
        return None
    return int(value) if value.is_integer() and value >= 0 else None


def _well_formed(delta: object) -> bool:
    return isinstance(delta, (list, tuple)) and all(map(_well_formed_op, delta))


def _well_formed_op(op: object) -> bool:
    if not isinstance(op, Mapping) or not isinstance(op.get("path"), (list, tuple)):
        return False
    if not all(isinstance(s, str) or _is_number(s) for s in op["path"]):
        return False
    if op.get("op") in _OPS_WITH_VALUE:
        return "value" in op
    return op.get("op") == "remove" or (
        op.get("op") == "inc" and _is_number(op.get("value"))
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _parsed(game: Game, player: str, data: Json) -> Json:
    assert game.profile is not None
    if game.profile.parse is None:
        return data
    try:
        return game.profile.parse(data)
    except Exception as error:
        raise InvalidMatchError(
            f"the profile of player {player!r} cannot be read: {error}",
            code="invalid_profile",
        ) from error


def _frozen_match(match: Mapping[str, Json]) -> FDict:
    try:
        frozen: FDict = freeze(dict(match), label="match")
    except InvalidJsonValueError as error:
        raise InvalidMatchError(str(error), code="invalid_profile") from error
    return frozen
