"""Sizes and names that keep the code inheritable."""

from __future__ import annotations

import ast
import re

import pytest

from .tree import PACKAGES, ROOT, parse, python_files

FILE_LINES_MAX = 600
TEST_FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 70
FILE_LINES_MEDIAN_MAX = 250
BANNED_FILE_NAMES = {"utils", "helpers", "common", "base", "manager", "misc"}
LEFTOVER = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def test_files_fit_in_a_readers_head() -> None:
    """No source file is longer than its cap."""
    too_long = {
        str(path.relative_to(ROOT)): count
        for folders, cap in (
            ((*PACKAGES, "bench"), FILE_LINES_MAX),
            (("tests",), TEST_FILE_LINES_MAX),
        )
        for path in python_files(*folders)
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > cap
    }
    assert too_long == {}


def test_the_median_file_is_short() -> None:
    """Long files stay the exception."""
    counts = sorted(
        len(path.read_text(encoding="utf-8").splitlines())
        for path in python_files(*PACKAGES)
        if path.name != "__init__.py"
    )
    assert counts[len(counts) // 2] <= FILE_LINES_MEDIAN_MAX


def test_functions_are_short() -> None:
    """No function of the product is longer than its cap."""
    too_long = {
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}": length
        for path in python_files(*PACKAGES, "bench")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1)
        > FUNCTION_LINES_MAX
    }
    assert too_long == {}


def test_files_are_named_after_a_noun_or_a_verb() -> None:
    """A name says what is inside."""
    vague = [
        str(path.relative_to(ROOT))
        for path in python_files(*PACKAGES)
        if path.stem in BANNED_FILE_NAMES
    ]
    assert vague == []


def test_packages_only_re_export() -> None:
    """An `__init__.py` holds no logic: a name of a file says where code is."""
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in python_files(*PACKAGES)
        if path.name == "__init__.py"
        for node in parse(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    assert offenders == []


def test_nothing_is_left_for_later() -> None:
    """No marker of unfinished work is committed."""
    left = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in python_files(*PACKAGES, "bench", "tests")
        if path != ROOT / "tests/gates/test_tidy.py"
        for number, line in enumerate(
            path.read_text(encoding="utf-8").splitlines(), start=1
        )
        if LEFTOVER.search(line)
    ]
    assert left == []


@pytest.mark.parametrize("folder", PACKAGES)
def test_every_module_says_what_it_is(folder: str) -> None:
    """Each module opens with a docstring."""
    silent = [
        str(path.relative_to(ROOT))
        for path in python_files(folder)
        if not (ast.get_docstring(parse(path)) or "").strip()
    ]
    assert silent == []


def test_tests_do_not_sleep_for_luck() -> None:
    """A test waits on a condition. Another process has no event to wait for: only
    `wait_until`, which asks again until it is so, may pause between two looks.
    """
    sleeping = [
        f"{path.relative_to(ROOT)}:{call.lineno} {function.name}"
        for path in python_files("tests")
        for function in ast.walk(parse(path))
        if isinstance(function, ast.FunctionDef) and function.name != "wait_until"
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "sleep"
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "time"
    ]
    assert sleeping == []


def test_assertions_are_on() -> None:
    """Invariants are asserts; running without them would hide faults."""
    assert __debug__
