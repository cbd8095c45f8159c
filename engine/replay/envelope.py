"""The envelope: a saved replay as JSON, version 1, as the reference writes it.

It holds what a match started from and what was done, no states and no digests; so it
is small, travels between implementations, and says nothing about the rules. Field
names in JSON are the reference's. A deadline that fired is written there as an
internal event called `__timeout`; here it is an action of type "timeout".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from ..errors import InvalidJsonValueError, TooDeepError
from ..frozen import FDict, enclose, freeze, thaw
from ..jsonvalue import Json
from .replay_error import EnvelopeError

__all__ = [
    "ENVELOPE_VERSION",
    "Envelope",
    "EnvelopeAction",
    "create_envelope",
    "envelope_to_json",
    "parse_envelope",
    "read_envelope",
    "write_envelope",
]

ENVELOPE_VERSION: Final = 1

_TIMEOUT: Final = "__timeout"

# Keys of a match that an envelope keeps; others are dropped when it is read.
_MATCH_KEYS: Final = ("players", "data", "hostPlayerID", "config", "profiles")


class EnvelopeAction(msgspec.Struct, frozen=True, gc=False):
    """One thing that was done. Ids and turns are for readers: a replay numbers anew."""

    action_id: str
    at: int | float
    event: str
    payload: Json
    player_id: str | None
    """None unless a player did it."""
    turn: int | float
    type: Literal["event", "timeout", "internal"]
    """Internal ones follow from others; a replay passes them by."""


class Envelope(msgspec.Struct, frozen=True):
    """A saved replay."""

    game_id: str
    match: FDict
    actions: tuple[EnvelopeAction, ...] = ()
    seed: str = "default"
    initial_now: int | float = 0
    player_id: str | None = None
    """Whose view the frames show; None for nobody's."""
    metadata: FDict | None = None


def create_envelope(
    game_id: str,
    match: object,
    actions: object = (),
    *,
    seed: object = "default",
    initial_now: object = 0,
    player_id: object = None,
    metadata: object = None,
) -> Envelope:
    """Make an envelope from its parts; `actions` as in JSON, or as `EnvelopeAction`.

    Unlike one that is read, it keeps whatever keys the match has.

    Raises:
        EnvelopeError: A part is wrong; the first one is named.
    """
    if isinstance(actions, Sequence) and not isinstance(actions, str):
        actions = [
            _action_to_json(action) if isinstance(action, EnvelopeAction) else action
            for action in actions
        ]
    _string(game_id, "gameID")
    checked = _match(match, "match")
    whole = _object(_frozen(match, "match"), "match")
    read = _actions(actions, "actions")
    return Envelope(
        game_id,
        whole,
        read,
        _text(seed, "seed"),
        _number(initial_now, "initialNow"),
        None if player_id is None else _seat(player_id, checked, "playerID"),
        None
        if metadata is None
        else _object(_frozen(metadata, "metadata"), "metadata"),
    )


def parse_envelope(value: object) -> Envelope:
    """Read an envelope from JSON values. Unknown keys are dropped.

    Checked in this order: version, gameID, initialNow, seed, match, actions, playerID,
    metadata; the first that is wrong is named.

    Raises:
        EnvelopeError: It is none.
    """
    if not isinstance(value, Mapping):
        raise EnvelopeError("", f"a saved replay is an object, not {_kind(value)}")
    version = value.get("version")
    if isinstance(version, bool) or version != ENVELOPE_VERSION:
        raise EnvelopeError("version", f"must be {ENVELOPE_VERSION}, not {version!r}")
    game_id = _string(value.get("gameID"), "gameID")
    initial_now = _number(value.get("initialNow"), "initialNow")
    seed = _text(value.get("seed"), "seed")
    match = _match(value.get("match"), "match")
    actions = _actions(value.get("actions"), "actions")
    player_id = metadata = None
    if "playerID" in value:
        player_id = _seat(value["playerID"], match, "playerID")
    if "metadata" in value:
        metadata = _object(_frozen(value["metadata"], "metadata"), "metadata")
    return Envelope(game_id, match, actions, seed, initial_now, player_id, metadata)


