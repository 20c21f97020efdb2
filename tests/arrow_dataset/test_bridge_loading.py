"""Loading the bridge beside the right and the wrong pyarrow."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from lance_arrow.arrow_dataset.bridge import _bridge_build
from lance_arrow.arrow_dataset.bridge import loading as bridge_loading


def run_python(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in a fresh process, away from the sources."""
    return subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)


def test_the_build_facts_are_those_of_this_pyarrow() -> None:
    assert _bridge_build.BUILD_VERSION.split(".")[:2] == pa.__version__.split(".")[:2]
    assert pa.cpp_version_info.major * 100 + pa.cpp_version_info.minor == _bridge_build.BUILD_SO


@pytest.mark.parametrize("found", ["25.0.1", "26.1.0", "27.0.0.dev3"])
def test_another_release_is_refused_in_one_sentence(found: str) -> None:
    with pytest.raises(ImportError, match=rf"built for pyarrow 26\.0, found {found}: pip install 'pyarrow==26\.0\.\*'"):
        bridge_loading.check_pyarrow("26.0.1", found)


@pytest.mark.parametrize("found", ["26.0.0", "26.0.7", "26.0.1.post1"])
def test_the_same_release_is_taken(found: str) -> None:
    bridge_loading.check_pyarrow("26.0.1", found)


def test_the_check_comes_before_the_native_module(tmp_path: Path) -> None:
    script = """
import sys
import pyarrow
pyarrow.__version__ = "25.0.1"
try:
    import lance_arrow.arrow_dataset.lance_fragment
except ImportError as error:
    print(error)
print("lance_arrow.arrow_dataset.bridge._bridge" in sys.modules)
"""
    done = run_python(script, tmp_path)
    assert done.stdout.splitlines()[-1] == "False", done.stderr
    assert "built for pyarrow" in done.stdout


def test_a_missing_bridge_is_named(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["lance_arrow.arrow_dataset.bridge._bridge_build"] = None
try:
    import lance_arrow.arrow_dataset.lance_fragment
except ImportError as error:
    print(error)
"""
    assert "without its bridge" in run_python(script, tmp_path).stdout


def test_loading_needs_nothing_imported_before(tmp_path: Path) -> None:
    done = run_python(
        "from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment as f; print(f.__name__)", tmp_path
    )
    assert (done.returncode, done.stdout.strip()) == (0, "LanceFileFragment"), done.stderr
