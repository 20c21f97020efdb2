"""Time this version beside a former one, column by column: scans, takes, filters, writes.

`python tests/benchmarks/former.py WHEEL [--rounds 3] [--columns fsst ...]`; a folder in which the former version is
installed may stand for its wheel. Each side runs in processes of its own, which take turns. Both read the same files,
written by this version. Prints least processor times and their ratios, those above the bar of 3 percent in the end;
asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_NUM_ROWS = 300_000
_NUM_TAKEN = 1_000
_REPEATS = 8
_BAR = 1.03
# Differences below so many milliseconds are those of the clock.
_LEAST_MS = 0.05


def columns() -> Iterator[tuple[str, pa.Array, Mapping[str, Any]]]:
    """Yield names, values and options of columns: each codec for each width, nulls, lists, structs."""
    random = np.random.default_rng(1)
    small, floats = random.integers(0, 100, _NUM_ROWS), np.round(random.normal(size=_NUM_ROWS), 2)
    null = random.random(_NUM_ROWS) < 0.1
    for bits in (8, 16, 32, 64):
        values = pa.array(small.astype(f"int{bits}"))
        yield f"inline_bitpacking {bits}", values, {"codec": "inline_bitpacking"}
        yield f"flat {bits}", values, {"codec": "flat"}
        yield f"rle {bits}", pa.array(np.repeat(small[: _NUM_ROWS // 50], 50).astype(f"int{bits}")), {"codec": "rle"}
    for name in ("lz4", "zstd"):
        yield f"byte_stream_split {name}", pa.array(floats), {"codec": "byte_stream_split", "compression": name}
        yield f"general {name}", pa.array(np.sort(small)), {"codec": "general", "compression": name}
    words = pa.array([f"word{number}" for number in random.integers(0, 100_000, _NUM_ROWS)])
    few = pa.array([f"name{number}" for number in range(50)]).take(pa.array(small % 50))
    texts = pc.binary_join_element_wise(words, few, words, few, " ")
    starts = pa.array(np.arange(0, _NUM_ROWS + 1, 4, dtype=np.int32))
    yield "variable", words, {"codec": "variable"}
    yield "fsst", texts, {"codec": "fsst"}
    yield "dictionary", few, {}
    yield "dictionary 64", pa.array(small * 10**12), {"codec": "dictionary"}
    yield "binary", texts.cast(pa.binary()), {}
    yield "bool", pa.array(small < 50), {}
    yield "bool, nulls", pa.array(small < 50, mask=null), {}
    yield "int32, nulls", pa.array(small.astype(np.int32), mask=null), {}
    yield "double, nulls", pa.array(floats, mask=null), {}
    yield "string, nulls", pc.if_else(pa.array(null), None, words), {}
    yield "decimal128", pa.array(small * 1000 + 7).cast(pa.decimal128(21, 0)), {}
    yield "timestamp", pa.array(np.cumsum(random.integers(0, 10**6, _NUM_ROWS)).astype("M8[us]")), {}
    yield "date32", pa.array(small.astype(np.int32)).cast(pa.date32()), {}
    yield "list<int32>", pa.ListArray.from_arrays(starts, pa.array(small.astype(np.int32))), {}
    yield "list<string>", pa.ListArray.from_arrays(starts, words), {}
    yield "vectors", pa.FixedSizeListArray.from_arrays(pa.array(floats.astype(np.float32)), 100), {}
    yield "struct", pa.StructArray.from_arrays([pa.array(small), pa.array(floats)], names=["a", "b"]), {}


def write(path: Path, values: pa.Array, options: Mapping[str, Any]) -> None:
    """Write a column."""
    import lance_arrow  # noqa: PLC0415 - the process that starts the others imports none

    table = pa.table({"x": values})
    chosen = {"x": dict(options)} if options else None
    with lance_arrow.LanceWriter(path, table.schema, column_options=chosen) as writer:
        writer.write(table)


def least_ms(call: Callable[[], object]) -> float:
    """Return the least processor time of several calls, after one that is not counted."""
    call()
    times = []
    for _ in range(_REPEATS):
        begun = time.process_time()
        call()
        times.append(time.process_time() - begun)
    return 1e3 * min(times)


def side(folder: Path, wanted: list[str], place: Path | None) -> dict[str, float]:
    """Measure the version that this process imports; return milliseconds by column and case."""
    import lance_arrow  # noqa: PLC0415 - as above

    if place and not Path(lance_arrow.__file__).is_relative_to(place):
        raise SystemExit(f"{lance_arrow.__file__} is imported: an editable installation hides other versions")
    rows = np.sort(np.random.default_rng(2).choice(_NUM_ROWS // 100, _NUM_TAKEN, replace=False))
    found = {}
    for number, (name, values, options) in enumerate(columns()):
        if wanted and not any(one in name for one in wanted):
            continue
        path = folder / f"{number}.lance"
        if not path.exists():
            write(path, values, options)
        file = lance_arrow.LanceFile(path)
        found[f"{name}: scan"] = least_ms(file.read)
        taken = rows * (len(values) // (_NUM_ROWS // 100))
        found[f"{name}: take"] = least_ms(lambda file=file, taken=taken: file.take(taken))
        if pa.types.is_integer(values.type) or pa.types.is_string(values.type):
            middle = pc.field("x") < values.sort()[len(values) // 2]
            found[f"{name}: filter"] = least_ms(lambda file=file, where=middle: file.read(filter=where))
        with tempfile.TemporaryDirectory() as own:
            target = Path(own) / "x.lance"
            found[f"{name}: write"] = least_ms(lambda: write(target, values, options))  # noqa: B023 - called at once
    return found


def measured(former: Path | None, folder: Path, wanted: list[str]) -> dict[str, float]:
    """Measure a version in a process of its own."""
    own, place = ({**os.environ, "PYTHONPATH": str(former)}, [str(former)]) if former else (dict(os.environ), [])
    command = [sys.executable, __file__, *place, "--side", str(folder), "--columns", *wanted]
    answered = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    if answered.returncode:
        raise SystemExit(answered.stderr)
    found: dict[str, float] = json.loads(answered.stdout)
    return found


def compare(former: Path, folder: Path, wanted: list[str], rounds: int) -> None:
    """Let both versions take turns, and print what differs."""
    measured(None, folder, wanted)  # writes the files
    sides: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    for number in range(rounds):
        order = ((None, sides[0]), (former, sides[1]))
        for place, own in order if number % 2 else reversed(order):
            own.append(measured(place, folder, wanted))
    slower = []
    for case in sides[0][0]:
        ours, before = (min(one[case] for one in own) for own in sides)
        print(f"{case:28s} {before:8.2f} → {ours:8.2f} ms {ours / before:6.2f}", flush=True)
        if ours > _BAR * before and ours > before + _LEAST_MS:
            slower.append(f"{case} {ours / before:.2f}")
    print(f"slower by more than {_BAR - 1:.0%}: {', '.join(slower) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("former", nargs="?", type=Path, help="wheel of the former version, or where it is installed")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--columns", nargs="*", default=[], help="parts of names of columns (default: all)")
    parser.add_argument("--side", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(side(arguments.side, arguments.columns, arguments.former)))
        return
    if arguments.former is None:
        parser.error("name the wheel of the former version")
    with tempfile.TemporaryDirectory() as folder:
        former = arguments.former.resolve()
        if former.suffix == ".whl":
            target = Path(folder) / "former"
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, former]
            subprocess.run(command, check=True)
            former = target
        compare(former, Path(folder), arguments.columns, arguments.rounds)


if __name__ == "__main__":
    main()