def read_envelope(text: str | bytes) -> Envelope:
    """Read an envelope from its JSON text.

    Raises:
        EnvelopeError: It is not JSON, or no envelope.
    """
    try:
        return parse_envelope(_decode(text))
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise EnvelopeError("", f"a saved replay is JSON text: {error}") from error


def _decode(text: str | bytes) -> object:
    """The JSON value; `actions` stay text, if it is an object with some."""
    try:
        parts = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        return msgspec.json.decode(text)
    value: dict[str, object] = {
        name: msgspec.json.decode(part)
        for name, part in parts.items()
        if name != "actions"
    }
    if "actions" in parts:
        value["actions"] = parts["actions"]
    return value


def write_envelope(envelope: Envelope) -> str:
    """The JSON text of an envelope."""
    return json.dumps(envelope_to_json(envelope), ensure_ascii=False)


def envelope_to_json(envelope: Envelope) -> dict[str, Json]:
    """A plain copy in the reference's field names."""
    written: dict[str, Json] = {
        "version": ENVELOPE_VERSION,
        "gameID": envelope.game_id,
        "initialNow": envelope.initial_now,
        "seed": envelope.seed,
        "match": thaw(envelope.match),
        "actions": [_action_to_json(action) for action in envelope.actions],
    }
    if envelope.player_id is not None:
        written["playerID"] = envelope.player_id
    if envelope.metadata is not None:
        written["metadata"] = thaw(envelope.metadata)
    return written


def _action_to_json(action: EnvelopeAction) -> dict[str, Json]:
    return {
        "actionID": action.action_id,
        "at": action.at,
        "event": action.event,
        "payload": thaw(action.payload),
        "playerID": action.player_id,
        "turn": action.turn,
        "type": "event" if action.type == "event" else "internal",
    }


def _match(value: object, path: str) -> FDict:
    """The match with the keys that are known."""
    match = _object(_frozen(value, path), path)
    players = match.get("players")
    if not isinstance(players, list):
        raise EnvelopeError(f"{path}.players", f"must be a list, not {_kind(players)}")
    for index, player in enumerate(players):
        _string(player, f"{path}.players[{index}]")
    if not players:
        raise EnvelopeError(f"{path}.players", "must contain at least one player")
    if match.get("hostPlayerID") is not None:
        _seat(match["hostPlayerID"], match, f"{path}.hostPlayerID")
    for key in ("config", "profiles"):
        if key in match:
            _object(match[key], f"{path}.{key}")
    return _object(freeze({k: match[k] for k in _MATCH_KEYS if k in match}), path)


class _Wire(msgspec.Struct, gc=False):
    actionID: str
    at: int | float
    event: str
    playerID: str | None
    turn: int | float
    type: Literal["event", "internal"]
    payload: msgspec.Raw = msgspec.Raw(b"null")


def _actions(value: object, path: str) -> tuple[EnvelopeAction, ...]:
    """All of them at once, as far as nothing is wrong; else one by one, to name it."""
    if not isinstance(value, msgspec.Raw):
        return _actions_one_by_one(value, path)
    try:
        return _actions_at_once(msgspec.json.decode(value, type=list[_Wire]))
    except ValueError:  # msgspec's, freeze's and our own are all of it
        return _actions_one_by_one(msgspec.json.decode(value), path)


