"""Scans of many small fragments: rows, errors and receipts are those of fragments read one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from same import assert_same
from small_files import mixed_rows as rows_of

from lance_arrow import LanceTable
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, LanceError, MissingFileError
from lance_arrow.pages import ChunkedPages
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.fragments import fragment_groups
from lance_arrow.scan.fragments.fragment_groups import FragmentGroups
from lance_arrow.scan.fragments.joined_fragments import JoinedFragments
from lance_arrow.scan.groups import group_sizes
from lance_arrow.spi import ReadReport
from lance_arrow.spi.layouts import RowRanges

VIRTUAL = ["_rowid", "_rowaddr"]
VERSIONED = ["_row_created_at_version", "_row_last_updated_at_version"]


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many fragments each joined reading is of."""
    counts: list[int] = []
    init = FilteredReading.__init__

    def counted(self, rows, *others, **named):
        init(self, rows, *others, **named)
        if isinstance(rows, JoinedFragments):
            counts.append(len(rows.numbers))

    monkeypatch.setattr(FilteredReading, "__init__", counted)
    return counts


def one_by_one(read: Callable[[], Any]) -> Any:
    """Read with no fragment joined."""
    least, fragment_groups.LEAST_GROUPED = fragment_groups.LEAST_GROUPED, 1 << 40
    try:
        return read()
    finally:
        fragment_groups.LEAST_GROUPED = least


def check(path: Path, names: list[str] | None = None, **how: Any) -> pa.Table:
    """Compare a scan, its batches and its first rows with those of fragments read one by one."""
    expected = one_by_one(lambda: LanceTable.open(path).to_table(names, **how))
    table = LanceTable.open(path)
    assert_same(expected, table.to_table(names, **how))
    for batch_size in (7, 1000):
        batches = list(table.to_batches(names, batch_size=batch_size, **how))
        assert max((batch.num_rows for batch in batches), default=0) <= batch_size
        if batches and batches[0].num_columns:
            assert_same(expected, pa.Table.from_batches(batches, expected.schema))
    return expected


@pytest.mark.cover(1)
@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_rows_are_those_of_fragments_read_one_by_one(
    tmp_path: Path, stable: bool, version: str, joined: list[int]
) -> None:
    path = tmp_path / "t.lance"
    rows = rows_of(0, 600)
    table = LanceTable.create(path, rows, max_rows_per_file=17, enable_stable_row_ids=stable, file_version=version)
    assert_same(rows, check(path))
    assert len(joined) > 8
    for name in rows.schema.names:
        assert_same(rows.select([name]), LanceTable.open(path).to_table([name]))
    names = [*rows.schema.names, *VIRTUAL, *(VERSIONED if stable else [])]
    check(path, names)
    table.delete(pc.field("id").isin([0, 3, *range(100, 140), 399, 599]))
    table.update({"f": "f + 1"}, "id % 11 = 3")
    table.append(rows_of(600, 700), max_rows_per_file=9)
    joined.clear()
    found = check(path, names)
    assert max(joined) > 8
    assert found["id"].to_pylist() == one_by_one(lambda: LanceTable.open(path).to_table(["id"]))["id"].to_pylist()
    check(path, ["_rowaddr", "id", "_rowid"])
    check(path, VIRTUAL)
    assert LanceTable.open(path).to_table([]).num_rows == found.num_rows


@pytest.mark.parametrize("zones", [True, False])
def test_filters(tmp_path: Path, zones: bool, joined: list[int], whole_run: bool) -> None:
    path = tmp_path / "t.lance"
    how = {} if zones else {"rows_per_zone": None}
    table = LanceTable.create(path, rows_of(0, 600), max_rows_per_file=17, **how)
    table.delete("id % 10 = 4")
    everything = LanceTable.open(path).to_table()
    last = one_by_one(lambda: LanceTable.open(path).to_table(["_rowaddr"]))["_rowaddr"][-1].as_py()
    joined.clear()
    conditions = (
        pc.field("id") == 311,
        pc.field("id") < 30,
        pc.field("s").is_null() & (pc.field("id") > 200),
        pc.field("st", "x") > 500,
        pc.field("id") >= 0,
        pc.field("id") < 0,
        pc.field("none").is_null(),
        pc.field("word") == "word 1",
    )
    for condition in conditions if whole_run else conditions[zones::2]:
        expected = everything.filter(condition)
        assert_same(expected, check(path, filter=condition))
        assert_same(expected.select(["s"]), check(path, ["s"], filter=condition))
        assert LanceTable.open(path).count_rows(condition) == expected.num_rows
    assert check(path, ["id", "_rowaddr"], filter=pc.field("_rowaddr") == last)["id"].to_pylist() == [599]
    assert joined
    condition = pc.divide(pc.scalar(1), pc.field("id") - 311) > 0
    with pytest.raises(InvalidArgumentError) as caught:
        LanceTable.open(path).to_table(filter=condition)
    with pytest.raises(InvalidArgumentError) as alone:
        one_by_one(lambda: LanceTable.open(path).to_table(filter=condition))
    assert str(caught.value) == str(alone.value)


