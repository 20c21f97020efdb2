"""Which pyarrows a build makes a bridge for: those of a folder, else that of the environment, else its own."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

ROOT = Path(__file__).parents[2]
FOUND = runpy.run_path(str(ROOT / "lance_arrow" / "arrow_dataset" / "bridge" / "find_pyarrows.py"))
RELEASES = FOUND["allowed_releases"]()


def install_stub(folder: Path, major: int) -> None:
    """Write a package that answers what a build asks a pyarrow."""
    (folder / "pyarrow").mkdir(parents=True)
    (folder / "pyarrow" / "__init__.py").write_text(
        "from types import SimpleNamespace\n"
        f"cpp_version_info = SimpleNamespace(major={major}, minor=0)\n"
        "def get_include(): return __path__[0] + '/include'\n"
    )


def facts(folder: Path, major: int) -> str:
    return f"{folder};{folder}/pyarrow/include;{folder}/pyarrow;{major}00"


def own_facts() -> str:
    version = pa.cpp_version_info
    home = Path(pa.__file__).parent
    return f"{home.parent};{pa.get_include()};{home};{version.major * 100 + version.minor}"


def test_build_and_package_ask_for_the_same_releases() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = f"pyarrow>={RELEASES.start},<{RELEASES.stop}"
    assert wanted in project["project"]["dependencies"]
    assert wanted in project["build-system"]["requires"]
    assert pa.cpp_version_info.major in RELEASES


def test_every_pyarrow_of_a_folder(tmp_path: Path) -> None:
    for major in (24, 22):
        install_stub(tmp_path / str(major), major)
    (tmp_path / "other").mkdir()
    expected = [facts(tmp_path / "22", 22), facts(tmp_path / "24", 24)]
    assert FOUND["find_pyarrows"](str(tmp_path), "") == expected


def test_a_folder_without_any(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="no subfolder holds a pyarrow"):
        FOUND["find_pyarrows"](str(tmp_path), "")


@pytest.mark.parametrize("major", [RELEASES.start, RELEASES.stop - 1])
def test_that_of_the_environment(tmp_path: Path, major: int) -> None:
    install_stub(tmp_path, major)
    assert FOUND["find_pyarrows"]("", str(tmp_path)) == [facts(tmp_path, major)]


@pytest.mark.parametrize("major", [RELEASES.start - 1, RELEASES.stop])
def test_one_that_pip_will_replace(tmp_path: Path, major: int) -> None:
    install_stub(tmp_path, major)
    assert FOUND["find_pyarrows"]("", str(tmp_path)) == [own_facts()]


def test_an_environment_without_one(tmp_path: Path) -> None:
    assert FOUND["find_pyarrows"]("", str(tmp_path)) == [own_facts()]
