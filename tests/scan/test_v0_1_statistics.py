"""`V01Statistics`: statistics of files made by hand, as no writer leaves them; what they cost, how they break."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from first_files import FirstFile

from lance_arrow import LanceFile
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import CorruptFileError, LanceError
from lance_arrow.io import BufferSource, MeteredSource
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.open_file import row_reader
from lance_arrow.scan.zone_reader import ZoneReader

NUM_ROWS = 20
ROWS = pa.table({"n": pa.array(range(NUM_ROWS)), "s": [f"w{one:02}" for one in range(NUM_ROWS)]})
BATCHES = [6, 10, 4]


def bounds(name: str) -> tuple[list[int], pa.Array, pa.Array]:
    column = ROWS[name].combine_chunks()
    ends = np.cumsum(BATCHES)
    return [0] * len(BATCHES), column.take(pa.array(ends - BATCHES)), column.take(pa.array(ends - 1))


TOLD = {"0": bounds("n"), "1": bounds("s")}


def made(**changes: object) -> FirstFile:
    return FirstFile(ROWS, BATCHES, {**TOLD, **changes})  # type: ignore[arg-type]


@contextmanager
def zones_of(content: bytes) -> Iterator[tuple[MeteredSource, ZoneReader, dict]]:
    source = MeteredSource(BufferSource(content, name="told"))
    with closing(LanceFileReader(source)) as file:
        rows = row_reader(file, default_runtime())
        yield source, ZoneReader(rows), {leaf.path: leaf for root in rows.roots for leaf in root.leaves()}


def mins(content: bytes, *paths: str) -> list[list | None]:
    with zones_of(content) as (_, zones, found):
        maps = zones.get([found[path] for path in paths])
        return [None if one is None else one.zones.column("min").to_pylist() for one in maps]


def test_uneven_batches() -> None:
    content = made().build()
    (low, texts) = mins(content, "n", "s")
    assert low == [0, 0, 0, 6, 6, 6, 6, 6, 16, 16]
    assert texts == [f"w{one:02}" for one in low]
    with LanceFile(pa.py_buffer(content)) as file:
        assert file.read(filter=pc.field("n") == 17)["s"].to_pylist() == ["w17"]
        assert file.zones("n").column("max").to_pylist() == [5, 5, 5, 15, 15, 15, 15, 15, 19, 19]


def test_files_without() -> None:
    assert mins(FirstFile(ROWS, BATCHES).build(), "n", "s") == [None, None]
    assert mins(FirstFile(ROWS.slice(0, 0), [], {}).build(), "n") == [None]


def test_covered_fields_alone_have_zones() -> None:
    assert mins(FirstFile(ROWS, BATCHES, {"1": TOLD["1"]}).build(), "n", "s")[0] is None


def test_all_wanted_statistics_are_one_request() -> None:
    """A file whose statistics lie far before its end: the page table is read, then what is told of the columns."""
    num_batches, num_columns = 1500, 8
    rows = pa.table({f"c{one}": pa.array(range(num_batches)) for one in range(num_columns)})
    column = rows["c0"].combine_chunks()
    told = {str(one): ([0] * num_batches, column, column) for one in range(num_columns)}
    content = FirstFile(rows, [1] * num_batches, told).build()
    # Behind all else, so that nothing of it comes with the tail.
    position, *rest = struct.unpack("<QHH4s", content[-16:])
    (size,) = struct.unpack_from("<I", content, position)
    message = content[position : position + 4 + size]
    content = content + bytes(200_000) + message + struct.pack("<QHH4s", len(content) + 200_000, *rest)
    with zones_of(content) as (source, zones, found):
        before = source.snapshot()
        maps = zones.get([found["c1"], found["c2"], found["c5"]])
        read = source.snapshot() - before
        assert all(one.num_zones == num_batches for one in maps)
        # Columns 3 and 4 lie between, and so does a gap that is not worth reading.
        assert read.requests <= 3
        assert read.bytes_fetched < 6 * num_batches * 24
        before = source.snapshot()
        assert zones.get([found["c1"]])[0] is maps[0]
        assert (source.snapshot() - before).requests == 0


def other_forms() -> dict[str, pa.Table]:
    """Statistics that no writer leaves: passed over, as maps in somebody else's form are."""
    plain = made().statistics()
    of_n = plain["0"].combine_chunks()
    counts, low, high = of_n.flatten()
    small = [counts, low.cast(pa.int32()), high.cast(pa.int32())]
    names = ["null_count", "min_value", "max_value"]
    return {
        "types": pa.table({"0": pa.StructArray.from_arrays(small, names)}),
        "names": pa.table({"0": pa.StructArray.from_arrays([counts, low, high], ["nulls", *names[1:]])}),
        "order": pa.table({"0": pa.StructArray.from_arrays([counts, high, low], ["null_count", *names[:0:-1]])}),
        "counts": pa.table({"0": pa.StructArray.from_arrays([counts.cast(pa.int32()), low, high], names)}),
        "fewer": pa.table({"0": pa.StructArray.from_arrays([counts, low], names[:2])}),
        "no-struct": pa.table({"0": low}),
        "no-field": pa.table({"7": of_n, "-1": of_n, "x": of_n}),
    }


