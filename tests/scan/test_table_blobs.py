"""Blobs of tables: those of each fragment's files, wherever these hold them, in pieces of few bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from blobs import FIRST, payloads
from manifests import change
from same import assert_same

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import CorruptFileError, MissingFileError
from lance_arrow.proto.table_pb2 import Manifest
from lance_arrow.runtime import default_runtime

NUM_ROWS = 120
BLOB = pa.field("b", pa.large_binary(), metadata=FIRST)
WIDE = pa.field("d", pa.large_binary(), metadata=FIRST)
NESTED = pa.field("s", pa.struct([pa.field("x", pa.int64()), pa.field("b", pa.large_binary(), metadata=FIRST)]))
SCHEMA = pa.schema([pa.field("n", pa.int64()), BLOB, NESTED])


def _rows(start: int, stop: int) -> pa.Table:
    values = payloads(NUM_ROWS)[start:stop]
    nested = [None if n % 11 == 4 else {"x": n, "b": value} for n, value in enumerate(values, start)]
    return pa.table([range(start, stop), pa.array(values, BLOB.type), pa.array(nested, NESTED.type)], schema=SCHEMA)


def _wide(batch: pa.RecordBatch) -> pa.RecordBatch:
    values = [b"%d" % n * 10 for n in batch.column("n").to_pylist()]
    return pa.RecordBatch.from_arrays([pa.array(values, WIDE.type)], schema=pa.schema([WIDE]))


@pytest.fixture(scope="module")
def expected() -> pa.Table:
    """Rows of the table; the last 40 were written without blobs, and two rows are deleted."""
    rows = pa.concat_tables(
        [_rows(0, 80), pa.table({"n": pa.array(range(80, NUM_ROWS))})], promote_options="default"
    ).cast(SCHEMA)
    (batch,) = rows.select(["n"]).combine_chunks().to_batches()
    return rows.append_column(WIDE, _wide(batch).column(0)).filter(~pc.field("n").isin([7, 85]))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four fragments: blobs in the first file of two of them, in the second file of all."""
    path = tmp_path_factory.mktemp("blobs") / "table.lance"
    table = LanceTable.create(path, _rows(0, 80), max_rows_per_file=40)
    table.append(pa.table({"n": pa.array(range(80, NUM_ROWS))}), max_rows_per_file=20)
    table.add_columns(_wide)
    table.delete(pc.field("n").isin([7, 85]))
    return path


FILTER = (pc.field("n") > 30) & pc.field("n").isin(list(range(0, NUM_ROWS, 3)))
OF_BLOBS = pc.field("d") == b"50" * 10
DOORS: dict[str, tuple[Callable[[Path], Any], Callable[[pa.Table], pa.Table]]] = {
    "to_table": (lambda path: LanceTable.open(path).to_table(), lambda rows: rows),
    "to_batches": (
        lambda path: pa.Table.from_batches(LanceTable.open(path).to_batches(batch_size=7)),
        lambda rows: rows,
    ),
    "filtered": (lambda path: LanceTable.open(path).to_table(filter=FILTER), lambda rows: rows.filter(FILTER)),
    "filtered by blobs": (
        lambda path: LanceTable.open(path).to_table(filter=OF_BLOBS),
        lambda rows: rows.filter(OF_BLOBS),
    ),
    "columns": (
        lambda path: LanceTable.open(path).to_table(columns=["s.b", "d", "n"]),
        lambda rows: pa.table([pc.struct_field(rows["s"], "b"), rows["d"], rows["n"]], ["b", "d", "n"]),
    ),
    "take": (lambda path: LanceTable.open(path).take([90, 3, 3, 60, 0]), lambda rows: rows.take([90, 3, 3, 60, 0])),
    "take in order": (
        lambda path: LanceTable.open(path).take([0, 1, 50, 117]),
        lambda rows: rows.take([0, 1, 50, 117]),
    ),
    "dataset": (lambda path: lance_arrow.dataset(path).to_table(), lambda rows: rows),
    "dataset filtered": (
        lambda path: lance_arrow.dataset(path).to_table(filter=FILTER),
        lambda rows: rows.filter(FILTER),
    ),
    "dataset filtered by blobs": (
        lambda path: lance_arrow.dataset(path).to_table(filter=OF_BLOBS),
        lambda rows: rows.filter(OF_BLOBS),
    ),
    "dataset take": (
        lambda path: lance_arrow.dataset(path).take([90, 3, 60]),
        lambda rows: rows.take([90, 3, 60]),
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_rows_have_the_bytes_of_their_fragments(door: str, path: Path, expected: pa.Table) -> None:
    read, wanted = DOORS[door]
    found = read(path)
    rows = wanted(expected)
    assert found.schema.names == rows.schema.names
    assert_same(found, rows.cast(found.schema))


def test_counts(path: Path, expected: pa.Table) -> None:
    assert LanceTable.open(path).count_rows(OF_BLOBS) == expected.filter(OF_BLOBS).num_rows == 1


def test_descriptors_stay_where_they_are_wanted(path: Path) -> None:
    places = LanceTable.open(path, blobs="descriptors").to_table(columns=["d"])["d"]
    assert pa.types.is_struct(places.type)
    sizes = pc.struct_field(places, "size").to_pylist()
    assert sizes == [len(b"%d" % n * 10) for n in range(NUM_ROWS) if n not in (7, 85)]


@pytest.mark.parametrize("filter", [None, pc.field("n") >= 0])
def test_few_bytes_are_read_at_a_time(filter: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many rows a window has: the first batch needs no more than the pieces that are in flight."""
    piece = 64 << 10
    runtime = default_runtime()
    monkeypatch.setattr(runtime, "settings", replace(runtime.settings, blob_batch_bytes=piece, num_threads=2))
    values = pa.array([bytes([n]) * 16_384 for n in range(200)], BLOB.type)
    rows = pa.table([range(200), values], schema=pa.schema([pa.field("n", pa.int64()), BLOB]))
    table = LanceTable.create(tmp_path / "table.lance", rows)
    with lance_arrow.receipts() as found:
        batches = table.to_batches(filter=filter)
        first = next(batches)
        batches.close()
    assert first.num_rows == 4
    assert found.total.fetched_bytes < 10 * piece < values.nbytes // 4
    batches = list(table.to_batches(filter=filter))
    assert max(batch.nbytes for batch in batches) < 2 * piece
    assert_same(pa.Table.from_batches(batches), rows)


def test_a_missing_file_is_named_when_its_blobs_are_wanted(tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "table.lance", _rows(0, 80), max_rows_per_file=40)
    gone = sorted((tmp_path / "table.lance" / "data").iterdir())[0]
    gone.unlink()
    with pytest.raises(MissingFileError, match=gone.name):
        list(LanceTable.open(tmp_path / "table.lance").to_batches(columns=["b"]))


@pytest.mark.parametrize(("field", "type_"), [(BLOB, "int64"), (BLOB, "string"), (BLOB.remove_metadata(), "int64")])
def test_a_column_of_another_type_than_the_table_says_is_refused(field: pa.Field, type_: str, tmp_path: Path) -> None:
    table = tmp_path / "table.lance"
    LanceTable.create(table, pa.table([pa.array([b"some", b"bytes"], field.type)], schema=pa.schema([field])))

    def edit(message: Manifest) -> None:
        message.fields[0].logical_type = type_
        message.fields[0].metadata.clear()

    change(table, edit)
    with pytest.raises(CorruptFileError, match="the data file holds large_binary, the table says") as raised:
        LanceTable.open(table).to_table()
    assert raised.value.column == "b"
