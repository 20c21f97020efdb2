"""Fragments cut down to zones and rows: what they hold, in every way they can be asked, here and in other processes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow import LanceFileFragment, LanceFormat, write_table
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.row_restriction import RowRestriction

ROWS = 1000
ZONE = 64
NUM_ZONES = -(-ROWS // ZONE)
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "word": [None if i % 9 == 0 else f"word {i // 100}" for i in range(ROWS)],
        "st": [{"x": i * 0.5, "y": [i, i]} for i in range(ROWS)],
    }
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    target = tmp_path_factory.mktemp("parts") / "file.lance"
    write_table(TABLE, target, rows_per_zone=ZONE)
    return str(target)


@pytest.fixture
def fragment(path: str) -> LanceFileFragment:
    return LanceFormat().make_fragment(path)


def ids(fragment: LanceFileFragment) -> list[int]:
    return fragment.to_table(columns=["id"])["id"].to_pylist()


def test_a_whole_file_has_all_zones(fragment: LanceFileFragment, path: str) -> None:
    assert isinstance(fragment, LanceFileFragment)
    assert (fragment.path, fragment.rows, fragment.num_rows, fragment.num_zones) == (path, None, ROWS, NUM_ZONES)
    assert fragment.metadata == {}
    assert fragment.physical_schema.equals(TABLE.schema)
    zones = fragment.zones
    assert [zone.id for zone in zones] == list(range(NUM_ZONES))
    assert [zone.first_row for zone in zones] == list(range(0, ROWS, ZONE))
    assert sum(zone.num_rows for zone in zones) == ROWS
    third = zones[3].statistics["id"]
    assert (third.min, third.max, third.min_exact, third.null_count) == (3 * ZONE, 4 * ZONE - 1, True, 0)
    assert zones[-1].statistics["word"].max == "word 9"
    assert zones[2].statistics["st.x"].min == ZONE
    assert [zone.id for zone in zones[1:3]] == [1, 2]
    assert "16 of 16 zones" in repr(zones)


def test_zones_choose_rows(fragment: LanceFileFragment) -> None:
    part = fragment.subset(zones=[5, 2])
    expected = [*range(2 * ZONE, 3 * ZONE), *range(5 * ZONE, 6 * ZONE)]
    assert ids(part) == expected
    assert part.count_rows() == part.num_rows == 2 * ZONE
    assert part.count_rows(filter=pc.field("id") < 5 * ZONE + 3) == ZONE + 3
    assert [zone.id for zone in part.zones] == [2, 5]
    assert part.rows == [(2 * ZONE, 3 * ZONE), (5 * ZONE, 6 * ZONE)]
    assert ids(part.subset(zones=[5])) == expected[ZONE:]
    assert part.to_table(filter=pc.field("id") == 10).num_rows == 0
    with pytest.raises(InvalidArgumentError, match="no zone 3"):
        part.subset(zones=[3])
    with pytest.raises(InvalidArgumentError, match=f"no zone {NUM_ZONES}"):
        fragment.subset(zones=[NUM_ZONES])


def test_filters_choose_zones(fragment: LanceFileFragment) -> None:
    wanted = (pc.field("id") >= 130) & (pc.field("id") < 140)
    part = fragment.subset(wanted)
    assert ids(part) == list(range(2 * ZONE, 3 * ZONE))
    assert ids(fragment.subset([("id", "<", 3)])) == list(range(ZONE))
    assert fragment.subset(pc.field("id") < 0).num_rows == 0
    assert ids(fragment.subset(pc.field("id") < 0)) == []
    assert fragment.subset(wanted, zones=[0, 1]).num_rows == 0
    with pytest.raises(InvalidArgumentError, match="does not fit"):
        fragment.subset(pc.field("nobody") < 0)
    renamed = pa.schema({"other": pa.int64(), **{field.name: field.type for field in TABLE.schema}})
    assert fragment.subset(pc.field("other").is_null(), renamed).num_rows == ROWS


def test_rows_choose_rows(fragment: LanceFileFragment) -> None:
    part = fragment.subset(rows=[(10, 20), (900, 1000)])
    assert ids(part) == [*range(10, 20), *range(900, 1000)]
    assert part.take([9, 10, 0, 9], columns=["id"])["id"].to_pylist() == [19, 900, 10, 19]
    assert part.take([3], columns={"double": pc.field("id") * 2})["double"].to_pylist() == [26]
    assert part.take([1], columns=["id"], filter=pc.field("id") > 15)["id"].to_pylist() == [17]
    assert part.head(12, columns=["id"])["id"].to_pylist() == [*range(10, 20), 900, 901]
    assert part.head(2, columns=["id"], filter=pc.field("id") > 950)["id"].to_pylist() == [951, 952]
    assert [zone.num_rows for zone in part.zones] == [10, 60, 40]
    assert ids(part.subset(rows=slice(15, 905))) == [*range(15, 20), *range(900, 905)]
    for wrong in ([110], [-1]):
        with pytest.raises(InvalidArgumentError, match=str(wrong[0])):
            part.take(wrong)
    with pytest.raises(InvalidArgumentError, match="1001"):
        fragment.subset(rows=(0, 1001))


def test_scanners_see_the_part_only(fragment: LanceFileFragment) -> None:
    part = fragment.subset(rows=(100, 200))
    expected = TABLE.slice(100, 100)
    assert pads.Scanner.from_fragment(part).to_table().equals(expected)
    assert pads.Scanner.from_fragment(part, columns=["word"]).count_rows() == 100
    assert pa.Table.from_batches(part.to_batches(batch_size=7)).equals(expected)
    assert part.scanner(use_threads=False, filter=pc.field("id") > 150).to_table().equals(expected.slice(51))
    dataset = pads.FileSystemDataset([part], TABLE.schema, LanceFormat(), pa.fs.LocalFileSystem())
    assert dataset.to_table().equals(expected)
    assert dataset.count_rows() == 100
    (again,) = dataset.get_fragments()
    assert LanceFileFragment.from_fragment(again).rows == [(100, 200)]
    assert part.to_table(columns=[]).num_rows == 100


def test_parts_travel(fragment: LanceFileFragment) -> None:
    part = fragment.subset(rows=[(1, 4), (500, 501)])
    again = pickle.loads(pickle.dumps(part))
    assert type(again) is LanceFileFragment
    assert again.rows == part.rows
    assert ids(again) == [1, 2, 3, 500]
    assert RowRestriction((1,), (4,)) == RowRestriction((1,), (4,))


@pytest.mark.parametrize("max_rows", [None, 1, ZONE - 1, ZONE, ZONE + 1, 200, ROWS, 5000])
def test_splits_are_everything_once(fragment: LanceFileFragment, max_rows: int | None) -> None:
    parts = fragment.split_by_zone(max_rows=max_rows)
    assert [row for part in parts for row in range(*part.rows[0])] == list(range(ROWS))
    assert max(part.num_rows for part in parts[:20]) <= (max_rows or ZONE)
    if max_rows is None:
        assert len(parts) == NUM_ZONES
    elif max_rows >= ZONE:
        assert {part.rows[0][0] % ZONE for part in parts} == {0}
        assert len(parts) == (1 if max_rows >= ROWS else -(-NUM_ZONES // (max_rows // ZONE)))


def test_splits_leave_out_what_the_filter_does(fragment: LanceFileFragment) -> None:
    parts = fragment.split_by_zone(pc.field("id") >= 9 * ZONE)
    assert [part.zones[0].id for part in parts] == list(range(9, NUM_ZONES))
    assert fragment.split_by_zone(pc.field("id") < 0) == []
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(InvalidArgumentError, match="max_rows"):
            fragment.split_by_zone(max_rows=wrong)


def test_a_file_without_zone_maps_is_one_zone(tmp_path: Path) -> None:
    write_table(TABLE, tmp_path / "plain.lance", rows_per_zone=0)
    fragment = LanceFormat().make_fragment(str(tmp_path / "plain.lance"))
    (zone,) = fragment.zones
    assert (zone.id, zone.num_rows, dict(zone.statistics)) == (0, ROWS, {})
    assert [part.num_rows for part in fragment.split_by_zone(max_rows=400)] == [400, 400, 200]
    assert fragment.subset(pc.field("id") < 0).num_rows == ROWS


def test_another_file_of_the_same_name_is_noticed(tmp_path: Path) -> None:
    target = tmp_path / "file.lance"
    write_table(TABLE, target)
    part = LanceFormat().make_fragment(str(target)).subset(rows=(900, 1000))
    write_table(TABLE.slice(0, 50), target)
    with pytest.raises(InvalidArgumentError, match="has 50"):
        part.to_table()


def test_buffers_are_cut_too(path: str) -> None:
    fragment = LanceFormat().make_fragment(pa.py_buffer(Path(path).read_bytes()))
    part = fragment.subset(zones=[1])
    assert ids(part) == list(range(ZONE, 2 * ZONE))
    assert ids(pickle.loads(pickle.dumps(part))) == ids(part)


def test_reprs_are_short_and_escaped(fragment: LanceFileFragment, path: str) -> None:
    part = fragment.subset(rows=[(i, i + 1) for i in range(0, 100, 2)])
    assert path in repr(part)
    assert "0..1, 2..3, 4..5 and 47 more ranges" in repr(part)
    html = part._repr_html_()
    assert "&lt;" in html
    assert "<td>50</td>" in html


@given(data=st.data())
def test_any_ranges_are_these_rows(path: str, data: st.DataObject) -> None:
    borders = sorted(data.draw(st.sets(st.integers(0, ROWS), max_size=8)))
    ranges = list(zip(borders[::2], borders[1::2], strict=False))
    part = LanceFormat().make_fragment(path).subset(rows=ranges)
    expected = [row for start, stop in ranges for row in range(start, stop)]
    assert ids(part) == expected
    limit = data.draw(st.integers(0, ROWS))
    assert part.count_rows(filter=pc.field("id") < limit) == sum(row < limit for row in expected)
    if expected:
        numbers = data.draw(st.lists(st.integers(0, len(expected) - 1), max_size=5))
        assert part.take(numbers, columns=["id"])["id"].to_pylist() == [expected[number] for number in numbers]
    assert [row for one in part.split_by_zone(max_rows=100) for row in ids(one)] == expected
