"""The native engine on pages of 2.0: the same rows as the array encodings' own methods, and the same refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from same import assert_same, taken
from witness import Witness

import lance_arrow
from lance_arrow.errors import LanceError
from lance_arrow.pages import arrays
from lance_arrow.scan import row_reader
from lance_arrow.scan.legacy.v2_0_row_reader import V20RowReader

ROWS = 6_000
SERVED = {
    "plain", "small", "nullable", "bits", "nullable_bits", "decimal", "vector", "nullable_vector", "text",
    "nullable_text", "large", "all_null", "struct.s", "struct.n", "lists.item", "none", "words", "dictionary",
}  # fmt: skip


def table() -> pa.Table:
    random = np.random.default_rng(7)
    holes = random.random(ROWS) < 0.2
    texts = [f"{n:05d}{'x' * (n % 50)}" for n in range(ROWS)]
    vector = pa.FixedSizeListArray.from_arrays(pa.array(random.random(ROWS * 5).astype("f4")), 5)
    borders = np.concatenate(([0], np.cumsum(random.integers(0, 4, ROWS)))).astype(np.int32)
    return pa.table(
        {
            "plain": random.integers(0, 1 << 40, ROWS),
            "small": random.integers(0, 99, ROWS).astype(np.uint8),
            "nullable": pa.array(random.random(ROWS), mask=holes),
            "bits": random.random(ROWS) < 0.5,
            "nullable_bits": pa.array(random.random(ROWS) < 0.5, mask=holes),
            "decimal": pa.array(random.integers(0, 10**9, ROWS)).cast(pa.decimal128(30, 2)),
            "vector": vector,
            "nullable_vector": pa.array(
                [None if hole else [1.0, n] for n, hole in enumerate(holes)], pa.list_(pa.float64(), 2)
            ),
            "text": texts,
            "nullable_text": pa.array(texts, mask=holes),
            "large": pa.array([b"z" * int(n) for n in random.integers(0, 5000, ROWS)], pa.large_binary()),
            "none": pa.array([""] * ROWS),
            "all_null": pa.nulls(ROWS, pa.int32()),
            "words": pa.array([f"word {n % 7}" for n in range(ROWS)]),
            "struct": pa.StructArray.from_arrays([pa.array(texts), pa.array(range(ROWS))], ["s", "n"]),
            "lists": pa.ListArray.from_arrays(borders, pa.array(random.random(int(borders[-1])))),
            "dictionary": pa.array([f"word {n % 7}" for n in range(ROWS)]).dictionary_encode(),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Of the reference, with pages of 4,000 and 2,000 rows; and ours, of many small pages."""
    folder = tmp_path_factory.mktemp("arrays")
    witness = Witness(folder)
    whole = table()
    halves = pa.concat_tables([whole.slice(0, 4000), whole.slice(4000)])
    theirs = witness.write(halves, folder / "theirs.lance", "2.0", data_cache_bytes=1)
    lance_arrow.write_table(whole, folder / "ours.lance", file_version="2.0", page_bytes=10_000)
    yield {"theirs": theirs, "ours": folder / "ours.lance"}
    witness.close()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Leaves that the engine read."""
    names: set[str] = set()
    serve = row_reader.take_leaves

    def watched(*arguments):
        answer = serve(*arguments)
        plans = arguments[0].plans
        done = plans if isinstance(answer, pa.RecordBatch) else answer
        names.update(plan.leaf.path for plan, one in zip(plans, done, strict=False) if one is not None)
        return answer

    monkeypatch.setattr(row_reader, "take_leaves", watched)
    return names


def picks() -> Iterator[np.ndarray]:
    random = np.random.default_rng(3)
    yield np.array([0])
    yield np.array([ROWS - 1])
    yield np.array([5, 4, 3, 3999, 4000, 0, 3999])
    yield np.arange(3990, 4010)
    yield np.arange(1, 900, 2)
    yield random.integers(0, ROWS, 40)
    yield random.permutation(ROWS)[: ROWS // 2]
    yield np.arange(ROWS)


@pytest.mark.parametrize("writer", ["theirs", "ours"])
def test_rows_equal_the_rows_written(files: dict[str, Path], writer: str, served: set[str]) -> None:
    expected = table()
    with lance_arrow.LanceFile(files[writer]) as file:
        for indices in picks():
            found = file.take(indices)
            found.validate(full=True)
            assert_same(taken(expected, indices), found)
        assert_same(expected, file.read())
        assert_same(expected.slice(3001, 2500), pa.Table.from_batches(file.to_batches(rows=(3001, 5501))))
    assert served == SERVED


def test_memory_is_read_as_files_are(files: dict[str, Path], served: set[str]) -> None:
    with lance_arrow.LanceFile(pa.py_buffer(files["ours"].read_bytes())) as file:
        assert_same(taken(table(), np.array([3, 1])), file.take([3, 1]))
    assert served == SERVED


def test_a_row_costs_its_own_bytes(files: dict[str, Path]) -> None:
    with lance_arrow.LanceFile(files["theirs"]) as file:
        costs = {}
        for name in ("plain", "nullable", "nullable_bits", "text"):
            file.take([1], columns=[name])
            before = file._source.snapshot()
            file.take([17], columns=[name])
            stats = file._source.snapshot() - before
            costs[name] = stats.requests, stats.bytes_wanted
    # A value, and a byte of validity; two ends, and the bytes between them.
    assert costs == {"plain": (1, 8), "nullable": (2, 9), "nullable_bits": (2, 2), "text": (2, 16 + 22)}


def test_damage_is_refused_where_the_layouts_refuse_it(
    files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_run: bool
) -> None:
    """The engine reads what the layouts read of damaged bytes, or both refuse the same page."""
    names = sorted({name.partition(".")[0] for name in SERVED - {"large"}})
    original = tmp_path / "original.lance"
    lance_arrow.write_table(table().select(names), original, file_version="2.0", page_bytes=10_000, checksums=False)
    data = original.read_bytes()
    random = np.random.default_rng(1)
    rows = np.arange(0, ROWS, 3)
    path = tmp_path / "damaged.lance"
    outcomes: dict[bool, list[object]] = {}
    places = random.integers(0, len(data), 60 if whole_run else 12)
    for is_native in (True, False):
        if not is_native:
            monkeypatch.setattr(V20RowReader, "_native_page", lambda *_: None)
        found = outcomes[is_native] = []
        for place in places:
            damaged = bytearray(data)
            damaged[place : place + 24] = b"\xf7" * 24
            path.write_bytes(damaged)
            try:
                with lance_arrow.LanceFile(path) as file:
                    found.append(file.take(rows).to_pydict())
            except LanceError as error:
                found.append((type(error), error.path, error.column, error.page, error.byte_range))
    assert [repr(one) for one in outcomes[True]] == [repr(one) for one in outcomes[False]]
    refused = [one for one in outcomes[True] if isinstance(one, tuple)]
    assert len(places) // 12 < len(refused) < len(places)


def test_buffers_that_are_too_small_are_left_to_the_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.lance"
    lance_arrow.write_table(pa.table({"n": range(100)}), path, file_version="2.0")
    shorter = []

    def cut(page, values, *rest):
        shorter.append(page)
        return native_values(type(page)(page.num_rows, tuple(size - 1 for size in page.buffer_sizes)), values, *rest)

    native_values = arrays.native_values
    monkeypatch.setattr(arrays, "native_values", cut)
    with lance_arrow.LanceFile(path) as file:
        assert file.take([99])["n"].to_pylist() == [99]
        assert set(file._rows._native_pages.values()) == {None}
    assert shorter
