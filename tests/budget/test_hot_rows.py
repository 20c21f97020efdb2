"""What a row costs that is taken again and again: calls of Python, and releases of the interpreter's lock."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow.structure.index_cache import IndexCache

ROWS = 50_000
Take = Callable[[list[int]], pa.Table]

# Counts how often a module that is not Python itself lets go of the lock.
COUNTER = """
#define _GNU_SOURCE
#include <dlfcn.h>
static long releases;
void *PyEval_SaveThread(void) {
  static void *(*original)(void);
  if (!original) original = (void *(*)(void))dlsym(RTLD_NEXT, "PyEval_SaveThread");
  ++releases;
  return original();
}
long releases_of_the_lock(void) { return releases; }
"""
COUNTED = """
import ctypes, sys
import lance_arrow
count = ctypes.PyDLL(None).releases_of_the_lock
with lance_arrow.LanceFile(sys.argv[1]) as file:
    table = lance_arrow.LanceTable.open(sys.argv[2])
    for take in (file.take, lance_arrow.dataset(sys.argv[1]).take, table.take):
        for _ in range(3):
            take([1, 20_000, 49_999])
        before = count()
        take([20_000])
        one = count() - before
        take([1, 20_000, 49_999])
        print(one, count() - before - one)
"""


def ten_columns() -> pa.Table:
    random = np.random.default_rng(5)
    numbers = {f"n{number}": random.integers(0, 1 << 30, ROWS) for number in range(4)}
    floats = {f"f{number}": pa.array(random.random(ROWS), mask=random.random(ROWS) < 0.1) for number in range(3)}
    texts = {"t": [f"text {row}" for row in range(ROWS)], "c": [f"class {row % 50}" for row in range(ROWS)]}
    return pa.table({**numbers, **floats, **texts, "b": random.random(ROWS) < 0.5})


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("hot")
    lance_arrow.write_table(ten_columns(), folder / "file.lance", page_bytes=200_000)
    lance_arrow.LanceTable.create(folder / "table.lance", ten_columns())
    return folder / "file.lance", folder / "table.lance"


def num_calls(take: Take, rows: list[int]) -> int:
    """Return how many functions of Python and of C a take calls in this thread."""
    calls = 0

    def look(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(look)
    try:
        take(rows)
    finally:
        sys.setprofile(None)
    return calls - 1  # of `setprofile` itself


def hot(take: Take) -> Take:
    for row in (5, 6, ROWS - 1, 7):
        take([row])
    take(list(range(0, ROWS, 100)))
    return take


def test_a_hot_row_asks_python_for_little(paths: tuple[Path, Path]) -> None:
    path, table = paths
    with lance_arrow.LanceFile(path) as file:
        assert num_calls(hot(file.take), [11]) <= 28
        assert num_calls(file.take, [ROWS - 2]) <= 28
        assert num_calls(file.take, np.arange(5, 95, 3)) <= 28
    assert num_calls(hot(lance_arrow.dataset(path).take), [11]) <= 35
    assert num_calls(hot(lance_arrow.LanceTable.open(table).take), [11]) <= 45


def test_compressed_pages_ask_python_for_no_more(paths: tuple[Path, Path], tmp_path: Path) -> None:
    table, zstd = ten_columns(), {"lance-encoding:compression": "zstd"}
    table = table.cast(pa.schema([field.with_metadata(zstd) for field in table.schema]))
    lance_arrow.write_table(table, tmp_path / "file.lance", page_bytes=200_000)
    assert (tmp_path / "file.lance").stat().st_size < 0.9 * paths[0].stat().st_size
    with lance_arrow.LanceFile(tmp_path / "file.lance") as file:
        assert num_calls(hot(file.take), [11]) <= 28


def test_rows_of_hot_pages_are_found_without_the_cache(
    paths: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reads after the second find their pages natively, whichever rows they want; each is counted as before."""
    expected = ten_columns()
    random = np.random.default_rng(8)
    with lance_arrow.LanceFile(paths[0]) as file:
        hot(file.take)
        monkeypatch.setattr(IndexCache, "get_many", None)
        before = file._source.snapshot()
        for size in (1, 2, 30, 900):
            rows = np.sort(random.choice(ROWS, size, replace=False))
            assert file.take(rows).equals(expected.take(rows))
        assert pa.Table.from_batches(file.to_batches()).equals(expected)
        stats = file._source.snapshot() - before
    assert stats.waves >= 5
    assert stats.requests >= 50


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the loader of Linux lets a library stand before others"
)
@pytest.mark.skipif(not sysconfig.get_config_var("Py_ENABLE_SHARED"), reason="the interpreter is not in a library")
@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_a_take_lets_go_of_the_lock_once(paths: tuple[Path, Path], tmp_path: Path) -> None:
    """Once, from the rows to a table of pyarrow: each release wakes a thread that waits for the lock."""
    source, library = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(COUNTER)
    subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(library), "-ldl"], check=True)
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, *map(str, paths)],
        env={"LD_PRELOAD": str(library), "PATH": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    found = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert found == [(1, 1)] * 3
