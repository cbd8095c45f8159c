"""What is shipped: the wheel holds the packages, all of them, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.system, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("engine", "runtime", "config", "nodes")


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel's content, built from a copy of the tree."""
    work = tmp_path_factory.mktemp("wheel")
    tree = work / "tree"
    tree.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    for folder in FOLDERS:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / folder, tree / folder, ignore=ignored)
    subprocess.run(
        [
            *(sys.executable, "-m", "build", "--wheel", "--no-isolation"),
            *("--outdir", str(work / "dist"), str(tree)),
        ],
        check=True,
        capture_output=True,
    )
    (wheel,) = (work / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(work / "site")
    return work / "site"


def test_the_wheel_holds_every_module_and_nothing_else(unpacked: Path) -> None:
    """A package that is not listed would be missing; tests would be too much."""
    shipped = {
        path.relative_to(unpacked / "hotseat").as_posix()
        for path in (unpacked / "hotseat").rglob("*")
        if path.is_file()
    }
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".typed")
        or (folder == "config" and path.suffix == ".toml")
        or (path.is_file() and "static" in path.parts)
    }
    assert shipped == wanted
    top = {path.name.split("-")[0] for path in unpacked.iterdir()}
    assert top == {"hotseat"}


def test_the_wheel_works_without_the_tree(unpacked: Path, tmp_path: Path) -> None:
    """From an empty folder, with the source out of reach, a game is checked."""
    program = (
        "import sys; sys.meta_path = [f for f in sys.meta_path"
        " if 'editable' not in repr(f).lower()];"
        f"sys.path.insert(0, {str(unpacked)!r});"
        "from hotseat.nodes.cli.main import main; import hotseat.engine as engine;"
        f"assert engine.__file__.startswith({str(unpacked)!r}), engine.__file__;"
        "sys.argv = ['hotseat', 'game', 'check',"
        " 'hotseat.engine.games.tic_tac_toe:game']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "tic-tac-toe" in done.stdout
