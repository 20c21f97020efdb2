"""Deletion vectors: arithmetic on live rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow import LanceTable
from lance_arrow.errors import CorruptManifestError, MissingFileError
from lance_arrow.io import Location
from lance_arrow.manifests import deletions
from lance_arrow.manifests.arrow_numbers import read_numbers
from lance_arrow.manifests.deletions import DeletionVector, _ascending, read_deletions, read_many_deletions
from lance_arrow.scan.fragments.field_sources import expanded
from lance_arrow.settings import Limits
from lance_arrow.table import deletion_files


@given(st.integers(0, 60).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, max(0, n - 1)), max_size=n))))
def test_live_rows(case: tuple[int, set[int]]) -> None:
    num_rows, deleted = case
    deleted = {row for row in deleted if row < num_rows}
    vector = DeletionVector(np.array(sorted(deleted), np.int64), num_rows)
    live = [row for row in range(num_rows) if row not in deleted]
    ranges = vector.live()
    assert expanded(ranges.starts, ranges.stops).tolist() == live
    assert (ranges.starts < ranges.stops).all()
    assert vector.num_live == len(live)
    assert vector.offsets_of(np.arange(len(live))).tolist() == live
    for start in range(0, len(live), 7):
        some = np.arange(start, min(start + 5, len(live)))[::-1]
        assert vector.offsets_of(some).tolist() == [live[number] for number in some]
    assert vector.offsets_of(np.empty(0, np.int64)).tolist() == []


def test_few_rows_look_at_few_deleted_rows() -> None:
    looked_at = []

    class Watched(np.ndarray):
        def __getitem__(self, key: object) -> object:
            looked_at.append(key)
            return super().__getitem__(key)

    deleted = np.arange(0, 2_000_000, 2).view(Watched)
    assert DeletionVector(deleted, 2_000_000).offsets_of(np.array([3])).tolist() == [7]
    assert all(key.stop - key.start <= 1 for key in looked_at if isinstance(key, slice))
    assert len(looked_at) < 50


@given(st.lists(st.integers(0, 20)))
def test_offsets_in_any_order(offsets: list[int]) -> None:
    assert _ascending(np.array(offsets, np.int64)).tolist() == sorted(set(offsets))


def test_a_name_that_is_no_text_is_damage() -> None:
    sink = pa.BufferOutputStream()
    rows = pa.table({"row_id": pa.array([1, 2], pa.uint32())})
    with pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    content = sink.getvalue().to_pybytes()
    assert read_numbers(content, lambda count: None).tolist() == [1, 2]
    with pytest.raises(CorruptManifestError, match="UnicodeDecodeError"):
        read_numbers(content.replace(b"row_id", b"row_i\xff"), lambda count: None)


@pytest.mark.parametrize("wave_bytes", [1, 40_000, 16 << 20])
def test_many_files_are_as_each_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wave_bytes: int) -> None:
    monkeypatch.setattr(deletions, "_WAVE_BYTES", wave_bytes)
    monkeypatch.setattr(deletion_files, "BITMAP_ROWS", 1000)
    table = LanceTable.create(tmp_path / "t", pa.table({"id": np.arange(100_000)}), max_rows_per_file=5000)
    # Of few rows there is a list, of many a bitmap.
    table.delete("id % 5000 = 7 or (id < 50000 and id % 2 = 0)")
    facts, fragments = table._reader.columns.facts, list(table._reader.fragments)
    metas = [one.deletion for one in fragments]
    assert {meta.is_bitmap for meta in metas} == {False, True}
    paths = [facts.deletion_path(meta, allow_external_bases=False) for meta in metas]
    Path(paths[3]).write_bytes(b"no deletions")
    Path(paths[5]).unlink()
    Path(paths[8]).write_bytes(b"")

    def each(number: int) -> DeletionVector:
        place = Location(None, paths[number])
        return read_deletions(place, metas[number], 5000, manifest_path="manifest", limits=Limits())

    found = read_many_deletions(None, paths, metas, [5000] * 20, manifest_path="manifest", limits=Limits())
    for number, vector in enumerate(found):
        if number in (3, 5, 8):
            assert vector is None
            with pytest.raises(MissingFileError if number == 5 else CorruptManifestError):
                each(number)
        else:
            assert vector is not None
            assert vector.offsets.tolist() == each(number).offsets.tolist()
    # The fragment to blame is told as ever.
    with pytest.raises((MissingFileError, CorruptManifestError)):
        LanceTable.open(tmp_path / "t").to_table()
