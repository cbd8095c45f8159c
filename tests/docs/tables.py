"""Tables in docs/ that follow from the code.

A block between `<!-- table: NAME -->` and `<!-- end -->` is written from the code:

    python -m tests.docs.tables         # rewrite the blocks
    pytest tests/docs                   # fails when one is stale
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from hotseat.config.limits import LIMITS
from hotseat.config.schema import Config
from hotseat.engine.refusal import REFUSALS
from hotseat.nodes.bots.serve import STATISTICS as BOTS_STATISTICS
from hotseat.nodes.exit_codes import ExitCode
from hotseat.nodes.gateway import messages
from hotseat.nodes.gateway.close_code import CLOSE_MEANINGS
from hotseat.nodes.gateway.hosted import NEAREST, REJECTIONS
from hotseat.nodes.gateway.lobby_conversation import REASONS as LOBBY_REASONS
from hotseat.nodes.gateway.serve import STATISTICS as GATEWAY_STATISTICS
from hotseat.nodes.inspect.keys import KEYS, Key
from hotseat.nodes.node.metrics import metric_names
from hotseat.nodes.node.status import STATISTICS
from hotseat.nodes.operator import balance_rows, survey_rows, trace_rows
from hotseat.nodes.operator import rows as operator_rows
from hotseat.nodes.operator.alarms import ALARMS
from hotseat.nodes.telemetry import EVENTS
from hotseat.nodes.tokens.token_error import TOKEN_REFUSALS
from hotseat.nodes.top.keys import TOP_KEYS
from hotseat.runtime import frame
from hotseat.runtime.refusal import RUNTIME_REFUSALS
from hotseat.runtime.replication import message
from hotseat.runtime.replication.role import TRANSITIONS

from ..simulator.interventions import INTERVENTIONS
from ..simulator.mutants import MUTANTS
from ..simulator.nemesis import Nemesis
from ..simulator.settings import FAULTS

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)

Rows = Iterator[tuple[str, ...]]


def refusals() -> Rows:
    """Every code that a player can meet."""
    yield ("code", "meaning")
    for code, sentence in sorted({**REFUSALS, **RUNTIME_REFUSALS}.items()):
        yield (f"`{code}`", sentence)


def frames() -> Rows:
    """Every frame, with its fields in wire order."""
    yield ("tag", "frame", "fields", "meaning")
    kinds = [frame.Hello, *get_args(frame.Frame)]
    for kind in sorted(kinds, key=lambda kind: int(kind.__struct_config__.tag)):
        yield (
            str(kind.__struct_config__.tag),
            f"`{kind.__name__}`",
            ", ".join(f"`{name}`" for name in kind.__struct_fields__),
            _first_paragraph(kind),
        )


def _first_paragraph(kind: object) -> str:
    text = (kind.__doc__ or "").strip().split("\n\n")[0]
    return re.sub(r"\s+", " ", text)


def replica_messages() -> Rows:
    """What replicas say to each other."""
    yield ("message", "fields", "meaning")
    for kind in get_args(message.Message):
        yield (
            f"`{kind.__name__}`",
            ", ".join(f"`{name}`" for name in kind.__struct_fields__),
            _first_paragraph(kind),
        )


def role_changes() -> Rows:
    """Every change of a replica's role."""
    yield ("from", "to", "when")
    for (old, new), why in TRANSITIONS.items():
        yield (old.value, new.value, why)


def limits() -> Rows:
    """The fixed bounds."""
    yield ("bound", "value")
    for name, value in LIMITS.items():
        yield (f"`{name}`", f"{value:,}")


def options() -> Rows:
    """Every option that can be configured, with its default."""
    yield ("option", "default", "meaning")
    for section, field in Config.model_fields.items():
        kind: Any = field.annotation
        yield from _options_of(section, kind, _default(field.default))


def _default(value: object) -> object:
    return value if value is not None else ""


def _options_of(prefix: str, kind: Any, defaults: object) -> Rows:
    sentences = _field_docs(kind)
    names = getattr(kind, "model_fields", None) or kind.__dataclass_fields__
    for name in names:
        default = getattr(defaults, name, "")
        if not default and hasattr(kind, "model_fields"):
            found = kind.model_fields[name]
            default = "" if found.is_required() else found.default
        if hasattr(default, "__dataclass_fields__"):
            yield from _options_of(f"{prefix}.{name}", type(default), default)
            continue
        shown = "" if default in ("", None) else f"`{default}`"
        yield (f"`{prefix}.{name}`", shown, sentences.get(name, ""))