@pytest.mark.parametrize("name", other_forms())
def test_other_forms_are_passed_over(name: str) -> None:
    content = FirstFile(ROWS, BATCHES).build(other_forms()[name])
    assert mins(content, "n") == [None]
    with LanceFile(pa.py_buffer(content)) as file:
        assert file.count_rows(pc.field("n") > 15) == 4


LOW, HIGH = TOLD["0"][1:]
CONTRADICTIONS = {
    "more-nulls-than-rows": ([0, 11, 0], LOW, HIGH),
    "fewer-nulls-than-none": ([0, -1, 0], LOW, HIGH),
    "bounds-the-wrong-way": ([0, 0, 0], HIGH, LOW),
    "fewer-batches": ([0, 0], LOW.slice(0, 2), HIGH.slice(0, 2)),
    "more-batches": ([0] * 4, pa.concat_arrays([LOW, LOW[:1]]), pa.concat_arrays([HIGH, HIGH[:1]])),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_contradictions_are_refused(name: str) -> None:
    content = FirstFile(ROWS, BATCHES, {"0": CONTRADICTIONS[name]}).build()
    with LanceFile(pa.py_buffer(content)) as file:
        assert file.num_rows == NUM_ROWS
        assert file.read()["n"].to_pylist() == list(range(NUM_ROWS))
        with pytest.raises(CorruptFileError) as caught:
            file.read(filter=pc.field("n") > 3)
    assert caught.value.path is not None
    if "batches" not in name:
        assert caught.value.column == "n"
    assert any("statistics of batches" in note for note in caught.value.__notes__)


def test_statistics_of_a_field_twice_are_refused() -> None:
    of_n = made().statistics()["0"].combine_chunks()
    content = FirstFile(ROWS, BATCHES).build(pa.Table.from_arrays([of_n, of_n], names=["0", "0"]))
    with LanceFile(pa.py_buffer(content)) as file, pytest.raises(CorruptFileError) as caught:
        file.count_rows(pc.field("n") > 3)
    assert caught.value.column == "n"


@pytest.mark.parametrize("position", [10**6, 2**40, 2**63, 2**64 - 1])
def test_page_tables_outside_of_the_file(position: int) -> None:
    content = made().build(statistics_position=position)
    with LanceFile(pa.py_buffer(content)) as file, pytest.raises(CorruptFileError, match="page table"):
        file.read(filter=pc.field("n") > 3)


@pytest.mark.cover(1)
@pytest.mark.parametrize("entry", [1, 2, 3, 5, 6, 7])
@pytest.mark.parametrize("number", [-1, 10**6, 2**40, 2**62, 2**63 - 1])
@pytest.mark.parametrize("which", [0, 1])
def test_pages_outside_of_the_file(entry: int, number: int, which: int) -> None:
    """Positions and lengths of the pages, one at a time: the column that is read is named, the other one is read."""
    file = made()
    content = bytearray(file.build())
    struct.pack_into("<q", content, file.statistics_position + entry * 16 + which * 8, number)
    name, other = ("n", "s") if entry < 4 else ("s", "n")
    condition = {"n": pc.field("n") > 3, "s": pc.field("s") > "w03"}
    with LanceFile(pa.py_buffer(bytes(content))) as opened:
        with pytest.raises(CorruptFileError) as caught:
            opened.read(filter=condition[name])
        assert any("statistics of batches" in note for note in caught.value.__notes__)
        # Lengths contradict each other within the table, which is read for all columns.
        if which == 0 and number > 0:
            assert caught.value.column == name
            assert opened.count_rows(condition[other]) == 16


def test_damage_never_takes_anything_but_a_lance_error() -> None:
    """Numbers at the borders of their types, anywhere in the statistics and in what points to them."""
    rng = np.random.default_rng(1)
    plain = made()
    content = plain.build()
    start = content.index(struct.pack("<qqq", 0, 0, 0), plain.statistics_position - 400)
    outcomes = {"rows": 0, "refused": 0}
    for _ in range(400):
        width = int(rng.choice([1, 4, 8]))
        bad = bytearray(content)
        at = int(rng.integers(start, len(content) - 16 - width))
        number = int(rng.choice([0, 1, 2**7, 2**31, 2**62])) % 2 ** (8 * width)
        bad[at : at + width] = number.to_bytes(width, "little")
        try:
            with LanceFile(pa.py_buffer(bytes(bad))) as file:
                file.read(filter=(pc.field("n") > 3) & (pc.field("s") < "w09"))
        except LanceError:
            outcomes["refused"] += 1
        else:
            outcomes["rows"] += 1
    assert outcomes["refused"] > 40
    assert outcomes["rows"] > 10
