"""Open, read and change tables of extreme shape: each step ends in bounded time and memory, or names its limit.

`python tests/soak/floods.py`, or some: `python tests/soak/floods.py versions names`. Each flood runs in a process of
its own, which prints seconds and peak memory of each step.
"""

from __future__ import annotations

import argparse
import datetime
import multiprocessing
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))

import manifests
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from many_versions import table_of_versions

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.container.fields import MAX_DEPTH
from lance_arrow.errors import LanceError

VERSIONS, FRAGMENTS, COLUMNS, NAME_BYTES = 100_000, 1_000_000, 10_000, 1 << 16
NESTINGS = (MAX_DEPTH, MAX_DEPTH + 1, 1000)
MOST_SECONDS = 60.0
"""For each step."""
MOST_BYTES = 3 << 30
"""Peak resident memory of each flood."""
FLOOD_SECONDS = 900
ROWS = pa.table({"id": [0, 1, 2], "word": ["a", None, "c"]})


def peak_bytes() -> int:
    """Return the most resident memory of this process; 0 where the system does not say."""
    status = Path("/proc/self/status")
    return int(status.read_text().split("VmHWM:")[1].split()[0]) << 10 if status.exists() else 0


@contextmanager
def step(what: str) -> Iterator[None]:
    """Time a step, and say what it took; it may not take too much."""
    begun = time.perf_counter()
    yield
    seconds, peak = time.perf_counter() - begun, peak_bytes()
    print(f"  {what}: {seconds:.2f} s, {peak / (1 << 20):,.0f} MiB at most", flush=True)
    assert seconds <= MOST_SECONDS, f"{what} took {seconds:.0f} s"
    assert peak <= MOST_BYTES, f"{what} took {peak:,} bytes"


def versions(folder: Path) -> None:
    """A table of 100,000 versions, all but the newest of which are stand-ins."""
    path = folder / "versions"
    table_of_versions(path, VERSIONS, ROWS)
    with step("open"):
        table = LanceTable.open(path)
    assert table.version == VERSIONS
    with step("read"):
        assert table.to_table().equals(ROWS)
    with step("append"):
        table.append(ROWS)
    with step("delete"):
        table.delete("id = 1")
    assert LanceTable.open(path).count_rows() == 4
    with step("tag"):
        table.tags.create("last", VERSIONS)
    with step("open the tag"):
        assert LanceTable.open(path, tag="last").count_rows() == 3
    with step("clean up what cannot be read"):
        try:
            table.cleanup(older_than=datetime.timedelta())
        except LanceError as error:
            print(f"  refused: {str(error)[:120]}")
    with step("open again"):
        assert LanceTable.open(path).version == VERSIONS + 2


def fragments(folder: Path) -> None:
    """A table of 1,000,000 fragments, which share one file."""
    path = folder / "fragments"
    LanceTable.create(path, ROWS)
    place = manifests.newest(path)
    message = manifests.message_of(place)
    one = message.fragments[0].SerializeToString()
    del message.fragments[:]
    for number in range(FRAGMENTS):
        message.fragments.add().MergeFromString(one)
        message.fragments[number].id = number
    message.max_fragment_id = FRAGMENTS - 1
    message.ClearField("transaction_section")
    place.write_bytes(manifests.file_of(message))
    del message
    with step("open"):
        table = LanceTable.open(path)
    with step("count"):
        assert table.count_rows() == FRAGMENTS * ROWS.num_rows
    with step("take"):
        picked = [5, FRAGMENTS * ROWS.num_rows - 1, 700_000]
        assert table.take(picked).equals(ROWS.take([row % ROWS.num_rows for row in picked]))
    with step("first rows"):
        assert next(iter(table.to_batches(batch_size=10))).num_rows > 0
    with step("append"):
        table.append(ROWS)
    with step("tag"):
        table.tags.create("many", table.version)
    with step("open and count again"):
        assert LanceTable.open(path, tag="many").count_rows() == (FRAGMENTS + 1) * ROWS.num_rows


