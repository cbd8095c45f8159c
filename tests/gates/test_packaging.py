"""What is installed is what is in the tree, under the names we promise."""

from __future__ import annotations

import importlib
import tomllib

import pytest

from .tree import PACKAGES, ROOT, imported_modules, python_files

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_packages_list_equals_the_folders() -> None:
    """A sub-package that is not listed would be missing from the wheel."""
    folders = {
        "hotseat." + ".".join(path.parent.relative_to(ROOT).parts)
        for path in python_files(*PACKAGES)
        if path.name == "__init__.py"
    }
    assert folders == set(PYPROJECT["tool"]["setuptools"]["packages"])


def test_every_folder_with_code_is_a_package() -> None:
    """A folder without `__init__.py` would not be shipped."""
    missing = [
        str(path.parent.relative_to(ROOT))
        for path in python_files(*PACKAGES)
        if not (path.parent / "__init__.py").exists()
    ]
    assert missing == []


def test_nothing_is_imported_by_its_folder_name() -> None:
    """`import engine` would make a second copy of every class."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {module}"
        for path in python_files(*PACKAGES, "tests", "bench")
        for line, level, module in imported_modules(path)
        if level == 0 and module.split(".")[0] in PACKAGES
    ]
    assert wrong == []


def test_imports_inside_the_packages_are_relative() -> None:
    """Both type checkers then see one class under one name."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} {module}"
        for path in python_files(*PACKAGES)
        for line, level, module in imported_modules(path)
        if level == 0 and module.split(".")[0] == "hotseat"
    ]
    assert wrong == []


@pytest.mark.parametrize("folder", PACKAGES)
def test_the_packages_are_typed(folder: str) -> None:
    """Type checkers of others need the marker."""
    assert (ROOT / folder / "py.typed").exists()


def test_entry_points_resolve() -> None:
    """Every installed name leads to something."""
    project = PYPROJECT["project"]
    targets = [
        *project["scripts"].values(),
        *project["entry-points"]["hotseat.games"].values(),
    ]
    for target in targets:
        module, _, attribute = target.partition(":")
        assert hasattr(importlib.import_module(module), attribute), target


def test_public_names_exist() -> None:
    """Every name in an `__all__` is really there."""
    for path in python_files(*PACKAGES):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts[-1] in ("__init__", "__main__"):
            parts = parts[:-1]
        module = importlib.import_module("hotseat." + ".".join(parts))
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{module.__name__}.{name}"
