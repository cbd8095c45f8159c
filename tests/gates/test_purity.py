"""The engine is pure, and imports go one way."""

from __future__ import annotations

import subprocess
import sys

from .tree import PACKAGES, ROOT, imported_modules, lines_for_types, python_files

ENGINE_MAY_IMPORT = {
    "__future__", "abc", "collections", "contextlib", "copy", "dataclasses", "difflib",
    "enum", "functools", "hashlib", "itertools", "json", "math", "msgpack", "msgspec",
    "operator", "re", "struct", "traceback", "types", "typing", "string",
    "bisect", "heapq",
}  # fmt: skip
# Optional, and looked at: it imports nothing but the pure part of the library.
OPTIONAL = {"engine/games/chess.py": {"chess"}}
FOR_TYPES_ONLY = {"typing_extensions"}  # every type checker brings it along
SANS_IO = (
    "runtime/match.py",
    "runtime/dedupe.py",
    "runtime/deadline.py",
    "runtime/replica_runner.py",
    *(str(path.relative_to(ROOT)) for path in python_files("runtime/replication")),
    "runtime/placement.py",
    "runtime/shard_table.py",
    "runtime/match_id.py",
    "runtime/hello.py",
    "runtime/mailbox.py",
    "nodes/node/router.py",
    "nodes/client/core.py",
)
SANS_IO_MUST_NOT_IMPORT = {
    "anyio", "asyncio", "os", "pynng", "random", "secrets", "select", "socket",
    "sqlite3", "structlog", "subprocess", "threading", "time", "trio", "uuid",
}  # fmt: skip


def test_the_engine_imports_only_pure_modules() -> None:
    """No clock, no I/O, no randomness, no async library: by an allow-list."""
    impure = [
        f"{path.relative_to(ROOT)}:{line} {module}"
        for path in python_files("engine")
        for line, level, module in imported_modules(path)
        if level == 0
        and module.split(".")[0] not in ENGINE_MAY_IMPORT
        and not (module in FOR_TYPES_ONLY and line in lines_for_types(path))
        and module not in OPTIONAL.get(path.relative_to(ROOT).as_posix(), ())
    ]
    assert impure == []


def test_the_cores_do_no_io() -> None:
    """Protocol logic takes messages and a clock and returns messages."""
    impure = [
        f"{name}:{line} {module}"
        for name in SANS_IO
        for line, level, module in imported_modules(ROOT / name)
        if level == 0 and module.split(".")[0] in SANS_IO_MUST_NOT_IMPORT
    ]
    assert impure == []


def test_imports_go_one_way() -> None:
    """engine <- runtime <- config <- nodes, and nobody imports tests."""
    allowed = {name: set(PACKAGES[: i + 1]) for i, name in enumerate(PACKAGES)}
    wrong = []
    for package in PACKAGES:
        for path in python_files(package):
            depth = len(path.relative_to(ROOT).parts) - 1
            for line, level, module in imported_modules(path):
                if level > depth:
                    target = module.split(".")[0]
                    if level != depth + 1 or target not in allowed[package]:
                        wrong.append(f"{path.relative_to(ROOT)}:{line} {module}")
                if level == 0 and module.split(".")[0] == "tests":
                    wrong.append(f"{path.relative_to(ROOT)}:{line} {module}")
    assert wrong == []


def test_the_engine_loads_nothing_but_the_engine() -> None:
    """A fresh interpreter that imports the engine has no async library loaded."""
    code = (
        "import sys, hotseat.engine;"
        "bad = {'trio','anyio','asyncio','pynng','structlog','sqlite3','socket'};"
        "print(sorted(bad & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
