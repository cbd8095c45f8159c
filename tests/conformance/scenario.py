"""Plays one case of core_semantics.json on the engine, and answers as the reference.

A `Scenario` holds the live session beside the log that the reference keeps inside its
snapshots. `perform` does one operation of a script and gives what came of it in the
reference's own words: {ok}, {fired}, {value} or {throws}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hotseat.engine.control import control_summary
from hotseat.engine.definition import Game
from hotseat.engine.errors import EngineError
from hotseat.engine.graph import compile_graph
from hotseat.engine.record import Record
from hotseat.engine.refusal import Refusal
from hotseat.engine.session import Session, create_session, session_from_snapshot
from hotseat.engine.snapshot import Snapshot

from .encode import (
    event_json,
    graph_json,
    plain,
    read_snapshot,
    refusal_json,
    snapshot_json,
    step_json,
    summary_json,
)
from .language import evaluate
from .outcome import Skip

__all__ = ["Scenario"]

Json = Any


@dataclass(frozen=True)
class Saved:
    """What a restored session starts from. A snapshot from elsewhere has no records."""

    snapshot: Snapshot
    log: tuple[Json, ...]
    records: tuple[Record, ...] = ()


class Scenario:
    """A session under test.

    Raises:
        EngineError: The engine refuses to create the session.
    """

    def __init__(self, game: Game, options: Mapping[str, Json]) -> None:
        given = {key: options[key] for key in ("seed", "now") if key in options}
        self._game = game
        self._session = create_session(game, options["match"], **given)
        self._log: list[Json] = []
        self._saved: Saved | None = None
        snapshot = self._session.snapshot
        self._started = {
            "initialNow": snapshot.meta.now,
            "match": plain(snapshot.meta.match),
            "seed": snapshot.meta.seed,
        }

    @property
    def state(self) -> Json:
        """The whole snapshot with its log, as the reference's getState gives it."""
        return snapshot_json(self._session.snapshot, self._log)

    @property
    def session(self) -> Session:
        return self._session

    def perform(self, step: Mapping[str, Json]) -> Json:
        """Do one operation. An engine's error is an answer: {"throws": its text}."""
        operation = OPERATIONS.get(step["op"])
        if operation is None:
            raise Skip(f"unknown operation {step['op']!r}")
        try:
            return operation(self, step)
        except EngineError as error:
            return {"throws": f"{type(error).__name__}: {error}"}

    def _apply(self, step: Mapping[str, Json]) -> Json:
        payload = step.get("payload")
        if "bad_payload" in step:
            payload = evaluate(step["bad_payload"], {})
        answer = self._session.apply(
            step["player"], step["event"], payload, now=evaluate(step["at"], {})
        )
        if isinstance(answer, Refusal):
            return refusal_json(answer)
        return {"ok": True, "steps": self._taken(answer)}

    def _fire_timeout(self, step: Mapping[str, Json]) -> Json:
        answer = self._session.fire_timeout(evaluate(step["now"], {}))
        if answer is None:
            return {"fired": False}
        if isinstance(answer, Refusal):
            return {"fired": False, "refused": answer.code}
        return {"fired": True, "steps": self._taken(answer)}

    def _taken(self, batch: Any) -> Json:
        """The batch's steps; its first event goes to the log at the very end."""
        before = tuple(self._log)
        self._log.append(event_json(batch.steps[0].event))
        last = len(batch.steps) - 1
        return [
            {
                **step_json(step),
                "snapshot": snapshot_json(
                    step.snapshot, self._log if index == last else before
                ),
            }
            for index, step in enumerate(batch.steps)
        ]

    def _save(self, step: Mapping[str, Json]) -> Json:
        session = self._session
        self._saved = Saved(session.snapshot, tuple(self._log), tuple(session.log))
        return {"value": "saved"}

    def _restore(self, step: Mapping[str, Json]) -> Json:
        saved = self._saved
        if "snapshot" in step:
            given = step["snapshot"]
            saved = Saved(read_snapshot(given), tuple(given["meta"]["log"]))
        if saved is None:
            raise Skip("restore without a saved snapshot")
        self._session = session_from_snapshot(self._game, saved.snapshot, saved.records)
        self._log = list(saved.log)
        return {"value": "restored"}

    def _replay_data(self, step: Mapping[str, Json]) -> Json:
        return {"value": {**self._started, "actions": list(self._log)}}

    def _player_view(self, step: Mapping[str, Json]) -> Json:
        return {"value": plain(self._session.player_view(step["player"]))}

    def _public_view(self, step: Mapping[str, Json]) -> Json:
        return {"value": plain(self._session.public_view())}

    def _graph(self, step: Mapping[str, Json]) -> Json:
        return {"value": graph_json(compile_graph(self._game))}

    def _next_deadline(self, step: Mapping[str, Json]) -> Json:
        return {"value": self._session.next_deadline}

    def _result(self, step: Mapping[str, Json]) -> Json:
        return {"value": plain(self._session.result)}

    def _control_summary(self, step: Mapping[str, Json]) -> Json:
        summary = control_summary(self._game, self._session.snapshot)
        return {"value": summary_json(summary)}


OPERATIONS: Mapping[str, Callable[[Scenario, Mapping[str, Json]], Json]] = {
    "apply": Scenario._apply,
    "fire_timeout": Scenario._fire_timeout,
    "public_view": Scenario._public_view,
    "player_view": Scenario._player_view,
    "graph": Scenario._graph,
    "next_deadline": Scenario._next_deadline,
    "result": Scenario._result,
    "replay_data": Scenario._replay_data,
    "control_summary": Scenario._control_summary,
    "save": Scenario._save,
    "restore": Scenario._restore,
}