def test_fragments_that_differ_end_a_group(tmp_path: Path, joined: list[int]) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 200), max_rows_per_file=10, enable_stable_row_ids=True)
    table.add_columns({"twice": "id * 2"})
    table.append(rows_of(200, 300), max_rows_per_file=10)
    table.alter_columns({"path": "f", "data_type": pa.float64()}, {"path": "s", "name": "words"})
    table.drop_columns(["b"])
    table.append(rows_of(300, 400).drop_columns(["b", "s", "f"]), max_rows_per_file=10)
    found = check(path, None)
    assert found["id"].to_pylist() == list(range(400))
    # The rest of the twenty with a column added; those without it; those of the last fields.
    assert {8, 10} <= set(joined)
    for names in (["twice"], ["twice", "id", *VIRTUAL], ["words", "st.x", *VERSIONED], ["f"]):
        check(path, names)
        check(path, names, filter="id % 7 = 1")


def test_files_of_other_bytes_of_the_schema_end_a_group(tmp_path: Path, joined: list[int]) -> None:
    path = tmp_path / "t.lance"
    rows = rows_of(0, 120)
    LanceTable.create(path, rows, max_rows_per_file=10)
    for start in (120, 140, 160):
        # The manifest does not tell such files apart.
        LanceTable.open(path).append(rows_of(start, start + 10), rows_per_zone=None, checksums=False)
        LanceTable.open(path).append(rows_of(start + 10, start + 20))
    assert_same(rows_of(0, 180), check(path))
    assert joined


def test_groups_grow_and_have_borders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 600), max_rows_per_file=10)
    reader = table._reader
    nodes = reader.projection(None).nodes

    def planned(begins_after: int = 0, **limits: int) -> list[int]:
        for name, value in limits.items():
            for module in (fragment_groups, group_sizes):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, value)
        groups = FragmentGroups(
            reader.columns, reader._filesystem, reader.fragments, reader, nodes, None, reader._runtime
        )
        found: list[list[int]] = []
        for group in groups.planned(range(60), lambda: sum(map(len, found)) >= begins_after):
            found.append(group)
        assert [number for group in found for number in group] == list(range(60))
        return [len(group) for group in found]

    assert planned() == [60]
    assert planned(begins_after=9) == [1, 8, 51]
    assert planned(begins_after=100) == [1, *[8] * 7, 3]
    assert planned(GROUP_ROWS=200) == [20, 20, 20]
    assert planned(GROUP_ROWS=209) == [20, 20, 20]
    assert planned(GROUP_ROWS=210) == [21, 21, 18]
    assert planned(GROUP_ROWS=9) == [1] * 60
    size = sum(fragment.files[0].size_bytes for fragment in reader.fragments[:20])
    assert planned(GROUP_ROWS=1000, GROUP_BYTES=size)[0] == 20
    assert planned(GROUP_BYTES=size - 1)[0] == 19
    assert planned(GROUP_BYTES=1000) == [1] * 60
    assert planned(GROUP_BYTES=8 << 20, LEAST_GROUPED=100) == [1] * 60


@pytest.mark.share(2)
@pytest.mark.parametrize("most_rows", [1, 16, 17, 34, 35, 100])
def test_rows_at_borders_of_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_rows: int) -> None:
    monkeypatch.setattr(fragment_groups, "GROUP_ROWS", most_rows)
    LanceTable.create(tmp_path / "t.lance", rows_of(0, 300), max_rows_per_file=17).delete("id IN (16, 17, 33, 34, 170)")
    check(tmp_path / "t.lance", ["id", "s", "_rowaddr"])
    check(tmp_path / "t.lance", ["s"], filter="id > 150 AND id < 260")


