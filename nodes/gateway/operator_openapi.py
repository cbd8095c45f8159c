"""The part of the API's document that operators' pages use."""

from __future__ import annotations

from typing import Any

from ..operator.survey_rows import FoundMatches
from .cluster_view import ClusterBody
from .inspected_bodies import FramesBody, GraphBody, OpenedBody, TimelineBody

__all__ = ["OPERATOR_SHAPES", "operator_paths"]

OPERATOR_SHAPES = (
    ClusterBody,
    FoundMatches,
    FramesBody,
    GraphBody,
    OpenedBody,
    TimelineBody,
)

_REF = "#/components/schemas/{name}"


def operator_paths() -> dict[str, Any]:
    """By path."""
    paths: dict[str, Any] = {
        "/api/cluster": _get(
            "getCluster",
            "Nodes, shards, alarms, rates, what is played most, newest commands. "
            "`If-None-Match` spares what did not change.",
            "ClusterBody",
        ),
        "/api/cluster/matches": _get(
            "findMatches",
            "The matches that are asked for; all but ended ones without a `state`.",
            "FoundMatches",
            _query("game", "Only those of this game."),
            _query("shard", "Only those of this shard.", "integer"),
            _query("state", "Only these; may be repeated."),
            _query("seat", "Only those in which this seat may act."),
            _query("idleMs", "Nothing happened for so many ms.", "integer"),
            _query("sort", "shard, idle or records: the largest first."),
            _query("limit", "So many, 200 at most.", "integer"),
            _query("after", "SHARD/MATCH: those behind it, in the order of shards."),
        ),
        "/api/inspect": {
            "post": {
                "operationId": "inspectFile",
                "summary": "Look at a saved match: a replay, or an exported log.",
                "requestBody": {
                    "required": True,
                    "content": {
                        "application/octet-stream": {"schema": {"type": "string"}}
                    },
                },
                "responses": _answers("201", "OpenedBody"),
            }
        },
    }
    match = _path("match", "The match's id.")
    file = _path("file", "What looking at a file answered.")
    for under, name, place in (
        ("/api/matches/{match}", "Match", match),
        ("/api/inspections/{file}", "File", file),
    ):
        paths[f"{under}/timeline"] = _get(
            f"get{name}Timeline",
            "Its revisions, a page of lines; of a match that goes on as far as it is.",
            "TimelineBody",
            place,
            _query("from", "The first revision.", "integer"),
            _query("limit", "So many, 500 at most.", "integer"),
        )
        paths[f"{under}/graph"] = _get(
            f"get{name}Graph", "The states of its game.", "GraphBody", place
        )
        paths[f"{under}/frames"] = _get(
            f"get{name}Frames",
            "All there is of some revisions.",
            "FramesBody",
            place,
            _query("from", "The first revision.", "integer"),
            _query(
                "count", "So many, 64 at most, or as fit into an answer.", "integer"
            ),
            _query("seat", "Whose view is told as well; empty: a spectator's."),
        )
    return paths


def _get(
    operation: str, summary: str, shape: str, *parameters: dict[str, Any]
) -> dict[str, Any]:
    return {
        "get": {
            "operationId": operation,
            "summary": f"{summary} (Operators, with the scope `inspect`.)",
            "parameters": list(parameters),
            "responses": _answers("200", shape),
        }
    }


def _query(name: str, description: str, kind: str = "string") -> dict[str, Any]:
    return {
        "name": name,
        "in": "query",
        "required": False,
        "description": description,
        "schema": {"type": kind},
    }


def _path(name: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": {"type": "string"},
    }


def _answers(status: str, shape: str) -> dict[str, Any]:
    return {
        status: _content("Done.", shape),
        "default": _content("Refused: the code says why.", "ErrorBody"),
    }


def _content(description: str, shape: str) -> dict[str, Any]:
    schema = {"$ref": _REF.format(name=shape)}
    return {
        "description": description,
        "content": {"application/json": {"schema": schema}},
    }