def _field_docs(kind: type) -> dict[str, str]:
    """The sentence that stands below each field in the source."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    (body,) = (node.body for node in tree.body if isinstance(node, ast.ClassDef))
    found: dict[str, str] = {}
    for field, text in pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            found[field.target.id] = re.sub(r"\s+", " ", str(text.value.value)).strip()
    return found


def events() -> Rows:
    """Every event that is ever logged."""
    yield ("event", "meaning")
    for name, sentence in EVENTS.items():
        yield (f"`{name}`", sentence)


def metrics(of: Mapping[str, type] = STATISTICS) -> Rows:
    """Every metric of a node, or of a gateway."""
    yield ("metric", "kind", "what it counts")
    for metric in metric_names(of):
        sentence = _field_docs(metric.of).get(metric.field, "")
        yield (f"`{metric.name}`", metric.kind, sentence or _words(metric.field))


def close_codes() -> Rows:
    """Every code that a gateway closes a WebSocket with."""
    yield ("code", "name", "what to do")
    for code, meaning in CLOSE_MEANINGS.items():
        yield (str(int(code)), f"`{code.name}`", meaning)


def page_messages() -> Rows:
    """Every message that a page may say in a room."""
    yield ("type", "fields", "meaning")
    for kind in get_args(messages.ClientMessage):
        fields = msgspec.structs.fields(kind)
        yield (
            f"`{kind.__struct_config__.tag}`",
            ", ".join(f"`{f.name}`{'' if f.required else '?'}" for f in fields),
            _first_paragraph(kind),
        )


def rejections() -> Rows:
    """Which of the room protocol's codes an action is rejected with."""
    yield ("`error`", "`detail.code`")
    nearest: dict[str, list[str]] = {code: [] for code in sorted(REJECTIONS)}
    for code in sorted({**REFUSALS, **RUNTIME_REFUSALS}):
        if code not in REJECTIONS and code in NEAREST:
            nearest[NEAREST[code]].append(f"`{code}`")
    for error, codes in nearest.items():
        others = ["every other code"] if error == "invalid_event" else []
        yield (f"`{error}`", ", ".join([*codes, *others]) or "none: it says all")


def lobby_reasons() -> Rows:
    """Every reason that a lobby refuses something for."""
    yield ("reason", "meaning")
    for reason, sentence in LOBBY_REASONS.items():
        yield (f"`{reason}`", sentence)


def token_refusals() -> Rows:
    """Every code of a token that is not accepted."""
    yield ("code", "meaning")
    for code, sentence in TOKEN_REFUSALS.items():
        yield (f"`{code}`", sentence)


def _words(field: str) -> str:
    return field.replace("_", " ")


def exit_codes() -> Rows:
    """Every exit status of the command line."""
    meanings = {
        ExitCode.OK: "what was asked for is done",
        ExitCode.FAILED: "it could not be done, or what was checked is wrong",
        ExitCode.USAGE: "the command line or the configuration is wrong",
        ExitCode.UNREACHABLE: "the cluster cannot be reached",
        ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
    }
    yield ("status", "meaning")
    for code in ExitCode:
        yield (str(int(code)), meanings[code])


def keys(of: tuple[Key, ...] = KEYS) -> Rows:
    """Every key of the inspector."""
    yield ("key", "does")
    for key in of:
        if key.shown:
            yield (key.shown, key.does)


def alarms() -> Rows:
    """Every alarm of `hotseat cluster status`."""
    yield ("alarm", "meaning")
    for code, sentence in ALARMS.items():
        yield (f"`{code}`", sentence)


def row(kind: type[msgspec.Struct]) -> Rows:
    """Every field of a row that `--json` prints."""
    yield ("field", "is", "meaning")
    sentences, hints = _field_docs(kind), get_type_hints(kind)
    for name in kind.__struct_fields__:
        yield (f"`{name}`", _json_type(hints[name]), sentences.get(name, ""))


def _json_type(hint: Any) -> str:
    """As it stands in JSON; a row by its name."""
    if (origin := get_origin(hint)) is tuple:
        return f"list of {_json_type(get_args(hint)[0])}"
    if origin is dict:
        return f"object of {_json_type(get_args(hint)[1])}"
    if origin is Literal:
        return "text"
    if alternatives := get_args(hint):
        return " or ".join(map(_json_type, alternatives))
    plain = {str: "text", int: "number", float: "number", bool: "true, false"}
    plain |= {type(None): "null", object: "any", Any: "any"}
    return plain.get(hint) or f"[{hint.__name__}](#{hint.__name__.lower()})"


def simulated_faults() -> Rows:
    """What befalls a simulated cluster, at a time of the nemesis's choice."""
    yield ("fault", "what happens")
    for name in FAULTS:
        yield (f"`{name}`", _first_paragraph(getattr(Nemesis, name)))
    for name, text in INTERVENTIONS.items():
        yield (f"`{name}`", text)


def mutants() -> Rows:
    """The rules that the simulator breaks, to be caught."""
    yield ("mutant", "what it does wrong")
    for mutant in MUTANTS.values():
        yield (f"`{mutant.name}`", mutant.rule)


TABLES: dict[str, Callable[[], Rows]] = {
    "refusals": refusals,
    "frames": frames,
    "limits": limits,
    "options": options,
    "events": events,
    "exit_codes": exit_codes,
    "keys": keys,
    "top_keys": partial(keys, TOP_KEYS),
    "alarms": alarms,
    **{
        f"row_{name}": partial(row, getattr(rows, name))
        for rows in (operator_rows, survey_rows, balance_rows, trace_rows)
        for name in rows.__all__
        if isinstance(getattr(rows, name), type)
    },
    "metrics": metrics,
    "gateway_metrics": partial(metrics, GATEWAY_STATISTICS),
    "bots_metrics": partial(metrics, BOTS_STATISTICS),
    "close_codes": close_codes,
    "page_messages": page_messages,
    "rejections": rejections,
    "lobby_reasons": lobby_reasons,
    "token_refusals": token_refusals,
    "replica_messages": replica_messages,
    "simulated_faults": simulated_faults,
    "mutants": mutants,
    "role_changes": role_changes,
}


def render(name: str) -> str:
    """One table as Markdown."""
    head, *rows = [
        tuple(cell.replace("|", "\\|") for cell in row) for row in TABLES[name]()
    ]
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def filled(text: str) -> str:
    """A page with every block written anew."""
    return BLOCK.sub(lambda block: block[1] + render(block[2]) + block[4], text)


def main() -> None:
    """Rewrite the pages."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if (new := filled(text)) != text:
            page.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