def test_the_first_rows_take_few_files(tmp_path: Path, receipts: list[ReadReport]) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 2000).select(["id"]), max_rows_per_file=10)
    batches = table.to_batches(["id"], batch_size=5)
    assert next(batches)["id"].to_pylist() == [0, 1, 2, 3, 4]
    batches.close()
    (report,) = receipts
    # One, and eights: as many as there are threads, opened and read ahead.
    assert report.files <= 1 + 8 * 2 * (default_runtime().settings.num_threads + 1)


def test_some_rows_of_each_fragment(tmp_path: Path, joined: list[int]) -> None:
    reader = LanceTable.create(tmp_path / "t.lance", rows_of(0, 200), max_rows_per_file=10)._reader
    within = [RowRanges.one(number % 5, number % 9) for number in range(20)]
    names = ["id", "s"]
    for condition in (None, "id % 2 = 0"):
        found = list(reader.batches(reader.projection(names), condition, None, within=within))
        expected = [
            10 * number + row for number in range(20) for row in range(number % 5, number % 9)
            if condition is None or row % 2 == 0
        ]  # fmt: skip
        assert pa.Table.from_batches(found)["id"].to_pylist() == expected
    assert joined


@pytest.mark.cover(1)
@pytest.mark.parametrize("damage", ["absent", "cut", "longer", "value", "footer"])
@pytest.mark.parametrize("filter", [None, "id >= 0"])
def test_damage_in_a_group_is_blamed_on_its_file(tmp_path: Path, damage: str, filter: str | None) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 400), max_rows_per_file=10)
    place = path / "data" / table.manifest.fragments[23].files[0].path
    content = bytearray(place.read_bytes())
    expected: type[Exception] = LanceError
    if damage == "absent":
        place.unlink()
        expected = MissingFileError
    elif damage == "value":
        content[0] ^= 1
        expected = CorruptFileError
    elif damage == "footer":
        content[-1] ^= 1
    if damage != "absent":
        place.write_bytes({"cut": content[:-1], "longer": content + b"\0"}.get(damage, content))

    def read() -> tuple[list[int], LanceError]:
        seen: list[int] = []
        names = ["id", "s"] if damage != "value" else None
        try:
            for batch in LanceTable.open(path).to_batches(names, filter=filter):
                seen += batch["id"].to_pylist()
        except expected as error:
            return seen, error
        raise AssertionError("damage was not noticed")

    seen, error = read()
    alone_seen, alone = one_by_one(read)
    assert place.name in str(error)
    assert (type(error), str(error)) == (type(alone), str(alone))
    # What was read ahead of the damage may be lost.
    assert seen == list(range(len(seen)))
    assert len(alone_seen) <= 230
    # Files that are left can be read.
    if damage == "absent":
        left = LanceTable.open(path)._reader.part([number for number in range(40) if number != 23])
        assert left.read(left.projection(["id"]), None).num_rows == 390


def test_a_flip_anywhere_is_told_as_by_fragments_read_one_by_one(
    tmp_path: Path, joined: list[int], whole_run: bool
) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 120), max_rows_per_file=5, rows_per_zone=None, checksums=False)
    place = path / "data" / table.manifest.fragments[13].files[0].path
    content = place.read_bytes()
    refused = 0

    def read() -> Any:
        try:
            return LanceTable.open(path).to_table()
        except LanceError as error:
            return type(error), str(error)

    for at in range(3, len(content), len(content) // (40 if whole_run else 20)):
        damaged = bytearray(content)
        damaged[at] ^= 0x11
        place.write_bytes(damaged)
        found, expected = read(), one_by_one(read)
        if isinstance(expected, tuple):
            assert found == expected
            refused += 1
        else:
            assert_same(expected, found)
    assert refused > 5
    assert joined


def test_receipts_count_each_file_once(tmp_path: Path, receipts: list[ReadReport]) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 400), max_rows_per_file=10)
    receipts.clear()
    sizes = [one.stat().st_size for one in (path / "data").iterdir()]
    table.to_table(["id", "f"])
    one_by_one(lambda: table.to_table(["id", "f"]))
    report, alone = receipts
    assert (report.files, report.rows, report.pages, report.columns) == (40, 400, 80, ("id", "f"))
    assert (alone.files, alone.rows, alone.pages, alone.columns) == (40, 400, 80, ("id", "f"))
    # Files are read whole, each with one request.
    assert report.requests == 40
    assert report.requested_bytes == report.fetched_bytes == sum(sizes)


