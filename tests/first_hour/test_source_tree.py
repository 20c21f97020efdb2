"""Python in a checkout's own folder uses the installed package, however it is started; a bare tree says what to do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shells import CHECKOUT, environment

USE = "import lance_arrow; from lance_arrow.kernels import copy_bits; print(lance_arrow.LanceFormat().default_extname)"
SPAWN = """
import multiprocessing

def use(_):
    import lance_arrow
    return lance_arrow.LanceFormat().default_extname

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(use, [0])[0])
"""


def _python(*arguments: str, cwd: Path, input: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment(), input=input, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A checkout without compiled modules."""
    ignore = shutil.ignore_patterns("*.so", "__pycache__", "*.csv.bz2")
    shutil.copytree(CHECKOUT / "lance_arrow", tmp_path / "checkout" / "lance_arrow", ignore=ignore)
    return tmp_path / "checkout"


@pytest.mark.parametrize("where", ["checkout", "bare", "elsewhere"])
def test_every_way_to_start_python(where: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    folder = {"checkout": CHECKOUT, "elsewhere": tmp_path}.get(where) or request.getfixturevalue("bare")
    ways = {
        "-c": _python("-c", USE, cwd=folder),
        "typed": _python("-", cwd=folder, input=USE),
        "-m": _python("-m", "lance_arrow.cli", "plugins", cwd=folder),
    }
    if where != "checkout":
        (folder / "beside.py").write_text(USE)
        (folder / "spawns.py").write_text(SPAWN)
        ways["script"] = _python("beside.py", cwd=folder)
        ways["spawned"] = _python("spawns.py", cwd=folder)
    for way, done in ways.items():
        assert done.returncode == 0, (way, done.stderr)
        assert ("codec.flat" if way == "-m" else "lance\n") in done.stdout, (way, done.stdout)


def test_nothing_of_a_bare_tree_is_mixed_with_the_installed_package(bare: Path) -> None:
    script = "import sys, lance_arrow; lance_arrow.read_table, lance_arrow.LanceTable; " + (
        "print(*{m.__file__ for n, m in sys.modules.items() if n.startswith('lance_arrow')}, sep='\\n')"
    )
    done = _python("-c", script, cwd=bare)
    assert done.returncode == 0, done.stderr
    files = done.stdout.splitlines()
    assert len(files) > 50
    assert not [file for file in files if Path(file).is_relative_to(bare)]


def test_a_bare_tree_where_nothing_is_installed_says_what_to_do(bare: Path) -> None:
    done = _python("-S", "-c", "import lance_arrow", cwd=bare)
    assert done.returncode == 1
    sentence = done.stderr.strip().splitlines()[-1]
    assert sentence.startswith("ImportError: ")
    assert "is a source tree without compiled modules" in sentence
    assert f"run 'python -m pip install .' in {str(bare)!r}" in sentence
