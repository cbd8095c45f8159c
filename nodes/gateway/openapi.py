"""The OpenAPI document of the HTTP API, made from the shapes that the code uses."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import msgspec

from .api_bodies import (
    CreatedMatch,
    ErrorBody,
    Link,
    MatchState,
    NewMatch,
    NewToken,
)
from .lobby_openapi import LOBBY_SHAPES, lobby_paths
from .operator_openapi import OPERATOR_SHAPES, operator_paths
from .profiles import KeptProfiles

__all__ = ["openapi_document"]

REF = "#/components/schemas/{name}"

_MATCH = {
    "name": "match",
    "in": "path",
    "required": True,
    "description": "The match's id, as its creation told.",
    "schema": {"type": "string"},
}
_EPOCH = {
    "name": "epoch",
    "in": "query",
    "required": False,
    "description": "The match's epoch; only an operator's token needs it.",
    "schema": {"type": "integer", "minimum": 0},
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key again is the same match: ask again after a lost "
    "answer. "
    "With other content it is refused as key_reused.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128},
}


def openapi_document(url: str) -> dict[str, Any]:
    """The document, for a gateway that players reach at `url`."""
    shapes = [NewMatch, NewToken, CreatedMatch, Link, MatchState, ErrorBody]
    shapes += [KeptProfiles]
    shapes += [*LOBBY_SHAPES, *OPERATOR_SHAPES]
    _, made = msgspec.json.schema_components(shapes, ref_template=REF)
    schemas = msgspec.json.decode(msgspec.json.encode(made))  # defaults are tuples
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hotseat gateway",
            "version": version("hotseat"),
            "summary": "Open matches and invite to them. They are played over "
            "WebSockets, at /rooms/{match}: see docs/gateway.md.",
        },
        "servers": [{"url": url}],
        "security": [{"token": []}],
        "paths": {
            **_match_paths(),
            **lobby_paths(),
            **operator_paths(),
            "/healthz": {"get": _probe("healthz", "The gateway lives.")},
            "/readyz": {"get": _probe("readyz", "It reaches the cluster.")},
        },
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "Also as ?token= in the query.",
                }
            },
        },
    }


def _match_paths() -> dict[str, Any]:
    """Matches: opened, invited to, looked at."""
    film = _content("Its snapshots, with the steps between.", {"type": "object"})
    replay = _content("A replay envelope, version 1.", {"type": "object"})
    return {
        "/api/matches": {
            "post": {
                "operationId": "createMatch",
                "summary": "Open a match (an operator's token).",
                "parameters": [_KEY],
                "requestBody": _body("NewMatch"),
                "responses": _answers("201", "CreatedMatch"),
            }
        },
        "/api/matches/{match}": {
            "get": {
                "operationId": "getMatch",
                "summary": "How the match stands, as everybody may see it.",
                "parameters": [_MATCH, _EPOCH],
                "responses": _answers("200", "MatchState"),
            }
        },
        "/api/matches/{match}/tokens": {
            "post": {
                "operationId": "createToken",
                "summary": "A token for a seat or a spectator (operators).",
                "parameters": [_MATCH],
                "requestBody": _body("NewToken"),
                "responses": _answers("201", "Link"),
            }
        },
        "/api/matches/{match}/replay": {
            "get": {
                "operationId": "getReplay",
                "summary": "The replay of a match that has ended.",
                "parameters": [_MATCH, _EPOCH],
                "responses": {"200": replay, "default": _error()},
            }
        },
        "/api/matches/{match}/profiles": {
            "get": {
                "operationId": "getProfiles",
                "summary": "What an ended match leaves to its players' profiles "
                "(operators all, a seat its own).",
                "parameters": [_MATCH, _EPOCH],
                "responses": _answers("200", "KeptProfiles"),
            }
        },
        "/api/matches/{match}/film": {
            "get": {
                "operationId": "getFilm",
                "summary": "An ended match, as the token's seat could see it.",
                "parameters": [_MATCH, _EPOCH],
                "responses": {"200": film, "default": _error()},
            }
        },
    }


def _body(shape: str) -> dict[str, Any]:
    return {"required": True, "content": _json({"$ref": REF.format(name=shape)})}


def _answers(status: str, shape: str) -> dict[str, Any]:
    good = _content("Done.", {"$ref": REF.format(name=shape)})
    return {status: good, "default": _error()}


def _error() -> dict[str, Any]:
    return _content(
        "Refused: the code says why.", {"$ref": REF.format(name="ErrorBody")}
    )


def _content(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": _json(schema)}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _probe(name: str, summary: str) -> dict[str, Any]:
    text = {"text/plain": {"schema": {"type": "string"}}}
    return {
        "operationId": name,
        "summary": summary,
        "security": [],
        "responses": {
            "200": {"description": "Yes.", "content": text},
            "503": {"description": "Not now.", "content": text},
        },
    }
