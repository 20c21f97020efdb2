"""Which fragments may be rewritten beside which indices, and what these cover afterwards."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyroaring
import pytest
from forged_indices import index_entry, put_index

from lance_arrow import LanceTable
from lance_arrow.errors import CorruptManifestError
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.proto.table_pb2 import IndexSection
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.sql_predicates import parse_sql
from lance_arrow.table.compaction import CompactionPlan
from lance_arrow.table.indices.coverage import IndexCoverage, fragments_of, has_row_ids, is_system, moved_coverage
from lance_arrow.table.indices.movable import kept_out_lines, movable_groups
from lance_arrow.table.indices.remaking import IndexRemaking

FRAGMENTS = [0, 1, 4, 5]


@pytest.mark.parametrize(
    ("kind", "version", "expected"),
    [
        ("BitmapIndexDetails", 0, True),
        ("LabelListIndexDetails", 1, True),
        ("NGramIndexDetails", 0, True),
        ("InvertedIndexDetails", 2, True),
        ("VectorIndexDetails", 1, True),
        ("BitmapIndexDetails", 1, False),
        ("InvertedIndexDetails", 3, False),
        ("BTreeIndexDetails", 0, True),
        ("BTreeIndexDetails", 1, False),
        ("ZoneMapIndexDetails", 0, False),
        ("BloomFilterIndexDetails", 0, False),
        ("SomethingNewIndexDetails", 0, False),
    ],
)
def test_entries(kind: str, version: int, expected: bool) -> None:
    index = index_entry("i", kind, [0], index_version=version)
    assert has_row_ids(index, stable_row_ids=True) is expected
    assert not has_row_ids(index, stable_row_ids=False)


def coverage(section: IndexSection, *, stable: bool) -> IndexCoverage:
    return IndexCoverage(section, FRAGMENTS, stable_row_ids=stable)


def test_coverage() -> None:
    section = IndexSection(
        indices=[
            index_entry("a", "BitmapIndexDetails", [0, 1, 2]),
            index_entry("b", "BTreeIndexDetails", [4], index_version=1),
            index_entry("unknown", "BitmapIndexDetails", None),
            index_entry("__lance_mem_wal", "MemWalIndexDetails", None, fields=()),
        ]
    )
    assert coverage(section, stable=True).keys() == [(0, 2), (0, 2), (1, 2), (2,)]
    # An index that does not tell what it covers may cover any fragment.
    assert coverage(section, stable=True).broken_by_moving([0]) == ["unknown"]
    assert coverage(section, stable=True).broken_by_moving([4]) == ["b", "unknown"]
    assert coverage(section, stable=False).broken_by_moving([0, 4]) == ["a", "b", "unknown"]
    assert coverage(section, stable=False).broken_by_moving([]) == []
    del section.indices[2]
    assert coverage(section, stable=True).broken_by_moving([0, 1, 5]) == []
    assert is_system(section.indices[2])


def test_moved_coverage() -> None:
    section = IndexSection(
        indices=[
            index_entry("whole", "BitmapIndexDetails", [0, 1, 2]),
            index_entry("part", "BitmapIndexDetails", [1, 4]),
            index_entry("none", "BitmapIndexDetails", [9]),
            index_entry("unknown", "BitmapIndexDetails", None),
        ]
    )
    groups = [(pyroaring.BitMap([0, 1]), pyroaring.BitMap([10, 11])), (pyroaring.BitMap([4]), pyroaring.BitMap([12]))]
    moved_coverage(section, groups)
    found = [fragments_of(index.fragment_bitmap) for index in section.indices]
    assert [None if one is None else list(one) for one in found] == [[2, 10, 11], [12], [9], None]


def test_damaged_coverage() -> None:
    index = index_entry("i", "BitmapIndexDetails", [0])
    index.fragment_bitmap = b"\x01\x02"
    with pytest.raises(CorruptManifestError, match="no roaring bitmap"):
        coverage(IndexSection(indices=[index]), stable=True)


def test_lines_of_many_fragments() -> None:
    (line,) = kept_out_lines({"i": range(10_025)})
    assert line.startswith("fragments 0, 1, 2, ")
    assert "19 and 10,005 more were not rewritten: index 'i'" in line


def test_plan_of_different_keys() -> None:
    plan = CompactionPlan(target_rows=100, deleted_part=0.1)
    assert plan.groups([10] * 5, [10] * 5, [(), (), (0,), (0,), ()]) == [range(2), range(2, 4)]
    assert plan.groups([10] * 3, [10, 5, 10], [(0,), (), (0,)]) == [range(1, 2)]


def table_of(path: Path, *, stable: bool = False, fragments: int = 4) -> LanceTable:
    rows = pa.table({"id": range(10 * fragments)})
    return LanceTable.create(path, rows, max_rows_per_file=10, enable_stable_row_ids=stable)


def covered(table: LanceTable) -> dict[str, list[int] | None]:
    section = read_indices(table._root, table.manifest, default_runtime().settings.limits)
    found = {index.name: fragments_of(index.fragment_bitmap) for index in section.indices}
    return {name: None if one is None else list(one) for name, one in found.items()}


def test_choice(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t.lance", stable=True)
    section = IndexSection(
        indices=[
            index_entry("b", "BTreeIndexDetails", [0, 1], index_version=1),
            index_entry("c", "BitmapIndexDetails", [1, 2]),
        ]
    )
    plan = CompactionPlan(target_rows=100, deleted_part=0.1)

    def groups_of(keys: list[tuple[int, ...]]) -> list[range]:
        assert len(keys) == 4
        return plan.groups([10] * 4, [10, 5, 10, 5], keys)

    remaking = IndexRemaking(section, table.manifest, table._reader, table._root)
    assert remaking.indices == frozenset()
    found = movable_groups(section, table.manifest, groups_of, remaking, drop_indices=False)
    assert found.groups == (range(3, 4),)
    assert (found.kept_out, found.carried) == ({"b": (1,)}, ())
    found = movable_groups(section, table.manifest, groups_of, remaking, drop_indices=True)
    # The index that is dropped no longer keeps its fragments apart; the other one does.
    assert found.groups == (range(1, 3), range(3, 4))
    assert (found.kept_out, found.dropped, found.carried) == ({}, frozenset({"b"}), ("c",))


@pytest.mark.parametrize("stable", [False, True])
def test_compaction(tmp_path: Path, stable: bool) -> None:
    table = table_of(tmp_path / "t.lance", stable=stable)
    put_index(table, "words", "InvertedIndexDetails", [0, 1], index_version=2)
    put_index(table, "__lance_mem_wal", "MemWalIndexDetails", None, fields=())
    before = table.version
    report = table.compact()
    assert (report.version_before, report.version_after) == (before, table.version)
    live = [fragment.id for fragment in table.manifest.fragments]
    if stable:
        assert (report.fragments_rewritten, report.fragments_made) == ((0, 1, 2, 3), (4, 5))
        assert live == [4, 5]
        assert covered(table) == {"words": [4], "__lance_mem_wal": None}
        assert str(report) == f"4 fragments became 2, version {table.version}; indices carried along: words"
    else:
        assert (report.fragments_rewritten, report.kept_out) == ((2, 3), {"words": (0, 1)})
        assert live == [0, 1, 4]
        assert covered(table) == {"words": [0, 1], "__lance_mem_wal": None}
        assert str(report).split("; ")[1].startswith("fragments 0, 1 were not rewritten: index 'words'")
    report = table.compact(drop_indices=True)
    assert report.dropped_indices == (() if stable else ("words",))
    assert covered(table) == ({"words": [4]} if stable else {}) | {"__lance_mem_wal": None}
    assert table.to_table()["id"].to_pylist() == list(range(40))
    version = table.version
    report = table.compact(drop_indices=True)
    assert (report.version_before, report.version_after, str(report)) == (version, version, "no fragment was rewritten")


def test_index_without_coverage_is_no_obstacle(tmp_path: Path) -> None:
    """Not even one of which all fragments are gone; what does not tell its coverage is one."""
    table = table_of(tmp_path / "t.lance")
    put_index(table, "old", "BTreeIndexDetails", [7, 8])
    put_index(table, "empty", "BTreeIndexDetails", [])
    assert table.compact().fragments_made == (4,)
    assert covered(table) == {"old": [7, 8], "empty": []}
    table.delete("id < 30")
    put_index(table, "unknown", "BTreeIndexDetails", None)
    assert table.compact().kept_out == {"unknown": (4,)}


@pytest.mark.parametrize("stable", [False, True])
def test_zone_map_goes_on_pruning(tmp_path: Path, stable: bool) -> None:
    path = tmp_path / "t.lance"
    rows = pa.table({"id": range(1000)})
    options = {"max_rows_per_file": 100, "rows_per_zone": None, "enable_stable_row_ids": stable}
    table = LanceTable.create(path, rows, **options)
    table.create_zone_map("id", rows_per_zone=30)
    table.append(pa.table({"id": range(1000, 1010)}))
    table.delete("id % 100 >= 60 AND id < 900")
    report = table.compact(target_rows_per_fragment=250)
    assert (report.kept_out, report.carried_indices) == ({}, ("id_idx",))
    assert table.indices == {"id_idx": ("id",)}
    table = LanceTable.open(path)
    reader = table._reader
    condition = reader.filter(pc.field("id") == 417)
    wanted = [reader.fragment(at).prune(condition.predicate).rows.num_rows for at in range(len(reader.fragments))]
    # Only the fragment that holds the row.
    assert sorted(wanted)[:-1] == [0] * (len(wanted) - 1)
    assert 0 < max(wanted) < 100
    everything = table.to_table()
    for text in ("id = 417", "id = 470", "id >= 995", "id < 3", "id IN (5, 259, 1005)"):
        assert table.to_table(filter=text).equals(everything.filter(parse_sql(text, everything.schema)))


def test_index_that_is_made_meanwhile(tmp_path: Path) -> None:
    """The compaction begins again, and leaves the fragments of the index where they are."""
    path = tmp_path / "t.lance"
    table = table_of(path)
    disturbed = LanceTable.open(path)
    found = disturbed._stored_reader_of
    others = iter([lambda: put_index(table, "made", "BTreeIndexDetails", [2, 3])])

    def reader_of(*arguments: object) -> object:
        for one in others:
            one()
            break
        return found(*arguments)

    disturbed._stored_reader_of = reader_of
    report = disturbed.compact()
    assert report.kept_out == {"made": (2, 3)}
    assert report.fragments_rewritten == (0, 1)
    assert covered(disturbed) == {"made": [2, 3]}
    assert sorted(disturbed.to_table()["id"].to_pylist()) == list(range(40))