def columns(folder: Path) -> None:
    """A file and a table of 10,000 columns."""
    names = [f"column {number}" for number in range(COLUMNS)]
    rows = pa.table([pa.array(np.arange(100, dtype=np.int32) + number) for number in range(COLUMNS)], names)
    with step("write a file"):
        lance_arrow.write_table(rows, folder / "columns.lance")
    with step("open and read one column"), lance_arrow.LanceFile(folder / "columns.lance") as file:
        assert file.read(columns=[names[-1]]).equals(rows.select([names[-1]]))
    with step("read all"):
        assert lance_arrow.read_table(folder / "columns.lance").equals(rows)
    with step("verify"):
        assert lance_arrow.verify(folder / "columns.lance").ok
    with step("create a table"):
        table = LanceTable.create(folder / "columns", rows)
    with step("filter"):
        assert table.to_table(columns=names[:3], filter='"column 9999" > 10050').num_rows == 48
    with step("append"):
        table.append(rows)
    with step("update"):
        table.update({names[0]: "7"}, f'"{names[1]}" = 5')
    with step("drop columns"):
        table.drop_columns(names[5000:])
    with step("read the table"):
        assert LanceTable.open(folder / "columns").to_table().num_rows == 200


def names(folder: Path) -> None:
    """Names of 64 KiB: of columns, of a tag, and of a file."""
    long = "n" * NAME_BYTES
    rows = pa.table({long: [1, 2, 3], f"{long}é": ["a", "b", "c"]})
    with step("write a file"):
        lance_arrow.write_table(rows, folder / "names.lance")
    with step("read it"):
        assert lance_arrow.read_table(folder / "names.lance").equals(rows)
    with step("create a table"):
        table = LanceTable.create(folder / "names", rows)
    with step("filter and append"):
        assert table.to_table(filter=pc.field(long) > 1).num_rows == 2
        table.append(rows)
    with step("zone map"):
        table.create_zone_map(long, name="zones")
    for what, make in (("tag", lambda: table.tags.create(long, 1)), ("branch", lambda: table.branches.create(long))):
        with step(f"{what} of that name"):
            _refused(what, make)
    with step("table of that name"):
        _refused("table", lambda: LanceTable.create(folder / long, rows))
    with step("update the configuration"):
        table.update_config({long: long})
        assert LanceTable.open(folder / "names").config[long] == long


def nesting(folder: Path) -> None:
    """Structs and lists of 63 levels are read as they were written; more are refused."""
    for kind in ("structs", "lists"):
        for levels in NESTINGS:
            deep: pa.DataType = pa.int32()
            value: object = 7
            for _ in range(levels - 1):
                deep = pa.struct([("f", deep)]) if kind == "structs" else pa.list_(deep)
                value = {"f": value} if kind == "structs" else [value]
            rows = pa.table([pa.array([value, value], deep) if levels < 100 else pa.nulls(2, deep)], ["deep"])
            path = folder / f"{kind}.lance"
            with step(f"write {levels} {kind}"):
                is_refused = _refused("file", lambda rows=rows, path=path: lance_arrow.write_table(rows, path))
            assert is_refused == (levels > MAX_DEPTH)
            if is_refused:
                continue
            with step(f"read {levels} {kind}"):
                assert lance_arrow.read_table(path).equals(rows)
            with step(f"table of {levels} {kind}"):
                LanceTable.create(folder / kind, rows).append(rows)
                assert LanceTable.open(folder / kind).to_table().num_rows == 4


def _refused(what: str, make: Callable[[], object]) -> bool:
    """Return whether an error of the package refuses it, or one of the filesystem, and say so."""
    try:
        make()
    except (LanceError, OSError) as error:
        print(f"  {what}: refused, {type(error).__name__}: {str(error)[:100]}")
        return True
    print(f"  {what}: made")
    return False


FLOODS: dict[str, Callable[[Path], None]] = {
    "versions": versions, "fragments": fragments, "columns": columns, "names": names, "nesting": nesting,
}  # fmt: skip


def run(name: str, folder: str) -> None:
    """Run one flood, in a process of its own."""
    FLOODS[name](Path(folder))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("floods", nargs="*", choices=[*FLOODS, []], help=f"some of {', '.join(FLOODS)}")
    asked = parser.parse_args().floods or list(FLOODS)
    memory = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    failed = []
    for name in asked:
        print(f"{name}: {FLOODS[name].__doc__}", flush=True)
        folder = tempfile.mkdtemp(dir=memory)
        process = multiprocessing.get_context("spawn").Process(target=run, args=(name, folder))
        process.start()
        process.join(FLOOD_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        if process.exitcode:
            failed.append(name)
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(asked)} floods, {len(failed)} failures", *failed)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