def _actions_at_once(wires: list[_Wire]) -> tuple[EnvelopeAction, ...]:
    """Few payloads of a game differ: each of them is read once.

    Raises:
        ValueError: Something is wrong, or must be looked at more closely.
    """
    names = [w.actionID for w in wires]
    names += {w.event for w in wires} | {w.playerID or "-" for w in wires}
    if not all(names) or not "".join(names).isascii():
        raise ValueError
    ats = enclose([wire.at for wire in wires])
    turns = enclose([wire.turn for wire in wires])
    texts = [bytes(wire.payload) for wire in wires]
    payloads = {text: enclose(msgspec.json.decode(text)) for text in set(texts)}
    return tuple(
        EnvelopeAction(
            wire.actionID,
            at,
            wire.event,
            payloads[text],
            wire.playerID,
            turn,
            _type(wire),
        )
        for wire, at, text, turn in zip(wires, ats, texts, turns, strict=True)
    )


def _type(wire: _Wire) -> Literal["event", "timeout", "internal"]:
    if (wire.type == "event") != bool(wire.playerID):
        raise ValueError
    if wire.type == "event":
        return "event"
    return "timeout" if wire.event == _TIMEOUT else "internal"


def _actions_one_by_one(value: object, path: str) -> tuple[EnvelopeAction, ...]:
    actions = _frozen(value, path)
    if not isinstance(actions, list):
        raise EnvelopeError(path, f"must be a list, not {_kind(actions)}")
    return tuple(_action(each, f"{path}[{at}]") for at, each in enumerate(actions))


def _action(value: Json, path: str) -> EnvelopeAction:
    given = _object(value, path)
    event, player_id = given.get("event"), given.get("playerID")
    kind: Literal["event", "timeout", "internal"] = "event"
    if given.get("type") == "internal":
        kind = "timeout" if event == _TIMEOUT else "internal"
    elif given.get("type") != "event":
        problem = f'must be "event" or "internal", not {given.get("type")!r}'
        raise EnvelopeError(f"{path}.type", problem)
    action_id = _string(given.get("actionID"), f"{path}.actionID")
    if kind == "event":
        player_id = _string(player_id, f"{path}.playerID")
    elif player_id is not None:
        raise EnvelopeError(f"{path}.playerID", "must be null for internal records")
    return EnvelopeAction(
        action_id,
        _number(given.get("at"), f"{path}.at"),
        _string(event, f"{path}.event"),
        given.get("payload"),
        player_id,
        _number(given.get("turn"), f"{path}.turn"),
        kind,
    )


def _frozen(value: object, path: str) -> Json:
    try:
        return enclose(value, label=path)
    except TooDeepError as error:
        raise EnvelopeError(path, f"is nested too deeply: {error.problem}") from error
    except InvalidJsonValueError as error:
        place = f"{path}{error.path[1:]}"
        raise EnvelopeError(place, f"is not JSON: {error.problem}") from error


def _object(value: Json, path: str) -> FDict:
    if not isinstance(value, FDict):
        raise EnvelopeError(path, f"must be an object, not {_kind(value)}")
    found: FDict = value
    return found


def _text(value: object, path: str) -> str:
    checked = _frozen(value, path) if isinstance(value, str) else None
    if not isinstance(checked, str):
        raise EnvelopeError(path, f"must be a string, not {_kind(value)}")
    return checked


def _string(value: object, path: str) -> str:
    text = _text(value, path)
    if not text:
        raise EnvelopeError(path, "must be a string that is not empty")
    return text


def _number(value: object, path: str) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise EnvelopeError(path, f"must be a number, not {_kind(value)}")
    checked: Any = _frozen(value, path)
    number: int | float = checked
    return number


def _seat(value: object, match: FDict, path: str) -> str:
    seat = _string(value, path)
    if seat not in match["players"]:
        raise EnvelopeError(path, f"{seat!r} is not in match.players")
    return seat


def _kind(value: object) -> str:
    """What a value is, in JSON's words."""
    if value is None:
        return "null"
    names = {bool: "a boolean", str: "a string", int: "a number", float: "a number"}
    for kind, name in names.items():
        if isinstance(value, kind):
            return name
    if isinstance(value, Mapping):
        return "an object"
    return "a list" if isinstance(value, (list, tuple)) else type(value).__name__
