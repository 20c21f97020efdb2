"""`verify` of values outside their type and of columns that cannot be decoded: a report, never an exception."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow.errors import LanceError
from lance_arrow.runtime import Runtime
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi.loading import LoadedPlugins, entry_points, load_plugins

WHOLE = pa.array([1, 2, 3], pa.int64())


def of_bits(type_: pa.DataType, storage: pa.DataType, values: list[int]) -> pa.Array:
    """Values whose bits are those of other ones, as damage makes them; pyarrow checks none of this."""
    return pa.Array.from_buffers(type_, len(values), pa.array(values, storage).buffers())


def wide(type_: pa.DataType, words: int) -> pa.Array:
    bits = np.zeros((3, words), "<i8")
    bits[:, 0] = (1, 2, 3)
    bits[2, -1] = 1 << 62
    return pa.Array.from_buffers(type_, 3, [None, pa.py_buffer(bits.tobytes())])


BEYOND = {
    "date64": of_bits(pa.date64(), pa.int64(), [0, 86_400_000, 1]),
    "time32[s]": of_bits(pa.time32("s"), pa.int32(), [0, 86_399, 90_000]),
    "time32[ms]": of_bits(pa.time32("ms"), pa.int32(), [0, 5, -1]),
    "time64[us]": of_bits(pa.time64("us"), pa.int64(), [0, 5, 1 << 60]),
    "time64[ns]": of_bits(pa.time64("ns"), pa.int64(), [0, 5, -5]),
    "decimal128": wide(pa.decimal128(5, 2), 2),
    "decimal256": wide(pa.decimal256(41, 2), 4),
}


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
@pytest.mark.parametrize("kind", BEYOND)
def test_values_beyond_their_type(tmp_path: Path, kind: str, version: str) -> None:
    path = tmp_path / "x.lance"
    lance_arrow.write_table(pa.table({"n": WHOLE, "x": BEYOND[kind]}), path, file_version=version)
    report = lance_arrow.verify(path)
    assert not report.ok
    (finding,) = report.errors
    assert (finding.type, finding.column, finding.page) == ("CorruptPageError", "x", 0)
    assert finding.message.startswith("values contradict their type: ")
    assert "column 0" not in finding.message.lower()
    assert (report.checked.columns, report.checked.rows) == (1, 3)


@pytest.mark.parametrize("nested", ["list", "struct"])
def test_values_beyond_their_type_below_others(tmp_path: Path, nested: str) -> None:
    bad = BEYOND["time32[s]"]
    column = (
        pa.ListArray.from_arrays([0, 1, 2, 3], bad)
        if nested == "list"
        else pa.StructArray.from_arrays([WHOLE, bad], ["n", "x"])
    )
    lance_arrow.write_table(pa.table({"c": column}), tmp_path / "x.lance")
    (finding,) = lance_arrow.verify(tmp_path / "x.lance").errors
    assert finding.column == "c"


def test_the_page_is_named(tmp_path: Path) -> None:
    rows = 20_000
    values = np.arange(rows, dtype=np.int64) % 1000
    values[13_000] = 1 << 60
    column = pa.Array.from_buffers(pa.time64("us"), rows, [None, pa.py_buffer(values.tobytes())])
    lance_arrow.write_table(pa.table({"x": column}), tmp_path / "x.lance", page_bytes=1 << 15)
    with lance_arrow.LanceFile(tmp_path / "x.lance") as file:
        starts = file._file.columns([0])[0].page_starts
    page = int(np.searchsorted(starts, 13_000, "right")) - 1
    assert 0 < page < len(starts) - 2
    assert [one.page for one in lance_arrow.verify(tmp_path / "x.lance").errors] == [page]


def without(name: str) -> LoadedPlugins:
    return load_plugins([point for point in entry_points() if point.name != name])


def test_a_column_without_its_codec_is_not_in_order(tmp_path: Path) -> None:
    path = tmp_path / "x.lance"
    words = pa.array([f"some words, the {i}th of them" for i in range(2000)])
    lance_arrow.write_table(
        pa.table({"n": list(range(2000)), "x": words}), path, column_options={"x": {"codec": "fsst"}}
    )
    assert lance_arrow.verify(path).checked.columns == 2
    report = lance_arrow.verify(path, runtime=Runtime(plugins=without("codec.fsst")))
    assert not report.ok
    assert report.errors == []
    assert [one.column for one in report.unchecked] == ["x"]
    assert report.unchecked[0].type == "UnknownEncodingError"
    assert report.checked.columns == 1


def damaged_files() -> pa.Table:
    rows = 200
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(rows)]
    times = pa.array(range(rows), pa.int32()).cast(pa.time32("s"))
    prices = pa.array([i if i % 7 else None for i in range(rows)], pa.int32()).cast(pa.decimal128(12, 2))
    return pa.table(
        {
            "day": pa.array(days, pa.date64()),
            "time": times,
            "price": prices,
            "text": [f"é{i}" for i in range(rows)],
            "list": pa.ListArray.from_arrays(list(range(rows + 1)), prices),
            "struct": pa.StructArray.from_arrays([times, prices], ["time", "price"]),
        }
    )


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_damage_gives_reports(tmp_path: Path, version: str) -> None:
    path = tmp_path / "x.lance"
    lance_arrow.write_table(damaged_files(), path, file_version=version, checksums=False)
    sound, draw = path.read_bytes(), random.Random(version)
    outcomes = set()
    for _ in range(150):
        data = bytearray(sound)
        for _ in range(draw.choice([1, 4, 30])):
            place = draw.randrange(len(data) - 40)
            data[place] = draw.choice([0xFF, 0x7F, data[place] ^ 1 << draw.randrange(8)])
        try:
            report = lance_arrow.verify(bytes(data))
        except LanceError as error:
            outcomes.add(type(error).__name__)
        else:
            assert report.ok == (not report.errors and not report.unchecked)
            outcomes.add(report.ok)
        try:
            with lance_arrow.LanceFile(bytes(data)) as file:
                file.read(filter=pc.field("price") > 5)
        except LanceError:
            pass
    assert False in outcomes


def test_columns_of_a_small_file_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one by one, where that finds anything."""
    table = pa.table({f"c{number}": pa.array(range(number, number + 1000)) for number in range(40)})
    lance_arrow.write_table(table, tmp_path / "f.lance", checksums=False)
    calls: list[int] = []
    read = RowReader.read

    def counted(self: RowReader, nodes: Any, *rest: Any) -> Any:
        calls.append(len(nodes))
        return read(self, nodes, *rest)

    monkeypatch.setattr(RowReader, "read", counted)
    report = lance_arrow.verify(tmp_path / "f.lance")
    assert (report.ok, report.checked.columns, report.checked.pages) == (True, 40, 40)
    assert calls == [40]
    with lance_arrow.LanceFile(tmp_path / "f.lance") as file:
        # Columns share the table of their chunks.
        place = int(file._file.columns([7])[0].pages[0].buffer_offsets[-1])
    content = bytearray((tmp_path / "f.lance").read_bytes())
    content[place : place + 4] = b"\xff" * 4
    (tmp_path / "f.lance").write_bytes(content)
    report = lance_arrow.verify(tmp_path / "f.lance")
    assert {one.column for one in report.errors} == {"c7"}
    assert report.checked.columns == 39
