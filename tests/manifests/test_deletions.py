"""Deletion vectors: arithmetic on live rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import CorruptManifestError
from lance_arrow.manifests.arrow_numbers import read_numbers
from lance_arrow.manifests.deletions import DeletionVector, _ascending
from lance_arrow.scan.fragments.field_sources import expanded


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
