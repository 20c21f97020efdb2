"""Choosing and loading the bridge beside pyarrows that it was built for, and beside others."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pyarrow as pa
import pytest

from lance_arrow.arrow_dataset import bridge as bridge_package
from lance_arrow.arrow_dataset.bridge import builds as bridge_builds
from lance_arrow.arrow_dataset.bridge import loading as bridge_loading
from lance_arrow.libarrow.builds import built_releases

BUILDS = {(major, 0): Path(f"_bridge_{major}00.so") for major in range(22, 27)}


def run_python(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh process, away from the sources."""
    return subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)


def test_the_build_for_this_pyarrow_is_loaded() -> None:
    version = pa.cpp_version_info
    builds = built_releases(bridge_package.__path__, "_bridge")
    assert bridge_loading.bridge.__file__ == str(builds[version.major, version.minor])
    assert bridge_loading.bridge.__name__ == "lance_arrow.arrow_dataset.bridge._bridge"
    assert sys.modules[bridge_loading.bridge.__name__] is bridge_loading.bridge


def test_builds_are_found_by_their_names(tmp_path: Path) -> None:
    native = EXTENSION_SUFFIXES[0]
    names = [f"_bridge_2200{native}", f"_bridge_2301{native}", f"_bridge_2600{native}"]
    others = [
        "_bridge.pyx",
        f"_bridge{native}",
        "_bridge_2400.cpython-27-z80.so",
        "_bridge_2400.txt",
        f"_bridge_x{native}",
    ]
    for name in [*names, *others]:
        (tmp_path / name).touch()
    found = built_releases([str(tmp_path / "nothing"), str(tmp_path)], "_bridge")
    assert found == dict(zip([(22, 0), (23, 1), (26, 0)], [tmp_path / name for name in names], strict=True))


@pytest.mark.parametrize("found", ["21.0.0", "25.1.0", "27.0.0.dev3", "unknown"])
def test_another_release_is_refused_in_one_sentence(found: str) -> None:
    with pytest.raises(ImportError) as caught:
        bridge_builds.choose_build(BUILDS, found)
    message = str(caught.value)
    assert f"was built for pyarrow 22.0, 23.0, 24.0, 25.0, 26.0, found {found}: " in message
    assert "pip install 'pyarrow==26.0.*'" in message
    assert "\n" not in message


@pytest.mark.parametrize("found", ["26.0.0", "26.0.7", "26.0.1.post1", "22.0.0"])
def test_the_build_for_a_release_is_chosen(found: str) -> None:
    assert bridge_builds.choose_build(BUILDS, found) == Path(f"_bridge_{found[:2]}00.so")


OTHER_PYARROW = """
import sys
import pyarrow
pyarrow.__version__ = "21.0.0"
"""


def test_the_choice_comes_before_the_native_module(tmp_path: Path) -> None:
    script = f"""{OTHER_PYARROW}
try:
    import lance_arrow.arrow_dataset.lance_fragment
except ImportError as error:
    print(error)
print("lance_arrow.arrow_dataset.bridge._bridge" in sys.modules)
"""
    done = run_python(script, tmp_path)
    assert done.stdout.splitlines()[-1] == "False", done.stderr
    assert re.match(r"lance_arrow's bridge .* was built for pyarrow [0-9., ]+, found 21\.0\.0: ", done.stdout)


def test_files_and_tables_need_no_bridge_and_no_pandas(tmp_path: Path) -> None:
    script = f"""{OTHER_PYARROW}
class NoPandas:
    def find_spec(name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoPandas)
import pyarrow as pa, pyarrow.compute as pc
import lance_arrow
rows = pa.table({{"a": range(1000), "b": pa.array(["x", "y"] * 500).dictionary_encode(), "c": [[1], None] * 500}})
lance_arrow.write_table(rows, "a.lance", rows_per_zone=100)
with lance_arrow.LanceFile("a.lance") as file:
    assert file.read().equals(rows)
    assert file.take([7, 3]).column("a").to_pylist() == [7, 3]
    assert file.read(filter=pc.field("a") >= 990).num_rows == 10
    assert file.count_rows(filter=(pc.field("a") < 5) | (pc.field("b") == "y")) == 503
assert lance_arrow.verify("a.lance").ok
table = lance_arrow.LanceTable.create("table.lance", rows)
table.append(rows)
table.delete(pc.field("a") < 10)
assert table.count_rows() == 1980
assert table.to_table(filter=pc.field("a") == 10).num_rows == 2
assert table.take([0])["a"].to_pylist() == [10]
try:
    table.dataset()
except ImportError as error:
    print(error)
"""
    done = run_python(script, tmp_path)
    assert done.returncode == 0, done.stderr
    assert "was built for pyarrow" in done.stdout


def test_a_missing_bridge_is_named() -> None:
    with pytest.raises(ImportError, match="without its bridge"):
        bridge_builds.choose_build({}, pa.__version__)


def test_loading_needs_nothing_imported_before(tmp_path: Path) -> None:
    done = run_python(
        "from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment as f; print(f.__name__)", tmp_path
    )
    assert (done.returncode, done.stdout.strip()) == (0, "LanceFileFragment"), done.stderr
