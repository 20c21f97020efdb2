"""The native engine: takes through it equal takes by the layouts' own methods, and it is really taken."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from same import assert_same, taken
from witness import Witness

import lance_arrow
from lance_arrow import engine
from lance_arrow.errors import InvalidArgumentError, LanceError
from lance_arrow.pages.native_pages import native_constant
from lance_arrow.scan import row_reader
from lance_arrow.scan.native_take import _parts
from lance_arrow.spi import FixedWidth
from lance_arrow.spi.layouts import LayerKind, PageFacts, RowRanges

VERSIONS = ("2.1", "2.2", "2.3")
ROWS = 9_000


def table() -> pa.Table:
    """Every codec with a native side, and layouts with and without levels, lists, lengths and dictionaries."""
    random = np.random.default_rng(7)
    words = [f"{'word' * int(n)}{n}" for n in random.integers(0, 9, ROWS)]
    holes = random.random(ROWS) < 0.2
    wide = pa.FixedSizeListArray.from_arrays(pa.array(random.random(ROWS * 80)), 80)
    counts = random.integers(0, 5, ROWS)
    borders = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    items = int(borders[-1])
    texts = pa.array([words[int(n)] for n in random.integers(0, ROWS, items)])
    pairs = pa.StructArray.from_arrays(
        [pa.array(random.integers(0, 99, items)), pa.array(random.random(items), mask=random.random(items) < 0.3)],
        ["a", "b"],
    )
    packed_struct = pa.StructArray.from_arrays(
        [pa.array(random.integers(0, 99, ROWS, np.int16)), pa.array(random.random(ROWS)), pa.array(counts, pa.int32())],
        ["a", "b", "c"],
    )
    columns = pa.table(
        {
            "packed": random.integers(0, 1000, ROWS),
            "packed16": random.integers(0, 90, ROWS).astype(np.int16),
            "flat": random.random(ROWS),
            "bits": random.random(ROWS) < 0.5,
            "runs": np.repeat(random.integers(0, 5, ROWS // 100), 100).astype(np.int32),
            "nullable": pa.array(random.integers(0, 1 << 40, ROWS), mask=holes),
            "nullable_bits": pa.array(random.random(ROWS) < 0.5, mask=holes),
            "text": pa.array(words, mask=holes),
            "unique": [f"{n:020d}{'x' * (n % 90)}" for n in range(ROWS)],
            "decimal": pa.array(random.integers(0, 10**9, ROWS)).cast(pa.decimal128(30, 0)),
            "small_vector": pa.FixedSizeListArray.from_arrays(pa.array(random.random(ROWS * 3).astype("f4")), 3),
            "wide_vector": wide,
            "nullable_vector": pa.array([None if h else [float(n)] * 80 for n, h in enumerate(holes)], wide.type),
            "large": pa.array([b"z" * int(n) for n in random.integers(0, 700, ROWS)], pa.large_binary()),
            "lists": pa.ListArray.from_arrays(borders, texts),
            "large_lists": pa.LargeListArray.from_arrays(borders.astype(np.int64), pairs),
            "struct": pa.StructArray.from_arrays([pa.array(words), pa.array(counts)], ["s", "n"], mask=pa.array(holes)),
            "deep": pa.ListArray.from_arrays(
                np.arange(0, ROWS + 1, dtype=np.int32), pa.ListArray.from_arrays(borders, texts)
            ),
        }
    )
    field = pa.field("packed_struct", packed_struct.type, metadata={"lance-encoding:packed": "true"})
    return columns.append_column(field, packed_struct)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    folder = tmp_path_factory.mktemp("native")
    witness = Witness(folder)
    whole = table()
    halves = pa.concat_tables([whole.slice(0, 5000), whole.slice(5000)])
    written = {
        version: witness.write(halves, folder / f"{version}.lance", version, data_cache_bytes=1) for version in VERSIONS
    }
    fragile = whole.select(["packed", "nullable", "text", "unique", "lists", "deep"])
    yield written | {"fragile": witness.write(fragile, folder / "fragile.lance", "2.1")}
    witness.close()


class Watch:
    """Notes which leaves the engine was asked for, and which of them it served."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.served: list[str] = []
        self.refused: list[str] = []
        serve = row_reader.take_leaves

        def watched(*arguments):
            answer = serve(*arguments)
            plans = arguments[0].plans
            for plan, one in zip_longest(plans, plans if isinstance(answer, pa.RecordBatch) else answer):
                (self.refused if one is None else self.served).append(plan.leaf.path)
            return answer

        monkeypatch.setattr(row_reader, "take_leaves", watched)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    return Watch(monkeypatch)