def test_a_far_store_is_asked_once_for_each_file(monkeypatch: pytest.MonkeyPatch, joined: list[int]) -> None:
    filesystem = MemoryFileSystem()
    rows = rows_of(0, 400)
    LanceTable.create("/groups/t.lance", rows, max_rows_per_file=10, filesystem=filesystem)
    table = LanceTable.open("/groups/t.lance", filesystem=filesystem)
    calls: list[int] = []
    cat_ranges = filesystem.cat_ranges

    def counted(paths, starts, ends, **more):
        calls.append(len(paths))
        return cat_ranges(paths, starts, ends, **more)

    monkeypatch.setattr(filesystem, "cat_ranges", counted)
    assert_same(rows, table.to_table())
    assert joined == calls == [40]
    filesystem.rm("/groups", recursive=True)


def test_what_cannot_be_joined_is_read_as_before(tmp_path: Path, joined: list[int]) -> None:
    rows = rows_of(0, 200)
    old, plain = tmp_path / "old.lance", rows.select(["id", "s", "f"])
    LanceTable.create(old, plain, max_rows_per_file=10, file_version="2.0")
    assert_same(plain, LanceTable.open(old).to_table())
    blobs = pa.schema([pa.field("x", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    values = pa.table([pa.array([b"%d" % i * 50 for i in range(200)], pa.large_binary())], blobs)
    LanceTable.create(tmp_path / "blobs.lance", values, max_rows_per_file=10)
    assert LanceTable.open(tmp_path / "blobs.lance").to_table()["x"].to_pylist() == values["x"].to_pylist()
    LanceTable.create(tmp_path / "full.lance", rows, max_rows_per_file=10)
    assert_same(rows, LanceTable.open(tmp_path / "full.lance", verify="full").to_table())
    assert joined == []
    few = LanceTable.create(tmp_path / "few.lance", rows_of(0, 70), max_rows_per_file=10)
    assert_same(rows_of(0, 70), few.to_table())
    assert joined == []


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_pages_with_dictionaries_are_opened_together(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(3)
    num_rows, rows = 12_000, range(12_000)

    def values(items: list[Any], type_: pa.DataType, *, nulls: bool) -> pa.Array:
        mask = rng.random(num_rows) < 0.2 if nulls else None
        chosen = pa.array([items[one] for one in rng.integers(0, len(items), num_rows)], type_)
        return chosen if mask is None else pc.if_else(pa.array(mask), pa.scalar(None, type_), chosen)

    words = [f"word {one} " * (one % 5) for one in range(40)]
    numbers = [int(one) for one in rng.integers(0, 1 << 60, 30)]
    table = pa.table(
        {
            "id": rows,
            "words": values(words, pa.string(), nulls=False),
            "some words": values(words, pa.large_string(), nulls=True),
            "empty": values([""], pa.string(), nulls=True),
            "numbers": values(numbers, pa.int64(), nulls=False),
            "some numbers": values(numbers, pa.int64(), nulls=True),
            "wide": values([b"%016d" % one for one in range(9)], pa.binary(16), nulls=True),
        }
    )
    counts: list[int] = []
    together = ChunkedPages.native_pages

    def counted(self: ChunkedPages, *pages: Any) -> Any:
        found = together(self, *pages)
        counts.append(0 if found is None or self.items is None else len(found))
        return found

    monkeypatch.setattr(ChunkedPages, "native_pages", counted)
    LanceTable.create(tmp_path / "t.lance", table, max_rows_per_file=500, file_version=version)
    assert_same(table, check(tmp_path / "t.lance"))
    assert sum(counts) > 20
    counts.clear()
    taken = LanceTable.open(tmp_path / "t.lance").take(np.arange(0, num_rows, 7))
    assert_same(table.take(pa.array(np.arange(0, num_rows, 7))), taken)
    assert sum(counts) >= 20


def test_batches_keep_to_their_size_where_all_rows_are_wanted(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 5000), max_rows_per_file=2000)
    reader = table._reader
    projection = reader.projection(None)
    for wants_all in (True, False):
        batches = list(reader.batches(projection, None, 700, wants_all=wants_all))
        assert {batch.num_rows for batch in batches} <= {700, 600, 300}
        assert pa.Table.from_batches(batches).equals(table.to_table())
