"""What the data path may not do: numpy twins, plugin hooks and protobuf per page, Python per chunk."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from outside import run
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.scan.windows import WINDOW_ROWS

pytestmark = pytest.mark.interop

SCAN = """
import sys
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import lance_arrow
with pa.OSFile(sys.argv[2]) as source:
    expected = pa.ipc.open_stream(source).read_all()
table = pads.dataset(sys.argv[1], format=lance_arrow.LanceFormat()).to_table()
assert table.equals(expected), [n for n in expected.column_names if table[n] != expected[n]]
with lance_arrow.LanceFile(sys.argv[1]) as file:
    picks = [7, 999_999, 500_000, 7]
    assert file.take(picks).equals(expected.take(picks))
assert not [name for name in sys.modules if "numpy_kernels" in name]
print(table.num_rows)
"""


def test_scan_of_a_million_rows_without_twins(witness: Witness, tmp_path: Path) -> None:
    rng = seeded("no twins")
    num_rows = 1_000_000
    nulls = rng.random(num_rows) < 0.1
    expected = pa.table(
        {
            "packed": pa.array(rng.integers(0, 1000, num_rows, np.int32)),
            "flat": pa.array(rng.standard_normal(num_rows), mask=nulls),
            "runs": pa.array(np.repeat(rng.integers(0, 50, num_rows // 100), 100)),
            "flags": pa.array(rng.random(num_rows) < 0.5, mask=nulls),
            "words": pa.array(rng.choice(["alpha", "beta", "gamma", "δέλτα"], num_rows), mask=nulls),
            "texts": pa.array(np.arange(num_rows) * 7919).cast(pa.string()),
            "pair": pa.FixedSizeListArray.from_arrays(pa.array(rng.random(2 * num_rows), pa.float32()), 2),
            "constant": pa.array(np.full(num_rows, 5)),
        }
    )
    exchange = tmp_path / "expected.arrows"
    with pa.OSFile(str(exchange), "wb") as sink, pa.ipc.new_stream(sink, expected.schema) as stream:
        stream.write_table(expected)
    path = witness.write(expected, tmp_path / "million.lance", "2.2")
    done = run(SCAN, path, exchange)
    assert done.stdout.strip() == str(num_rows), done.stderr


class Profile:
    """Counts calls of Python and C functions of this thread by qualified name."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()

    def __enter__(self) -> Counter[str]:
        sys.setprofile(self._look)
        return self.calls

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)

    def _look(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            self.calls[f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}"] += 1
        elif event == "c_call":
            owner = getattr(argument, "__module__", None) or type(getattr(argument, "__self__", None)).__module__
            self.calls[f"{owner}:{argument.__qualname__}"] += 1


def integers() -> pa.Array:
    """Chunks of 1,024 values."""
    return pa.array(seeded("integers").integers(0, 500, 3_000_000, np.uint16))


def nullable_integers() -> pa.Array:
    """The same with levels."""
    return pa.array(integers().to_numpy(), mask=seeded("nulls").random(3_000_000) < 0.1)


def wide_lists() -> pa.Array:
    """Values of 240 bytes: chunks of 32."""
    return pa.FixedSizeListArray.from_arrays(pa.array(seeded("lists").random(60 * 60_000), pa.float32()), 60)


def texts() -> pa.Array:
    """Values of 100 random letters: chunks of 32."""
    letters = seeded("texts").integers(97, 123, 100 * 60_000, np.uint8)
    offsets = np.arange(60_001, dtype=np.int32) * 100
    return pa.Array.from_buffers(pa.binary(), 60_000, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("make", [integers, nullable_integers, wide_lists, texts])
def test_nothing_happens_per_chunk(
    witness: Witness, tmp_path: Path, version: str, make: Callable[[], pa.Array]
) -> None:
    """The second read of a page with thousands of chunks: bound already, no protobuf, one hook, few calls."""
    values = make()
    path = witness.write(pa.table({"a": values}), tmp_path / "chunks.lance", version)
    ((page,),) = witness.describe(path)["columns"]
    assert page["encoding"].startswith("MiniBlockLayout")
    num_chunks = page["buffers"][0][1] // (2 if version == "2.1" else 4)
    assert num_chunks > 1800
    runtime = lance_arrow.Runtime(lance_arrow.Settings(num_threads=1))
    with lance_arrow.LanceFile(path, runtime=runtime) as file:
        first = file.read()
        with Profile() as calls:
            second = file.read()
    assert first == second
    assert first["a"].combine_chunks().equals(values)
    hooks = [name for name in calls if name.startswith("pluggy") and name.endswith("HookCaller.__call__")]
    assert sum(calls[name] for name in hooks) <= 1, "the receipt is the only hook of a read"
    protobuf = {name: count for name, count in calls.items() if "protobuf" in name or "_upb" in name or "_pb2" in name}
    assert not protobuf
    # A read is cut into windows of rows, each decoded by itself; chunks inside a window cost no Python.
    num_windows = -(-len(values) // WINDOW_ROWS)
    assert num_windows == 1 or num_windows * 30 < num_chunks
    assert sum(calls.values()) < 900 * num_windows, calls.most_common(20)


def test_binding_happens_once_for_equal_pages(witness: Witness, tmp_path: Path) -> None:
    """Twenty pages with one description: the plugins bind it once."""
    rng = seeded("pages")
    table = pa.table({"a": pa.array(rng.integers(0, 2**62, 20_000))})
    slices = [(start, start + 1000) for start in range(0, 20_000, 1000)]
    path = witness.write(table, tmp_path / "pages.lance", "2.1", slices=slices, data_cache_bytes=1)
    (pages,) = witness.describe(path)["columns"]
    assert len(pages) == 20
    runtime = lance_arrow.Runtime(lance_arrow.Settings(num_threads=1))
    with lance_arrow.LanceFile(path, runtime=runtime) as file, Profile() as calls:
        assert file.read().equals(table)
    binds = {name: count for name, count in calls.items() if name.startswith("lance_arrow_") and name.endswith(".bind")}
    assert binds, "no plugin was seen to bind"
    assert max(binds.values()) == 1, binds