def picks() -> Iterator[np.ndarray]:
    """Rows in order and not, doubled, at page borders, few and many, alone and in runs."""
    random = np.random.default_rng(3)
    yield np.array([0])
    yield np.array([ROWS - 1, 0, 4999, 5000, 0])
    yield np.arange(4990, 5010)
    yield random.integers(0, ROWS, 40)
    yield random.permutation(ROWS)[: ROWS // 2]
    yield np.arange(ROWS)


@pytest.mark.parametrize("version", VERSIONS)
def test_takes_equal_the_rows_written(files: dict[str, Path], version: str, watch: Watch) -> None:
    expected = table()
    with lance_arrow.LanceFile(files[version]) as file:
        for indices in picks():
            found = file.take(indices)
            found.validate(full=True)
            assert_same(taken(expected, indices), found)
    assert (watch.refused, len(watch.served)) == ([], len(list(picks())) * 21)


@pytest.mark.share(2)
@pytest.mark.parametrize("name", table().schema.names)
def test_each_column_alone_is_served(files: dict[str, Path], name: str, watch: Watch) -> None:
    expected = table().select([name])
    for version in VERSIONS:
        with lance_arrow.LanceFile(files[version]) as file:
            indices = np.array([7, 8_000, 8, 7])
            assert_same(taken(expected, indices), file.take(indices, columns=[name]))
    assert watch.served


def test_pages_of_lists_with_and_without_null_items(tmp_path: Path, watch: Watch) -> None:
    items = np.random.default_rng(5).random(ROWS * 4).astype("f4")
    vectors = [
        pa.FixedSizeListArray.from_arrays(pa.array(items, mask=mask), 4)
        for mask in (np.zeros(len(items), np.bool_), items < 0.1)
    ]
    expected = pa.table({"vector": pa.chunked_array(vectors)})
    witness = Witness(tmp_path)
    path = witness.write(expected, tmp_path / "file.lance", "2.1", data_cache_bytes=1)
    witness.close()
    first, second, both = np.array([3, 0, 7]), np.array([ROWS + 1, 2 * ROWS - 1]), np.array([1, ROWS + 1])
    with lance_arrow.LanceFile(path) as file:
        # The third time pages are found without Python.
        for _ in range(3):
            for indices in (first, second, both):
                assert_same(taken(expected, indices), file.take(indices))
    assert (len(watch.served), len(watch.refused)) == (9, 0)


def test_scans_read_natively_what_takes_read(tmp_path: Path, watch: Watch) -> None:
    zipped = {"lance-encoding:structural-encoding": "fullzip", "lance-encoding:compression": "none"}
    random = np.random.default_rng(6)
    words = [random.bytes(int(size)) for size in random.integers(0, 40, 1000)]
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(random.random(4000), mask=random.random(4000) < 0.1), 4)
    columns = {
        "small": pa.array(words),
        "large": pa.array([random.bytes(int(size)) for size in random.integers(100, 400, 1000)]),
        "lists": pa.array([words[at : at + 2] for at in range(1000)]),
        "vectors": vectors,
    }
    fields = [pa.field(name, one.type, metadata=None if one is vectors else zipped) for name, one in columns.items()]
    expected = pa.table(list(columns.values()), pa.schema(fields))
    witness = Witness(tmp_path)
    path = witness.write(expected, tmp_path / "file.lance", "2.1")
    witness.close()
    with lance_arrow.LanceFile(path) as file:
        for _ in range(3):
            assert_same(expected.combine_chunks(), file.read().combine_chunks())
        assert_same(taken(expected, np.array([1, 5])), file.take([1, 5]))
    assert (set(watch.served), set(watch.refused)) == ({"small", "large", "lists.item", "vectors"}, set())


