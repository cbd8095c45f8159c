"""What validation says about a game: diagnostics, and the report that holds them.

`DIAGNOSTICS` is the one table of their codes; `docs/diagnostics.md` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from .jsonvalue import Json

__all__ = ["DIAGNOSTICS", "Diagnostic", "DiagnosticCode", "Report", "Severity"]

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `code` is stable; `hint` says what to do about it.

    `event`, `source`, `target` and `state` name the place as far as there is one;
    `context` holds further facts as JSON.
    """

    code: str
    severity: Severity
    message: str
    hint: str
    event: str | None = None
    source: str | None = None
    target: str | None = None
    state: str | None = None
    context: Mapping[str, Json] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = DIAGNOSTICS[self.code].severity
        assert self.severity in known.split(" or "), f"{self.code} is never that"


@dataclass(frozen=True, slots=True)
class Report:
    """Every finding, in the order of the checks. Only errors make a game unusable."""

    diagnostics: Sequence[Diagnostic]

    @property
    def errors(self) -> Sequence[Diagnostic]:
        """The findings that make the game unusable."""
        return [d for d in self.diagnostics if d.severity == "error"]

    @property
    def warnings(self) -> Sequence[Diagnostic]:
        """The findings that may be meant."""
        return [d for d in self.diagnostics if d.severity == "warning"]

    @property
    def ok(self) -> bool:
        """Whether a match of the game can start."""
        return not self.errors


class DiagnosticCode(NamedTuple):
    """What a code means. One that may be either is of severity "error or warning"."""

    severity: str
    meaning: str
    remedy: str


_ERROR: Final = "error"
_WARNING: Final = "warning"

# In the order in which the checks come.
DIAGNOSTICS: Final[Mapping[str, DiagnosticCode]] = MappingProxyType(
    {
        "no_states": DiagnosticCode(
            _ERROR,
            "The game declares no state at all.",
            "Declare at least one leaf: `states={'play': state(active_players=...)}`.",
        ),
        "initial_missing": DiagnosticCode(
            _ERROR,
            "`initial` names a state that is not declared.",
            "Correct the name, or declare the state.",
        ),
        "invalid_hierarchy": DiagnosticCode(
            _ERROR,
            "A `parent` is not declared, or states are inside each other.",
            "Let every chain of parents end at a declared state without one.",
        ),
        "initial_non_leaf": DiagnosticCode(
            _ERROR,
            "`initial` names a state that has children; a match stands in leaves only.",
            "Name the leaf inside it in which a match begins.",
        ),
        "invalid_transition_shape": DiagnosticCode(
            _ERROR,
            "A timeout also has an event, leads from or to no declared state, or is "
            "the second one of its state.",
            "Write `timeout(source, target, resolve)`, one for a state; let its "
            "resolver choose.",
        ),
        "missing_state": DiagnosticCode(
            _ERROR,
            "A transition leads from or to a state that is not declared.",
            "Correct the name, or declare the state.",
        ),
        "compound_transition_target": DiagnosticCode(
            _ERROR,
            "A transition leads to a state that has children.",
            "Name the leaf inside it that is to be entered.",
        ),
        "missing_transition_event": DiagnosticCode(
            _ERROR,
            "A transition waits for an event that is not declared.",
            "Declare it: `events={'name': event()}`; or correct the name.",
        ),
        "structurally_ambiguous_family": DiagnosticCode(
            _ERROR,
            "Two transitions of one state on one event have no resolver, so that both "
            "always match.",
            "Keep one of them, or give them resolvers of which one answers.",
        ),
        "duplicate_transition_signature": DiagnosticCode(
            _ERROR,
            "Two transitions agree in source, event, target, turn and resolver's name, "
            "so that no record could tell them apart.",
            "Remove one, or give each its own `label`.",
        ),
        "unreachable_state": DiagnosticCode(
            _ERROR,
            "No chain of transitions leads from `initial` to this state.",
            "Add the transition that is missing, or remove the state.",
        ),
        "invalid_setup_state": DiagnosticCode(
            _ERROR,
            "`setup` returned something that is not JSON.",
            "Return None, booleans, numbers, strings, lists and dicts with string "
            "keys; a set becomes a sorted list.",
        ),
        "state_derivation_failed": DiagnosticCode(
            "error or warning",
            "`setup`, or a function of a state, raised. An error for `setup` and the "
            "initial state; a warning for the others, which are probed with the G of "
            "`setup` though no match enters them with it.",
            "Let the function work for every G that reaches its state.",
        ),
        "active_players_missing": DiagnosticCode(
            _ERROR,
            "A leaf does not say who may act in it.",
            "Write `active_players=active_round_robin`, a list, or a function; `[]` "
            "where nobody may.",
        ),
        "active_players_unknown": DiagnosticCode(
            _ERROR,
            "`active_players` names somebody who does not play in the match.",
            "Take the names from `ctx.match['players']`.",
        ),
        "active_players_duplicate": DiagnosticCode(
            _ERROR,
            "`active_players` names somebody twice.",
            "Name each player once.",
        ),
        "invalid_state_control": DiagnosticCode(
            _ERROR,
            "`control` gives something that is not JSON.",
            "Return JSON values only.",
        ),
        "invalid_deadline": DiagnosticCode(
            _ERROR,
            "`deadline` gives something that is no instant.",
            "Return milliseconds on the clock of `ctx.now`, such as "
            "`ctx.now + 30_000`, or None.",
        ),
        "invalid_label": DiagnosticCode(
            _ERROR,
            "`label` gives something that is no text.",
            "Return a string or None.",
        ),
        "invalid_metadata": DiagnosticCode(
            _ERROR,
            "`metadata` gives something else than entries of a key and a JSON value.",
            "Return a list of `{'key': 'name', 'value': ...}`.",
        ),
        "invalid_selector": DiagnosticCode(
            _ERROR,
            "A selector gives something that is not JSON.",
            "Return JSON values only.",
        ),
        "invalid_public_view": DiagnosticCode(
            _ERROR,
            "`views.public` gives something that is not JSON.",
            "Return JSON values only.",
        ),
        "invalid_player_view": DiagnosticCode(
            _ERROR,
            "`views.player` gives something that is not JSON.",
            "Return JSON values only.",
        ),
        "suspicious_player_view_identity": DiagnosticCode(
            _WARNING,
            "A player's view does not say whose it is; interfaces that compare "
            "`myPlayerID` with whose turn it is would stand still.",
            "Add `'myPlayerID': seat` to what `views.player` returns; ignore it if "
            "your interface does not look there.",
        ),
        "suspicious_initial_activity": DiagnosticCode(
            _WARNING,
            "Nobody may act in the initial state, though transitions lead out of it.",
            "Say who acts in it; ignore it if a timeout begins the match.",
        ),
        "suspicious_terminal_leaf": DiagnosticCode(
            _WARNING,
            "Somebody may act in a state that no transition leaves.",
            "Write `active_players=[]`, or add the transition that is missing.",
        ),
        "no_views": DiagnosticCode(
            _ERROR,
            "The game declares no public view, so that spectators, and seats without a "
            "view of their own, would see all of G. It can be played locally, but no "
            "host takes it.",
            "Declare `views=views(public=..., player=...)`, or "
            "`open_information=True` if there is nothing to hide.",
        ),
    }
)
