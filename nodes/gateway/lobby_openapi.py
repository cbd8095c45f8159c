"""The part of the API's document that is about lobbies."""

from __future__ import annotations

from typing import Any

from .lobby_bodies import (
    CreatedGuest,
    CreatedLobby,
    LobbyState,
    NewGuest,
    NewLobby,
    OfferedGames,
)

__all__ = ["LOBBY_SHAPES", "lobby_paths"]

LOBBY_SHAPES = (
    CreatedGuest,
    CreatedLobby,
    LobbyState,
    NewGuest,
    NewLobby,
    OfferedGames,
)

_LOBBY = {
    "name": "match",
    "in": "path",
    "required": True,
    "description": "The lobby's id, as its creation told.",
    "schema": {"type": "string"},
}
_EPOCH = {
    "name": "epoch",
    "in": "query",
    "required": False,
    "description": "The lobby's epoch; only an operator's token needs it.",
    "schema": {"type": "integer", "minimum": 0},
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "The same key again is the same lobby, with the same host. Without "
    "a token it has 16 characters or more, which nobody guesses.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 128},
}
_OR_NOBODY: list[dict[str, list[str]]] = [{"token": []}, {}]
"""A token, or none where the gateway lets anybody open a lobby."""


def lobby_paths() -> dict[str, Any]:
    """By path."""
    return {
        "/api/games": {
            "get": {
                "operationId": "getGames",
                "summary": "What can be played here.",
                "security": _OR_NOBODY,
                "responses": _answers("200", "OfferedGames"),
            }
        },
        "/api/lobbies": {
            "post": {
                "operationId": "createLobby",
                "summary": "Open a lobby (an operator's token, or anybody's wish).",
                "security": _OR_NOBODY,
                "parameters": [_KEY],
                "requestBody": _body("NewLobby"),
                "responses": _answers("201", "CreatedLobby"),
            }
        },
        "/api/lobbies/{match}": {
            "get": {
                "operationId": "getLobby",
                "summary": "How the lobby stands (any token of it).",
                "parameters": [_LOBBY, _EPOCH],
                "responses": _answers("200", "LobbyState"),
            }
        },
        "/api/lobbies/{match}/guests": {
            "post": {
                "operationId": "enterLobby",
                "summary": "Come in, with an invitation's token.",
                "parameters": [_LOBBY],
                "requestBody": _body("NewGuest"),
                "responses": _answers("201", "CreatedGuest"),
            }
        },
    }


def _answers(status: str, shape: str) -> dict[str, Any]:
    return {
        status: {"description": "Done.", "content": _shape(shape)},
        "default": {
            "description": "Refused: the code says why.",
            "content": _shape("ErrorBody"),
        },
    }


def _body(shape: str) -> dict[str, Any]:
    return {"required": True, "content": _shape(shape)}


def _shape(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}
