"""Rows in many short runs: read out of all between them or run by run, they are the rows that were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from native_only import without_layouts
from same import assert_same
from stores import CountingStore

from lance_arrow import LanceFile, write_table
from lance_arrow.engine import NativePage
from lance_arrow.errors import CorruptFileError
from lance_arrow.scan import row_reader
from lance_arrow.scan.row_weights import RowWeights
from lance_arrow.scan.sparse_selection import are_short, hull, is_cheaper_whole, marks_of, picked
from lance_arrow.spi.layouts import RowRanges
from lance_arrow.structure.row_selection import marked

ROWS = 30_000
VERSIONS = ("2.0", "2.1", "2.2", "2.3")
CLOSE = ("flat", "packed", "int8", "nullable", "decimal", "vector", "runs", "sequence", "few")
"""Columns that the engine picks out of all rows, from 2.1 on; of dictionaries it picks the indices."""


def table() -> pa.Table:
    """Values of one width, with nulls and without, of several codecs; and what the engine does not pick."""
    random = np.random.default_rng(11)
    holes = random.random(ROWS) < 0.2
    counts = np.concatenate(([0], np.cumsum(random.integers(0, 4, ROWS)))).astype(np.int32)
    return pa.table(
        {
            "flat": random.random(ROWS),
            "packed": random.integers(0, 1000, ROWS),
            "int8": random.integers(-9, 99, ROWS).astype(np.int8),
            "nullable": pa.array(random.integers(0, 1 << 40, ROWS), mask=holes),
            "decimal": pa.array(random.integers(0, 10**9, ROWS)).cast(pa.decimal128(30, 0)),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(random.random(ROWS * 3).astype("f4")), 3),
            "runs": np.repeat(random.integers(0, 5, ROWS // 100), 100).astype(np.int32),
            "sequence": np.arange(ROWS) * 3,
            "bits": pa.array(random.random(ROWS) < 0.5, mask=holes),
            "text": [f"{n:09d}{'x' * (n % 30)}" for n in random.integers(0, 10**9, ROWS)],
            "few": pa.array([("a", "bb", None, "dddd")[n] for n in random.integers(0, 4, ROWS)]).dictionary_encode(),
            "lists": pa.ListArray.from_arrays(counts, pa.array(random.integers(0, 99, int(counts[-1])))),
            "struct": pa.StructArray.from_arrays([pa.array(random.random(ROWS)), pa.array(holes)], ["x", "y"]),
        }
    )


TABLE = table()


def patterns() -> Iterator[tuple[str, np.ndarray]]:
    """Which rows: rare ones, most, all but few, in stretches, and every other."""
    random = np.random.default_rng(5)
    for part in (0.004, 0.02, 0.1, 0.5, 0.9, 0.995):
        yield f"{part} of all", random.random(ROWS) < part
    stretches = random.random(ROWS) < 0.5
    stretches[5_000:15_000] = False
    stretches[20_000:22_000] = True
    yield "stretches", stretches
    yield "every other", np.arange(ROWS) % 2 == 1
    middle = np.zeros(ROWS, np.bool_)
    middle[9_990:10_400:2] = True
    yield "around a border", middle


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("short_runs")
    paths = {version: folder / f"{version}.lance" for version in VERSIONS}
    for version, path in paths.items():
        write_table(TABLE, path, file_version=version, page_bytes=64 << 10)
    return paths


@pytest.mark.parametrize("version", VERSIONS)
def test_they_are_the_rows_asked_for(files: dict[str, Path], version: str) -> None:
    with LanceFile(files[version]) as file:
        reader = file._rows
        for name, flags in patterns():
            rows = marked(RowRanges.one(0, ROWS), pa.array(flags))
            expected = TABLE.filter(pa.array(flags))
            for node in reader.roots:
                (batch,), counts = reader.read([node], rows)
                batch.validate(full=True)
                assert_same(expected.select([node.field.name]), pa.table(batch))
                assert counts.columns == tuple(leaf.path for leaf in node.leaves()), name
            (whole,), _ = reader.read(reader.roots, rows)
            assert_same(expected, pa.table(whole))


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_the_engine_picks_what_has_one_width(files: dict[str, Path], version: str) -> None:
    flags = dict(patterns())["0.5 of all"]
    rows = marked(RowRanges.one(0, ROWS), pa.array(flags))
    with LanceFile(files[version]) as file:
        found = {node.field.name for node in file._rows._close_nodes(file._rows.roots, rows)}
        (few,) = (node for node in file._rows.roots if node.field.name == "few")
        with without_layouts():
            (batch,), _ = file._rows.read([few], rows)
    assert found.issuperset(set(CLOSE) - {"runs"})
    assert not found & {"bits", "text", "lists", "struct"}
    batch.validate(full=True)
    assert_same(TABLE.select(["few"]).filter(pa.array(flags)), pa.table(batch))


def test_what_it_does_not_pick_is_read_whole_and_cut(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[tuple[str, ...], int]] = []
    read = row_reader.RowReader._read_natively

    def noted(self, nodes, rows, pool, *, is_scan):
        asked.append((tuple(node.field.name for node in nodes), len(rows)))
        return read(self, nodes, rows, pool, is_scan=is_scan)

    monkeypatch.setattr(row_reader.RowReader, "_read_natively", noted)
    rows = marked(RowRanges.one(0, ROWS), pa.array(dict(patterns())["0.5 of all"]))
    few = marked(RowRanges.one(0, ROWS), pa.array(dict(patterns())["0.004 of all"]))
    with LanceFile(files["2.2"]) as file:
        nodes = [node for node in file._rows.roots if node.field.name in ("flat", "text")]
        file._rows.read(nodes, rows)
        assert asked == [(("text",), 1), (("flat",), len(rows))]
        asked.clear()
        file._rows.read(nodes, few)
        assert asked == [(("flat", "text"), len(few))]


def test_what_lies_between_is_not_decoded_beyond_the_budget() -> None:
    weights = RowWeights(np.array([0, 1_000_000], np.int64), np.array([0.0, 8_000_000.0]))
    starts = np.arange(0, 900_000, 10, dtype=np.int64)
    tenth, third = RowRanges(starts, starts + 1), RowRanges(starts, starts + 3)
    assert is_cheaper_whole(tenth, weights, 1, spare_bytes=8_000_000)
    assert not is_cheaper_whole(tenth, weights, 1, spare_bytes=7_000_000)
    assert is_cheaper_whole(third, weights, 1, spare_bytes=0)
    assert not is_cheaper_whole(RowRanges(starts[::10], starts[::10] + 1), weights, 1, spare_bytes=8_000_000)


def test_a_far_file_is_asked_as_for_all_rows_between(files: dict[str, Path]) -> None:
    flags = dict(patterns())["0.5 of all"]
    rows = marked(RowRanges.one(0, ROWS), pa.array(flags))
    store = CountingStore({"file": files["2.2"].read_bytes()})
    with LanceFile("file", filesystem=store) as file:
        # Ranges that come in several waves leave the padding between them out; later reads join them over it, once.
        for _ in range(2):
            file._rows.read(file._rows.roots, rows)
        store.waves.clear()
        file._rows.read(file._rows.roots, hull(rows))
        expected = store.waves[:]
        store.waves.clear()
        (batch,), _ = file._rows.read(file._rows.roots, rows)
        assert store.waves == expected
    assert_same(TABLE.filter(pa.array(flags)), pa.table(batch))


def test_damage_among_them_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "file.lance"
    write_table(TABLE.select(["flat", "nullable"]), path, checksums=False, page_bytes=64 << 10)
    flags = dict(patterns())["0.5 of all"]
    rows = marked(RowRanges.one(0, ROWS), pa.array(flags))
    original, random = path.read_bytes(), np.random.default_rng(2)
    refused: list[CorruptFileError] = []
    for place in random.integers(0, len(original) - 4_000, 60):
        damaged = bytearray(original)
        damaged[place : place + 4_200] = b"\xff" * min(4_200, len(original) - place)
        path.write_bytes(damaged)
        try:
            with LanceFile(path) as file:
                for node in file._rows.roots:
                    file._rows.read([node], rows)
        except CorruptFileError as error:
            refused.append(error)
    assert len(refused) > 30
    assert all(error.path == str(path) and error.column in ("flat", "nullable", None) for error in refused)


@given(st.lists(st.sampled_from([True, False, None]), max_size=200), st.integers(0, 70), st.integers(0, 70))
def test_marked_rows_of_a_batch_are_what_arrow_keeps(flags, values_offset, mask_offset):
    count = len(flags)
    numbers = pa.array(np.arange(values_offset + count) * 3)[values_offset:]
    batch = pa.record_batch(
        {
            "n": numbers,
            "d": numbers.cast(pa.decimal128(25, 2)),
            "s": numbers.cast(pa.string()),
            "b": pa.array([b"abc"] * count, pa.binary(3)),
            "h": pa.array([None if n % 2 else n for n in range(count)], pa.int16()),
            "t": pa.array([n % 3 == 0 for n in range(count)], pa.bool_()),
        }
    )
    mask = pa.array([True] * mask_offset + flags, pa.bool_())[mask_offset:]
    found = picked(batch, mask)
    found.validate(full=True)
    assert found.equals(batch.filter(mask))


def test_runs_are_short_where_they_are_many() -> None:
    starts = np.arange(100, dtype=np.int64) * 10
    rows = RowRanges(starts, starts + 3)
    assert are_short(rows)
    assert not are_short(RowRanges(starts[:60], starts[:60] + 3))
    assert not are_short(RowRanges(starts * 100, starts * 100 + 70))
    assert (hull(rows).starts.item(), hull(rows).stops.item()) == (0, 993)
    assert marks_of(rows).to_pylist() == [row % 10 < 3 for row in range(993)]


def test_pages_say_whether_they_pick(files: dict[str, Path]) -> None:
    with LanceFile(files["2.2"]) as file:
        reader = file._rows
        rows = RowRanges.one(0, ROWS)
        leaves = [leaf for node in reader.roots for leaf in node.leaves() if leaf.path in ("flat", "text")]
        pages = reader._pages_of(leaves, rows).wanted
        native = [{page.picks_close_rows for page, *_ in of_leaf if isinstance(page, NativePage)} for of_leaf in pages]
        assert native == [{True}, {False}]
