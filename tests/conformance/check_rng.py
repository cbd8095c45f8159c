"""The format of rng.json: seeds, the draws that follow, and the errors."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from hotseat.engine.errors import EngineError
from hotseat.engine.rng import Rng, RngState, initial_rng, rng_from

from .encode import rng_json
from .language import RNG_NAMES
from .outcome import Outcome, difference, judge

__all__ = ["check"]

Json = Any

NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def check(document: Mapping[str, Json]) -> Iterator[Outcome]:
    """One outcome for each seed, each error and each raw state."""
    for case in document.get("cases", []):
        yield judge(f"seed {case['seed']!r}", partial(_seed_problems, case))
    for case in document.get("errors", []):
        name = f"error {case.get('method')}{case.get('args')}"
        yield judge(name, partial(_error_problems, case))
    for case in document.get("raw_states", []):
        name = f"raw state {case.get('state')}"
        yield judge(name, partial(_raw_state_problems, case))


def _seed_problems(case: Mapping[str, Json]) -> Iterator[str]:
    seed = _seed(case)
    if "initial" in case:
        yield difference(case["initial"], _state(_fresh(seed)), "initial")
    if "next50" in case:
        rng = _fresh(seed)
        drawn = [rng.next() for _ in case["next50"]]
        yield difference(case["next50"], drawn, "next50")
        yield difference(case["after50"], _state(rng), "after50")
    for entry in case.get("methods", []):
        rng = _fresh(seed)
        name = f"{entry['method']}{entry['args']}"
        results = [_call(rng, entry) for _ in range(entry["calls"])]
        yield difference(entry["results"], results, name)
        yield difference(entry["after"], _state(rng), f"{name}.after")
    rng = _fresh(seed)
    for index, entry in enumerate(case.get("mixed", [])):
        name = f"mixed[{index}].{entry['method']}"
        yield difference(entry["result"], _call(rng, entry), name)
        yield difference(entry["after"], _state(rng), f"{name}.after")
    if "restore" in case:
        yield from _restore_problems(seed, case["restore"])


def _restore_problems(seed: str, case: Mapping[str, Json]) -> Iterator[str]:
    saved = case["snapshot"]
    rng = _restored(seed, saved)
    drawn = [rng.next() for _ in case["next5"]]
    yield difference(case["next5"], drawn, "restore.next5")
    yield difference(case["after"], _state(rng), "restore.after")
    if "restored_under_other_seed" in case:
        other = case["restored_under_other_seed"]
        rng = _restored(other["seed"], saved)
        yield difference(other["next1"], rng.next(), "restore.other_seed")
        yield difference(other["after"], _state(rng), "restore.other_seed.after")


def _error_problems(case: Mapping[str, Json]) -> Iterator[str]:
    rng = _fresh(case["after"]["seed"])
    try:
        result = _call(rng, case)
    except EngineError:
        yield difference(case["after"], _state(rng), "after")
    else:
        yield f"expected an error, actual result {result!r}"


def _raw_state_problems(case: Mapping[str, Json]) -> Iterator[str]:
    after = case["after"]
    drawn_before = after["draws"] - len(case["next3"])
    rng = _restored(after["seed"], {"state": case["state"], "draws": drawn_before})
    yield difference(case["next3"], [rng.next() for _ in case["next3"]], "next3")
    yield difference(after, _state(rng), "after")


def _seed(case: Mapping[str, Json]) -> str:
    """The seed from its code units: JSON tools differ about lone surrogates."""
    units = case.get("seed_utf16_units")
    if not isinstance(units, list):  # of a long seed only a summary is given
        return str(case["seed"])
    data = b"".join(unit.to_bytes(2, "little") for unit in units)
    return data.decode("utf-16-le", "surrogatepass")


def _fresh(seed: str) -> Rng:
    return rng_from(initial_rng(seed))


def _restored(seed: str, saved: Mapping[str, Json]) -> Rng:
    return rng_from(RngState(saved["draws"], seed, saved["state"]))


def _call(rng: Rng, entry: Mapping[str, Json]) -> Json:
    arguments = [NUMBERS.get(x, x) if isinstance(x, str) else x for x in entry["args"]]
    method: str = entry["method"]
    name = RNG_NAMES.get(method, method)
    return getattr(rng, name)(*arguments)


def _state(rng: Rng) -> Json:
    return rng_json(rng.snapshot())
