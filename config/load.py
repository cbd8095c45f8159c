"""Reads a configuration: files, then environment, then flags; later ones win.

All faults of all sources are raised together, each with the place its value came
from. pydantic-settings merges the layers and validates; this file only says which
layers there are, and turns its errors into ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
)

from .errors import ConfigError, Fault
from .layer import ENV_PREFIX, KeyPath, Layer, leaves, nearest
from .schema import Config, OptionFaults

__all__ = ["load_config"]

TABLES = tuple(Config.model_fields)

GOT_CHARACTERS_MAX = 80
"""A wrong value is shown up to here; it may be anything."""

UNKNOWN_KEY = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
MISSING_KEY = frozenset({"missing", "missing_argument"})

EXPECTED_BY_TYPE: Mapping[str, str] = {
    "bool": "true or false",
    "dataclass": "a table",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "model": "a table",
    "path": "a path",
    "string": "a text",
    "tuple": "a list",
}
"""By the first word of pydantic's error type; the rest says how it failed."""

EXPECTED_BY_BOUND: Mapping[str, str] = {
    "greater_than": "more than {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "less than {lt}",
    "less_than_equal": "at most {le}",
    "literal_error": "one of {expected}",
}


def load_config(
    *,
    files: Sequence[Path] = (),
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, tuple[str, object]] | None = None,
) -> Config:
    """Merge the layers (files in order, environment, flags) and validate.

    Flags are given as `{"--loop": ("node.loop", value)}`; None means not given.

    Raises:
        ConfigError: With every fault there is.
    """
    # every table is there, so that what is missing in it is named key by key
    layers = [Layer({table: {} for table in TABLES})]
    layers += [Layer.from_file(path) for path in files]
    layers.append(Layer.from_environment(environ or {}, Config))
    layers.append(Layer.from_flags(flags or {}))

    faults = [fault for layer in layers for fault in layer.faults]
    unread = any(fault.code == "unreadable_file" for fault in faults)
    try:
        read = _merged(layers)
    except ValidationError as error:
        faults += [
            fault
            for fault in _faults(error, layers)
            # what is missing may stand in the file that could not be read
            if not (unread and fault.code == "missing_key")
        ]
        faults += [f for f in _faults_behind(error, layers) if f not in faults]
    if faults:
        raise ConfigError(faults)
    return Config.model_construct(**{name: getattr(read, name) for name in TABLES})


def _merged(layers: Sequence[Layer]) -> Config:
    """
    Raises:
        ValidationError: With what pydantic finds.
    """

    class Layered(Config):
        """The same schema, fed from exactly these layers, highest first."""

        @classmethod
        def settings_customise_sources(
            cls, settings_cls: type[BaseSettings], *_: Any, **__: Any
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return tuple(
                InitSettingsSource(settings_cls, layer.values)
                for layer in reversed(layers)
            )

    return Layered()  # type: ignore[call-arg]  # the layers hold the values


def _faults_behind(error: ValidationError, layers: Sequence[Layer]) -> list[Fault]:
    """What a table's options say together, which one wrong key of it has hidden.

    The layers lose the wrong keys; a sentence that is about one of them is not said.
    """
    wrong = {_option(tuple(map(str, detail["loc"]))) for detail in error.errors()}
    for key in wrong:
        for layer in layers:
            layer.drop(key)
    try:
        _merged(layers)
    except ValidationError as second:
        named = {key[-1] for key in wrong}
        return [
            fault
            for fault in _faults(second, layers)
            if fault.sentence and not named & set(fault.sentence.split())
        ]
    return []


def _faults(error: ValidationError, layers: Sequence[Layer]) -> list[Fault]:
    found: dict[tuple[KeyPath, str], Fault] = {}
    for detail in error.errors(include_url=False):
        key = tuple(str(part) for part in detail["loc"])
        reason = detail.get("ctx", {}).get("error")
        if isinstance(reason, OptionFaults):
            for sentence in reason.sentences:
                found[(*key, sentence), ""] = _option_fault(key, sentence, layers)
            continue
        code = _code(detail["type"])
        fault = _fault(code, key, detail, layers)
        found.setdefault((_option(key), code), fault)
    return list(found.values())


def _option_fault(key: KeyPath, sentence: str, layers: Sequence[Layer]) -> Fault:
    option = sentence.split(maxsplit=1)[0]
    where = _name((*key, *option.split(".")), layers)
    return Fault("invalid_value", where, expected="", sentence=sentence)


def _fault(
    code: str, key: KeyPath, detail: Mapping[str, Any], layers: Sequence[Layer]
) -> Fault:
    if code == "missing_key":
        ways = [ENV_PREFIX + "_".join(key).upper()]
        ways += [layer.offered[key] for layer in layers if key in layer.offered]
        hint = f"set it in the file, or with {' or '.join(ways)}"
        return Fault(code, ".".join(key), "a value", "none", hint=hint)
    where = _name(key, layers)
    if code == "unknown_key":
        return Fault(code, where, "a key that is known", hint=_guess(key))
    return Fault(code, where, _expected(detail), _shown(detail["input"]))


def _guess(key: KeyPath) -> str:
    """What was probably meant by an unknown key: one beside it, else all of these."""
    table, depth = key[:-1], len(key) - 1
    beside = {
        option[depth]: ".".join(option[: depth + 1])
        for option in leaves(Config)
        if option[:depth] == table and len(option) > depth
    }
    close = nearest(key[-1], beside)
    if close:
        return f"did you mean {beside[close]}?"
    return f"there are {', '.join(sorted(beside.values()))}" if beside else ""


def _code(kind: str) -> str:
    if kind in UNKNOWN_KEY:
        return "unknown_key"
    return "missing_key" if kind in MISSING_KEY else "invalid_value"


def _option(key: KeyPath) -> KeyPath:
    """The option a fault is about: what lies inside a value belongs to it."""
    known = leaves(Config)
    for length in range(len(key), 0, -1):
        if key[:length] in known:
            return key[:length]
    return key


def _name(key: KeyPath, layers: Sequence[Layer]) -> str:
    """What the author of the value calls it: the highest layer that has it."""
    for length in range(len(key), 0, -1):
        for layer in reversed(layers):
            if key[:length] in layer.names:
                return layer.names[key[:length]]
    return ".".join(key)


def _expected(detail: Mapping[str, Any]) -> str:
    kind: str = detail["type"]
    context: Mapping[str, Any] = detail.get("ctx", {})
    if kind in EXPECTED_BY_BOUND:
        return EXPECTED_BY_BOUND[kind].format_map(context)
    if kind == "value_error":
        return str(context["error"])
    word = EXPECTED_BY_TYPE.get(kind.split("_")[0])
    return word or str(detail["msg"])


def _shown(value: object) -> str:
    text = repr(value)
    if len(text) > GOT_CHARACTERS_MAX:
        text = text[: GOT_CHARACTERS_MAX - 1] + "…"
    return text
