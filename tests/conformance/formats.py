"""Which format a vector file has, told by its content, and who checks it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from . import (
    check_core,
    check_gamekit,
    check_games,
    check_inspector,
    check_profile,
    check_replay,
    check_rng,
    check_roundrobin,
    check_validation,
)
from .outcome import Outcome, skipped

__all__ = ["UnreadableFile", "check_file"]

Json = Any
Check = Callable[[Mapping[str, Json]], Iterator[Outcome]]

# Formats of parts that do not exist yet, by a key that only they have.
LATER_FORMATS = {
    "schemas": "hosted",
}
PROFILE_SECTIONS = {"mutation", "update", "commit", "isHost"}


class UnreadableFile(Exception):
    """A file that is no vector file; the text says why, for a person."""


def check_file(path: Path) -> Iterator[Outcome]:
    """The outcome of every case in a file.

    Raises:
        UnreadableFile: It cannot be read, is not JSON, or has no known format.
    """
    document = _read(path)
    check = _recognise(document)
    if check is None:
        raise UnreadableFile(
            f"{path}: not a vector file of a known format (rng, roundrobin, "
            "core_semantics, gamekit, games, validation, profile, replay, "
            "inspector); its keys are "
            f"{', '.join(map(repr, document)) or 'none'}"
        )
    return _checked(path, check, document)


def _checked(
    path: Path, check: Check, document: Mapping[str, Json]
) -> Iterator[Outcome]:
    """Outcomes one by one. An exception between two cases is the document's fault:
    what is wrong inside a case fails that case.

    Raises:
        UnreadableFile: The document is not what its format says.
    """
    try:
        yield from check(document)
    except Exception as error:
        raise UnreadableFile(
            f"{path}: malformed: {type(error).__name__}: {error}"
        ) from error


def _read(path: Path) -> Mapping[str, Json]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableFile(f"{path}: cannot be read: {error}") from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:  # an endless number is a ValueError
        raise UnreadableFile(f"{path}: not JSON: {error}") from error
    if not isinstance(document, dict):
        kind = type(document).__name__
        raise UnreadableFile(f"{path}: not a vector file: a JSON {kind}, no object")
    return document


def _recognise(document: Mapping[str, Json]) -> Check | None:
    if _is_list_of(document.get("games"), "id", "playouts"):
        return check_games.check
    if {"modifiers", "view_helpers"} & document.keys():
        return check_gamekit.check
    if check_replay.is_replay_document(document):
        return check_replay.check
    if check_inspector.is_inspector_document(document):
        return check_inspector.check
    for key, name in LATER_FORMATS.items():
        if key in document:
            return _skip_all(name)
    if PROFILE_SECTIONS & document.keys():
        return check_profile.check
    cases = document.get("cases")
    if {"raw_states", "errors"} & document.keys() or _is_list_of(cases, "seed"):
        return check_rng.check
    if _is_list_of(cases, "players", "turn"):
        return check_roundrobin.check
    if _is_list_of(cases, "game", "session"):
        return _scenarios(cases)
    if _is_list_of(cases, "game", "expect"):
        return check_validation.check
    if _is_list_of(cases, "data", "delta"):
        return check_profile.check
    return None


def _scenarios(cases: Json) -> Check:
    """Scenarios look alike; those of gamekit have games of moves."""
    if any(map(check_gamekit.is_gamekit_case, cases)):
        return check_gamekit.check
    return check_core.check


def _is_list_of(items: Json, *keys: str) -> bool:
    """Whether it is a list of objects which all have these keys."""
    return (
        isinstance(items, list)
        and bool(items)
        and all(isinstance(x, Mapping) and x.keys() >= set(keys) for x in items)
    )


def _skip_all(name: str) -> Check:
    def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
        for key, entries in document.items():
            for index, _ in enumerate(entries if isinstance(entries, list) else ()):
                yield skipped(f"{key}[{index}]", f"the format {name} comes later")

    return check
