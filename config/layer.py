"""Where values come from: files, environment, flags, each as one layer.

A layer is a nested mapping and, for every leaf, the name its author knows it by.
Layers are merged by pydantic-settings; the names are kept here, so that a fault can
say whose it is. A layer's own faults (a file that is not TOML, a variable that
means nothing) are kept beside its values: one does not hide the others.
"""

from __future__ import annotations

import dataclasses
import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_origin, get_type_hints

from pydantic import BaseModel

from .errors import Fault

__all__ = ["ENV_PREFIX", "Layer", "leaves", "nearest"]

ENV_PREFIX = "HOTSEAT_"

RESERVED_VARIABLES = frozenset({"DIR", "CLUSTER", "CONFIG", "DEBUG", "SECRET_FILE"})
"""Variables that say where to look, not what to be: the commands read them."""

KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layer:
    """One source's values, and the name of each of them there.

    `offered` has the flags that were not given.
    """

    values: dict[str, Any]
    names: dict[KeyPath, str] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    offered: dict[KeyPath, str] = field(default_factory=dict)

    @classmethod
    def from_file(cls, path: Path) -> Layer:
        """Read a TOML file; one that cannot be read is a fault."""
        try:
            values = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            return cls({}, faults=(_unreadable(path, error.strerror or str(error)),))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            return cls({}, faults=(_unreadable(path, str(error)),))
        names = {key: f"{'.'.join(key)} in {path}" for key in _paths(values)}
        return cls(values, names)

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], schema: type[BaseModel]
    ) -> Layer:
        """Take every HOTSEAT_* variable; one that names no option is a fault."""
        known = {"_".join(key).upper(): key for key in leaves(schema)}
        kinds = leaves(schema)
        layer = cls({})
        faults: list[Fault] = []
        for variable, text in sorted(environ.items()):
            if not variable.startswith(ENV_PREFIX):
                continue
            name = variable.removeprefix(ENV_PREFIX)
            if name in RESERVED_VARIABLES:
                continue
            if name in known:
                key = known[name]
                layer.put(key, _from_text(text, kinds[key]), variable)
                continue
            close = nearest(name, known)
            hint = f"did you mean {ENV_PREFIX}{close}?" if close else ""
            faults.append(
                Fault("unknown_key", variable, "a variable that is known", hint=hint)
            )
        return dataclasses.replace(layer, faults=tuple(faults))

    @classmethod
    def from_flags(cls, flags: Mapping[str, tuple[str, object]]) -> Layer:
        """Take flags as `{"--loop": ("node.loop", value)}`; None is not given."""
        layer = cls({})
        for flag, (dotted, value) in flags.items():
            key = tuple(dotted.split("."))
            if value is None:
                layer.offered[key] = flag
            else:
                layer.put(key, value, flag)
        return layer

    def put(self, key: KeyPath, value: object, name: str) -> None:
        """Set one leaf."""
        table = self.values
        for part in key[:-1]:
            table = table.setdefault(part, {})
        table[key[-1]] = value
        self.names[key] = name

    def drop(self, key: KeyPath) -> None:
        """Forget one leaf's value, if it is here; its name stays. Tables stay."""
        table: Any = self.values
        for part in key[:-1]:
            table = table.get(part)
            if not isinstance(table, dict):
                return
        if len(key) > 1:
            table.pop(key[-1], None)


def leaves(schema: type[Any], prefix: KeyPath = ()) -> dict[KeyPath, Any]:
    """Every option under a schema, by key, with its declared type."""
    found: dict[KeyPath, Any] = {}
    if dataclasses.is_dataclass(schema):
        hints = get_type_hints(schema)
        fields = {f.name: hints[f.name] for f in dataclasses.fields(schema) if f.init}
    else:
        fields = {n: f.annotation for n, f in schema.model_fields.items()}
    for name, kind in fields.items():
        if _is_section(kind):
            found |= leaves(kind, (*prefix, name))
        else:
            found[(*prefix, name)] = kind
    return found


def nearest(word: str, words: Iterable[str]) -> str:
    """The known word that was probably meant, or nothing."""
    return next(iter(difflib.get_close_matches(word, list(words), 1, 0.6)), "")


def _is_section(kind: object) -> bool:
    return isinstance(kind, type) and (
        issubclass(kind, BaseModel) or dataclasses.is_dataclass(kind)
    )


def _from_text(text: str, kind: object) -> object:
    """A list is written with commas; all else is read by its type later."""
    if get_origin(kind) is tuple:
        return tuple(part.strip() for part in text.split(",") if part.strip())
    return text


def _paths(values: Mapping[str, Any], prefix: KeyPath = ()) -> list[KeyPath]:
    """The path of every table and every leaf."""
    found: list[KeyPath] = []
    for name, value in values.items():
        found.append((*prefix, name))
        if isinstance(value, Mapping):
            found += _paths(value, (*prefix, name))
    return found


def _unreadable(path: Path, reason: str) -> Fault:
    return Fault("unreadable_file", str(path), "a TOML file", reason)
