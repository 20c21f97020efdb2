"""A native codec of an outsider, built against the public headers: preferred, replaced, removed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from outside import PROJECTS, install, run

import lance_arrow
from lance_arrow.spi.native import include_dir

KEY = "lance.encodings21.CompressiveEncoding/fsst"
PREFERENCE = f"{KEY}=codec.swift.words"
READ = """
import sys, hashlib
import lance_arrow
with lance_arrow.LanceFile(sys.argv[1]) as file:
    whole, some = file.read(), file.take([1, 77, 1999, 40])
    assert some.equals(whole.take([1, 77, 1999, 40]))
print(hashlib.sha256("".join(whole["s"].to_pylist()).encode()).hexdigest(), "swift_words" in sys.modules)
"""


def build(target: Path) -> None:
    """Compile the native side, as its `setup.py` asks for it."""
    compiler = shutil.which("c++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    source = PROJECTS / "swift_words" / "swift_words" / "_native.cpp"
    out = target / "swift_words" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    headers = [f"-I{include_dir()}", f"-I{sysconfig.get_path('include')}"]
    shared = ["-shared", "-fPIC"] if sys.platform != "darwin" else ["-bundle", "-undefined", "dynamic_lookup"]
    command = [
        compiler,
        "-std=c++20",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        *shared,
        *headers,
        str(source),
        "-o",
        str(out),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    generator = np.random.default_rng(4)
    some = ["river", "mountain", "https://example.org/", "déjà vu ", "-", "x" * 40]
    texts = ["".join(some[one] for one in generator.integers(0, 6, size)) for size in generator.integers(0, 9, 6000)]
    path = tmp_path_factory.mktemp("words") / "a.lance"
    lance_arrow.write_table(
        pa.table({"s": texts}), path, checksums=False, column_options={"s": {"compression": "fsst"}}
    )
    return path


@pytest.fixture(scope="module")
def swift(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = install("swift_words", tmp_path_factory.mktemp("swift") / "site")
    build(target)
    return target


def test_a_native_codec_replaces_the_built_in_one(words: Path, swift: Path) -> None:
    plain = run(READ, words)
    assert plain.returncode == 0, plain.stderr
    preferred = run(READ, words, target=swift, LANCE_ARROW_PREFER=PREFERENCE)
    assert preferred.returncode == 0, preferred.stderr
    digest, is_loaded = plain.stdout.split()
    assert is_loaded == "False"
    assert preferred.stdout.split() == [digest, "True"]


def test_damage_is_told_as_by_the_built_in_codec(words: Path, swift: Path, tmp_path: Path) -> None:
    data = bytearray(words.read_bytes())
    place = data.index(b"TSSF")
    number = data[place - 4]
    # One symbol has no length any more: its codes have no symbol.
    data[place + 4 + 8 * number : place + 4 + 9 * number] = bytes(number)
    damaged = tmp_path / "damaged.lance"
    damaged.write_bytes(data)
    for target, variables in ((None, {}), (swift, {"LANCE_ARROW_PREFER": PREFERENCE})):
        done = run(READ, damaged, target=target, **variables)
        assert done.returncode != 0
        assert "CorruptPageError" in done.stderr or "CorruptFileError" in done.stderr, done.stderr
        assert "column 's'" in done.stderr
        assert "damaged.lance" in done.stderr


def test_another_version_without_its_native_part_is_named(words: Path, swift: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    shutil.copytree(swift, target)
    for native in (target / "swift_words").glob("_native.*"):
        native.unlink()
    done = run(READ, words, target=target, LANCE_ARROW_PREFER=PREFERENCE)
    assert done.returncode != 0
    assert "PluginConflictError" in done.stderr
    assert "swift-words 1.0 is broken" in done.stderr
    # Removed, the built-in codec reads the same file again.
    again = run(READ, words)
    assert again.returncode == 0, again.stderr
