"""What a match may be configured with: named fields with a type, bounds, a default.

A schema travels as JSON too, so a field is written either as a `ConfigField` or as
the mapping that a file holds (`{"type": "number", "default": 3, "min": 1}`).
A default is checked when a match starts, by the same rule as a given value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .errors import DefinitionError, InvalidMatchError
from .jsonvalue import Json

__all__ = ["ConfigField", "complete_config", "config_field", "read_config_field"]

FieldType = Literal["number", "boolean", "enum"]
FIELD_TYPES: tuple[FieldType, ...] = ("number", "boolean", "enum")


@dataclass(frozen=True, slots=True)
class ConfigField:
    """One field. `min` and `max` bound a number, `options` are an enum's values."""

    type: FieldType
    default: Json
    min: float | None = None
    max: float | None = None
    options: tuple[str, ...] = ()
    label: str | None = None

    def problem(self, value: object) -> str | None:
        """What is wrong with a value, as the end of a sentence, or None."""
        if self.type == "number":
            return self._number_problem(value)
        if self.type == "boolean":
            return None if isinstance(value, bool) else "must be a boolean"
        if isinstance(value, str) and value in self.options:
            return None
        return f"value {value!r} is not in options [{', '.join(self.options)}]"

    def _number_problem(self, value: object) -> str | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return "must be a finite number"
        if not math.isfinite(value):
            return "must be a finite number"
        if self.min is not None and value < self.min:
            return f"value {value} is below min {self.min}"
        if self.max is not None and value > self.max:
            return f"value {value} is above max {self.max}"
        return None


def config_field(
    type: FieldType,
    default: Json,
    *,
    min: float | None = None,
    max: float | None = None,
    options: Sequence[str] = (),
    label: str | None = None,
) -> ConfigField:
    """Declare one field of a game's configuration.

    Raises:
        DefinitionError: The type is unknown, or an enum has no options.
    """
    if type not in FIELD_TYPES:
        raise DefinitionError(
            f"a config field is one of {', '.join(FIELD_TYPES)}, not {type!r}"
        )
    if type == "enum" and not options:
        raise DefinitionError("a config field of type enum needs options")
    return ConfigField(type, default, min, max, tuple(options), label)


def read_config_field(field: ConfigField | Mapping[str, Any]) -> ConfigField:
    """A field in either notation.

    Raises:
        DefinitionError: It is not a field, or says what a field does not know.
    """
    if isinstance(field, ConfigField):
        return field
    if not isinstance(field, Mapping) or not {"type", "default"} <= field.keys():
        raise DefinitionError("a config field needs at least a type and a default")
    known = {key: field.get(key) for key in ("min", "max", "label")}
    return config_field(
        field["type"], field["default"], options=field.get("options") or (), **known
    )


def complete_config(
    schema: Mapping[str, ConfigField | Mapping[str, Any]] | None,
    given: object,
    *,
    present: bool,
) -> dict[str, Json] | None:
    """A match's whole configuration: what was given, and defaults for the rest.

    `present` says whether the match has a configuration at all: even an empty one is
    wrong for a game without a schema.

    Raises:
        InvalidMatchError: unexpected_config, unknown_config_key, invalid_config_value.
        DefinitionError: The schema itself is malformed.
    """
    if schema is None:
        if present:
            raise InvalidMatchError(
                "match.config is given, but the game declares no config; leave it out",
                code="unexpected_config",
            )
        return None
    if present and not isinstance(given, Mapping):
        raise InvalidMatchError(
            "match.config must be an object", code="invalid_config_value"
        )
    values: Mapping[str, Json] = given if isinstance(given, Mapping) else {}
    for key in values:
        if key not in schema:
            raise InvalidMatchError(
                f"match.config has no field {key!r}; known: {', '.join(schema)}",
                code="unknown_config_key",
            )
    return {key: _value(key, field, values) for key, field in schema.items()}


def _value(
    key: str, raw: ConfigField | Mapping[str, Any], values: Mapping[str, Json]
) -> Json:
    field = read_config_field(raw)
    value = values.get(key, field.default)
    problem = field.problem(value)
    if problem is not None:
        raise InvalidMatchError(
            f"match.config.{key} {problem}", code="invalid_config_value"
        )
    return value