def test_memory_is_read_as_files_are(files: dict[str, Path], watch: Watch) -> None:
    with lance_arrow.LanceFile(pa.py_buffer(files["2.2"].read_bytes())) as file:
        assert_same(taken(table(), np.array([3, 1])), file.take([3, 1]))
    assert len(set(watch.served)) == 21


def test_a_file_cut_while_open_is_an_error_with_its_place(files: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "cut.lance"
    path.write_bytes(files["2.2"].read_bytes())
    with lance_arrow.LanceFile(path) as file:
        file.take([0])
        path.write_bytes(path.read_bytes()[:2000])
        with pytest.raises(LanceError) as caught:
            file.take(np.arange(0, ROWS, 7))
    assert caught.value.path == str(path)


def test_damage_is_refused_as_the_layouts_refuse_it(files: dict[str, Path], tmp_path: Path) -> None:
    original = files["fragile"].read_bytes()
    path = tmp_path / "damaged.lance"
    random = np.random.default_rng(1)
    errors = []
    for place in random.integers(0, len(original), 40):
        damaged = bytearray(original)
        damaged[place : place + 64] = b"\xff" * 64
        path.write_bytes(damaged)
        try:
            with lance_arrow.LanceFile(path) as file:
                file.take(np.arange(0, ROWS, 2))
        except LanceError as error:
            errors.append(error)
    assert len(errors) > 10
    assert all(error.path == str(path) and error.column is not None for error in errors)


def test_receipts_count_what_the_engine_reads(files: dict[str, Path]) -> None:
    with lance_arrow.LanceFile(files["2.2"]) as file:
        file.take([1], columns=["decimal"])
        before = file._source.snapshot()
        file.take([2], columns=["decimal"])
        stats = file._source.snapshot() - before
    assert (stats.waves, stats.requests, stats.bytes_wanted, stats.bytes_fetched) == (1, 1, 16, 16)


def test_parts_cover_all_rows_in_order() -> None:
    rows = RowRanges(np.array([0, 10, 100, 5000]), np.array([3, 20, 2000, 9000]))
    for threads in (1, 2, 3, 7):
        parts = _parts(rows, rows.num_rows, 3, threads)
        assert len(parts) == min(threads, 7)
        assert sum(part.num_rows for part in parts) == rows.num_rows
        flat = [row for part in parts for run in zip(part.starts, part.stops, strict=True) for row in range(*run)]
        assert flat == [row for run in zip(rows.starts, rows.stops, strict=True) for row in range(*run)]


def test_pages_that_tell_other_dimensions_than_the_schema_are_not_read() -> None:
    no_positions = np.empty(0, np.int64)
    values = native_constant(
        PageFacts(12, ()), (LayerKind.ALL_VALID_ITEM,), FixedWidth(32), b"four", (None, None), (0, 0), 0
    )
    layers = tuple((no_positions, True, None, None, dimension) for dimension in (0, 3, 2))
    page = engine.sparse_page(values, 2, layers, 6)
    are_read = {}
    for dimensions in ((0, 3, 2), (0, 2, 3), ()):
        forms = engine.ReadForms([((0, 0, 0), 32, 0, (), None, "plain", (), False, dimensions, 6)])
        are_read[dimensions] = engine.PagesWithRows(forms, [[(page, 0, [], [])]]).are_all_read
    assert are_read == {(0, 3, 2): True, (0, 2, 3): False, (): False}


def test_values_of_no_bits_are_no_values_of_any_length() -> None:
    """Pages of such values would be read without offsets."""
    with pytest.raises(InvalidArgumentError, match="offsets of 32 or 64 bits"):
        engine.ReadForms([((0,), 0, 0, (), None, "plain", (), False, (), 1)])
