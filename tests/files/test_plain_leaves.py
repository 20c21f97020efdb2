"""Leaves that are written natively: the same pages as in Python, the same rows, and who is left to Python."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from flat_tables import flat_table
from hypothesis import given, settings
from hypothesis import strategies as st
from list_tables import list_table
from money import decimals
from same import assert_same
from string_tables import string_table
from struct_tables import struct_table

import lance_arrow
from lance_arrow import LanceFile, LanceWriter, read_table, verify, write_table
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files import plain_pages, writer_plan
from lance_arrow.files.row_writer import RowWriter
from lance_arrow.io import BufferSource

SEEDS = range(60)


@pytest.fixture
def seeds(whole_run: bool) -> range:
    return SEEDS if whole_run else SEEDS[::7]


def written(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    write_table(table, sink, **options)
    return sink.getvalue()


def rows_of(data: bytes) -> pa.Table:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file.lance"
        path.write_bytes(data)
        return read_table(path)


def pages_of(data: bytes) -> list[list[tuple[Any, ...]]]:
    """Return for each column its pages: description, rows, and the bytes of their buffers."""
    file = LanceFileReader(BufferSource(data))
    return [
        [(page.message, page.description, page.num_rows, page.first_row, buffers_of(data, page)) for page in meta.pages]
        for meta in file.columns(range(file.footer.num_columns))
    ]


def zone_maps_of(data: bytes) -> list[list[bytes]]:
    """Return for each column the bytes of its own buffers."""
    file = LanceFileReader(BufferSource(data))
    return [buffers_of(data, meta) for meta in file.columns(range(file.footer.num_columns))]


def buffers_of(data: bytes, page: Any) -> list[bytes]:
    places = zip(page.buffer_offsets.tolist(), page.buffer_sizes.tolist(), strict=True)
    return [data[start : start + size] for start, size in places]


@pytest.fixture
def in_python(monkeypatch: pytest.MonkeyPatch) -> Callable[..., bytes]:
    """Write a table as if no encoder had a native side."""

    def write(table: pa.Table, **options: Any) -> bytes:
        with monkeypatch.context() as patch:
            patch.setattr(writer_plan, "plain_plan", lambda *_: None)
            patch.setattr(writer_plan, "_plans", type(writer_plan._plans)())
            return written(table, **options)

    return write


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """For each file, the leaves that Python encoded, and all plain ones."""
    found: list[tuple[int, int]] = []
    in_python: list[int] = []
    encode, describe = RowWriter._encode_job, plain_pages.PlainPages.describe

    def counted(self: RowWriter, wanted: Any) -> Any:
        job, left = encode(self, wanted)
        in_python.extend(job.leaves[number] for number in left)
        return job, left

    def described(self: plain_pages.PlainPages) -> None:
        found.append((len(set(in_python)), len(self.plan.leaves)))
        in_python.clear()
        describe(self)

    monkeypatch.setattr(RowWriter, "_encode_job", counted)
    monkeypatch.setattr(plain_pages.PlainPages, "describe", described)
    return found


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("preset", ["default", "fast", "compact"])
def test_pages_are_those_of_python(in_python: Callable[..., bytes], version: str, preset: str, seeds: range) -> None:
    for seed in seeds:
        table = flat_table(seed)
        found, expected = (write(table, file_version=version, preset=preset) for write in (written, in_python))
        assert pages_of(found) == pages_of(expected), seed
        assert len(found) <= len(expected)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_pages_of_structs_are_those_of_python(in_python: Callable[..., bytes], version: str, seeds: range) -> None:
    for seed in seeds:
        table = struct_table(seed)
        found, expected = (write(table, file_version=version) for write in (written, in_python))
        assert pages_of(found) == pages_of(expected), seed
        assert_same(rows_of(found), table)


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("preset", ["default", "fast", "compact"])
def test_pages_of_strings_are_those_of_python(
    in_python: Callable[..., bytes], version: str, preset: str, seeds: range
) -> None:
    for seed in seeds:
        table = string_table(seed)
        options = {"file_version": version, "preset": preset, "rows_per_zone": (8192, 100, None)[seed % 3]}
        found, expected = (write(table, **options) for write in (written, in_python))
        assert pages_of(found) == pages_of(expected), seed
        assert zone_maps_of(found)[:5] == zone_maps_of(expected)[:5], seed
        # Pages lie in another order: places may take another byte.
        assert len(found) <= len(expected) + 64


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("preset", ["default", "fast", "compact"])
def test_pages_of_wide_values_are_those_of_python(in_python: Callable[..., bytes], version: str, preset: str) -> None:
    random = np.random.default_rng(37)
    for num_rows in (200, 1023, 1500, 4097, 8000):
        for most in (40, 10**7, 2**62):
            numbers, nulls = random.integers(-most, most, num_rows), random.random(num_rows) < 0.1
            table = pa.table(
                {
                    "narrow": decimals(numbers, pa.decimal128(38, 2), None),
                    "nullable": decimals(numbers, pa.decimal128(38, 2), nulls),
                    "wide": decimals(numbers, pa.decimal256(60, 2), nulls),
                    "positive": decimals(abs(numbers), pa.decimal128(38, 2), None),
                    "bytes": pa.array(
                        [one.tobytes() for one in numbers.view("u1").reshape(-1, 8)[:, :5]], pa.binary(5)
                    ),
                }
            )
            found, expected = (write(table, file_version=version, preset=preset) for write in (written, in_python))
            assert pages_of(found) == pages_of(expected), (num_rows, most)
            assert rows_of(found).equals(table)


def test_prices_are_compressed_without_python(asked: list[tuple[int, int]]) -> None:
    prices = np.random.default_rng(1).integers(90_000, 10_000_000, 4000)
    data = written(pa.table({"price": decimals(prices, pa.decimal128(15, 2), None)}), rows_per_zone=None)
    assert asked == [(0, 1)]
    # A sequence of LZ4 has a token, two or three bytes of the price, and a distance; 16 bytes plain.
    assert len(data) < 6.3 * len(prices)


@pytest.mark.parametrize("num_rows", [8000, 20_000])
def test_few_scattered_integers_are_indices(in_python: Callable[..., bytes], num_rows: int) -> None:
    random = np.random.default_rng(2)
    distances = random.choice(np.arange(17, 4990, 23), num_rows)
    table = pa.table({"distance": distances, "other": random.integers(0, 5000, num_rows)})
    data = written(table, rows_per_zone=None)
    assert pages_of(data) == pages_of(in_python(table, rows_per_zone=None))
    # 217 items: 8 bits instead of 13. The other column keeps 13.
    per_row = len(data) / num_rows
    assert (8 + 13) / 8 < per_row < (8 + 13) / 8 + 0.6
    assert rows_of(data).equals(table)


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "options",
    [
        {"compression": "lz4"},
        {"compression": "none"},
        {"compression": "fsst"},
        {"dict_divisor": 10},
        {"dict_size_ratio": 0.3},
        {"dict_values_compression": "none"},
        {"dict_values_compression": "zstd"},
        {"minichunk_bytes": 1024},
    ],
)
def test_options_of_strings(in_python: Callable[..., bytes], options: dict[str, Any], whole_run: bool) -> None:
    for seed in SEEDS[: 15 if whole_run else 6]:
        table = string_table(seed)
        given = {"column_options": {name: options for name in table.column_names[:5]}}
        assert pages_of(written(table, **given)) == pages_of(in_python(table, **given)), seed


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "options",
    [{"rle_threshold": 0.0}, {"compression": "none"}, {"compression": "zstd"}, {"dict_size_ratio": 0.99, "bss": "off"}],
)
def test_options_that_name_no_encoding(in_python: Callable[..., bytes], options: dict[str, Any]) -> None:
    for seed in SEEDS[:20]:
        table = flat_table(seed)
        given = {"column_options": {name: options for name in table.column_names}}
        assert pages_of(written(table, **given)) == pages_of(in_python(table, **given)), seed


@pytest.mark.parametrize("seed", SEEDS[::6])
def test_rows_come_back(tmp_path: Path, seed: int) -> None:
    table = flat_table(seed)
    data = written(table)
    assert_same(rows_of(data), table)
    path = tmp_path / "file.lance"
    path.write_bytes(data)
    report = verify(path)
    assert report.ok, report.errors


@pytest.mark.parametrize("seed", SEEDS[::6])
def test_strings_come_back(tmp_path: Path, seed: int) -> None:
    table = string_table(seed)
    data = written(table)
    assert rows_of(data).equals(table)
    path = tmp_path / "file.lance"
    path.write_bytes(data)
    report = verify(path)
    assert report.ok, report.errors


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(st.none(), st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-3, 3)), min_size=1, max_size=300
    ),
    st.integers(0, 9),
    st.sampled_from(["2.1", "2.2"]),
)
def test_any_integers(values: list[int | None], skipped: int, version: str) -> None:
    array = pa.array(values, pa.int64())
    table = pa.table({"a": array.slice(min(skipped, len(array) - 1))})
    assert rows_of(written(table, file_version=version)).equals(table)


def test_most_small_pages_need_no_python(asked: list[tuple[int, int]]) -> None:
    rng = np.random.default_rng(0)
    written(pa.table({f"c{number}": rng.normal(size=900) for number in range(20)}))
    written(
        pa.table({f"c{number}": pa.array(rng.integers(0, 9, 900), mask=rng.random(900) < 0.5) for number in range(9)})
    )
    # Byte streams of many doubles may be compressed: samples tell that those of random ones are not, but of even ones.
    written(pa.table({f"c{number}": rng.normal(size=1024) for number in range(20)}))
    written(pa.table({f"c{number}": np.arange(1024) * 0.5 + number for number in range(5)}))
    assert asked == [(0, 20), (0, 9), (0, 20), (5, 5)]


def test_most_small_pages_of_strings_need_no_python(asked: list[tuple[int, int]]) -> None:
    written(pa.table({f"c{number}": [f"{row} of {number}" for row in range(900)] for number in range(20)}))
    written(pa.table({f"c{number}": [f"category {row % 50}" for row in range(900)] for number in range(20)}))
    # FSST may encode text of 32 KiB.
    written(pa.table({f"c{number}": [f"{row:040}" for row in range(900)] for number in range(20)}))
    assert asked == [(0, 20), (0, 20), (20, 20)]


def test_structs_need_no_python(asked: list[tuple[int, int]]) -> None:
    for seed in range(20):
        written(struct_table(seed))
    # Large doubles and strings may be compressed.
    assert sum(in_python for in_python, _ in asked) <= 0.2 * sum(leaves for _, leaves in asked)


def test_rows_that_wait_keep_no_batch() -> None:
    """A batch that is one block of memory, as those of decoders are, is released while some of its columns wait."""
    schema = pa.schema({"n": pa.int8(), "s": pa.string()})
    message = pa.record_batch([[1] * 500, ["a" * 900] * 500], schema=schema).serialize()
    before = pa.total_allocated_bytes()
    with LanceWriter(io.BytesIO(), schema, page_bytes=1 << 20) as writer:
        for _ in range(20):
            block = pa.allocate_buffer(message.size)
            memoryview(block)[:] = memoryview(message)
            writer.write(pa.ipc.read_record_batch(block, schema))
            del block
        assert pa.total_allocated_bytes() - before < 3 << 20


def test_rows_in_pages_are_let_go() -> None:
    """A batch is released when the next one comes, whether its rows are in pages or wait."""
    rows = [{"n": row, "t": "b" * 900} for row in range(500)]
    schema = pa.schema({"a": pa.int64(), "s": pa.string(), "x": pa.struct({"n": pa.int64(), "t": pa.string()})})
    before = pa.total_allocated_bytes()
    with LanceWriter(io.BytesIO(), schema, page_bytes=1 << 20) as writer:
        for _ in range(20):
            # The writer holds the only references to these arrays.
            writer.write(pa.record_batch([list(range(500)), ["a" * 900] * 500, rows], schema=schema))
        assert pa.total_allocated_bytes() - before < 5 << 20


def test_large_strings_leave_other_columns_native(asked: list[tuple[int, int]]) -> None:
    table = pa.table({"s": [str(row) * 9 for row in range(9000)], "a": np.arange(9000) % 2 == 0, "t": ["x"] * 9000})
    sink = io.BytesIO()
    with LanceWriter(sink, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=700):
            writer.write(batch)
    data = sink.getvalue()
    assert rows_of(data).equals(table)
    assert [len(one) for one in pages_of(data)] == [1, 1, 1]
    # FSST may encode text of 32 KiB: only Python trains its tables.
    assert asked == [(1, 3)]


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_several_pages_are_those_of_python(in_python: Callable[..., bytes], version: str, whole_run: bool) -> None:
    for seed in SEEDS[: 40 if whole_run else 6]:
        table = (flat_table, struct_table, string_table)[seed % 3](seed)
        options = {
            "file_version": version,
            "page_bytes": (300, 1000, 4000, 40_000)[seed % 4],
            "rows_per_zone": (8192, 100, 7, None)[seed // 4 % 4],
        }
        chunks = [pa.Table.from_batches(table.to_batches(max_chunksize=most)) for most in (10_000, 97)]
        for rows in chunks:
            found, expected = (write(rows, **options) for write in (written, in_python))
            assert pages_of(found) == pages_of(expected), seed
            assert zone_maps_of(found) == zone_maps_of(expected), seed
            assert_same(rows_of(found), rows)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_pages_of_lists_are_those_of_python(in_python: Callable[..., bytes], version: str, whole_run: bool) -> None:
    for seed in SEEDS[: 24 if whole_run else 3]:
        table = list_table(seed, has_maps=version == "2.2")
        options = {
            "file_version": version,
            "preset": ("default", "fast", "compact")[seed % 3],
            "page_bytes": (8 << 20, 300, 4000)[seed // 3 % 3],
            "rows_per_zone": (8192, 100, 7)[seed // 2 % 3],
        }
        rows = pa.Table.from_batches(table.to_batches(max_chunksize=(10_000, 97)[seed % 2]), schema=table.schema)
        found, expected = (write(rows, **options) for write in (written, in_python))
        assert pages_of(found) == pages_of(expected), seed
        assert zone_maps_of(found) == zone_maps_of(expected), seed
        assert_same(rows_of(found), rows)


def test_lists_need_no_python(asked: list[tuple[int, int]]) -> None:
    for seed in range(20):
        written(list_table(seed))
    # Large values may be zipped or compressed.
    assert sum(in_python for in_python, _ in asked) <= 0.3 * sum(leaves for _, leaves in asked)


def test_offsets_of_lists_that_go_back_are_refused() -> None:
    wrong = pa.ListArray.from_buffers(
        pa.list_(pa.int64()), 3, [None, pa.py_buffer(np.array([0, 3, 1, 4], np.int32))], children=[pa.array(range(4))]
    )
    with pytest.raises(InvalidArgumentError) as caught:
        written(pa.table({"a": [1, 2, 3], "l": wrong}))
    assert caught.value.column == "l"


def test_offsets_that_go_back_are_refused_before_anything_is_written() -> None:
    offsets = pa.py_buffer(np.array([0, 3, 1, 4], np.int32))
    wrong = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abcd")])
    sink = io.BytesIO()
    with LanceWriter(sink, pa.schema({"a": pa.int64(), "s": pa.string()})) as writer:
        with pytest.raises(InvalidArgumentError, match="go back at slot 1") as caught:
            writer.write(pa.record_batch({"a": [1, 2, 3], "s": wrong}))
        assert caught.value.column == "s"
        writer.write(pa.record_batch({"a": [1], "s": ["x"]}))
    assert rows_of(sink.getvalue()).num_rows == 1


def test_text_that_is_none_is_refused_with_its_column() -> None:
    wrong = pa.array([b"a", b"\xff", b"b"]).view(pa.string())
    with pytest.raises(InvalidArgumentError, match="UTF-8") as caught:
        written(pa.table({"a": ["x", "y", "z"], "s": wrong}))
    assert caught.value.column == "s"
    null = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(bytes([0b101])), *wrong.buffers()[1:]])
    assert rows_of(written(pa.table({"s": null})))["s"].to_pylist() == ["a", None, "b"]


def test_batches_are_held_until_a_page_is_full(asked: list[tuple[int, int]]) -> None:
    table = pa.table({"a": np.arange(1000), "b": np.arange(1000.0), "s": [str(one) for one in range(1000)]})
    for page_bytes, num_pages in ((8 << 20, [1, 1, 1]), (4000, [2, 2, 2])):
        sink = io.BytesIO()
        with LanceWriter(sink, table.schema, page_bytes=page_bytes) as writer:
            for batch in table.to_batches(max_chunksize=70):
                writer.write(batch)
        data = sink.getvalue()
        assert rows_of(data).equals(table)
        assert [len(one) for one in pages_of(data)[:2]] == num_pages[:2]
    assert asked == [(0, 3), (0, 3)]


def test_files_do_not_depend_on_batches() -> None:
    table = pa.table({f"c{number}": np.random.default_rng(number).normal(size=500) for number in range(5)})
    sink = io.BytesIO()
    with LanceWriter(sink, table.schema) as writer:
        for batch in table.to_batches(max_chunksize=33):
            writer.write(batch)
    assert sink.getvalue() == written(table)


def test_zone_maps_prune(tmp_path: Path) -> None:
    table = pa.table({"a": np.arange(20_000), "b": pa.array(np.arange(20_000), mask=np.arange(20_000) < 9000)})
    for rows, path in ((table.slice(0, 5000), tmp_path / "one.lance"), (table, tmp_path / "many.lance")):
        write_table(rows, path)
        with LanceFile(path) as file:
            assert file.count_rows(pads.field("a") < 100) == 100
            told = str(lance_arrow.dataset(path).explain(filter=pads.field("a") > 30_000))
            assert ", 0 to read" in told.splitlines()[3], told
            assert file.count_rows(pads.field("b").is_null()) == min(len(rows), 9000)


def test_a_null_in_a_required_field_is_refused_before_anything_is_written() -> None:
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int64())])
    sink = io.BytesIO()
    with LanceWriter(sink, schema) as writer:
        with pytest.raises(InvalidArgumentError, match="not nullable") as caught:
            writer.write(pa.record_batch([pa.array([1, None]), pa.array([1, 2])], schema=schema))
        assert caught.value.column == "a"
        writer.write(pa.record_batch([pa.array([1, 2]), pa.array([None, 2])], schema=schema))
    assert rows_of(sink.getvalue()).num_rows == 2


def test_a_null_in_a_required_field_of_a_struct_is_refused_before_anything_is_written() -> None:
    inner = pa.struct([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.string())])
    schema = pa.schema([pa.field("s", inner)])

    def batch_of(*, visible: bool) -> pa.RecordBatch:
        children = [pa.array([1, None]), pa.array(["x", "y"])]
        mask = None if visible else pa.array([False, True])
        return pa.record_batch([pa.StructArray.from_arrays(children, fields=list(inner), mask=mask)], schema=schema)

    sink = io.BytesIO()
    with LanceWriter(sink, schema) as writer:
        with pytest.raises(InvalidArgumentError, match="not nullable") as caught:
            writer.write(batch_of(visible=True))
        assert caught.value.column == "s.a"
        # The same null counts for nothing where its struct is null.
        writer.write(batch_of(visible=False))
    assert rows_of(sink.getvalue())["s"].to_pylist() == [{"a": 1, "b": "x"}, None]


def test_equal_tables_of_chunks_are_stored_once() -> None:
    data = written(pa.table({f"c{number}": np.random.default_rng(number).normal(size=100) for number in range(5)}))
    file = LanceFileReader(BufferSource(data))
    places = [meta.pages[0].buffer_offsets.tolist() for meta in file.columns(range(5))]
    assert len({table for table, _ in places}) == 1
    assert len({chunks for _, chunks in places}) == 5
