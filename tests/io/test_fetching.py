"""Fetching into one array: every range at its position, whatever the source."""

from __future__ import annotations

import fsspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs as arrow_fs

from lance_arrow.io import BufferSource, LocalSource, MeteredSource, fetch, open_source

CONTENT = bytes(np.random.default_rng(7).integers(0, 256, 50_000, np.uint8))


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    path = tmp_path_factory.mktemp("fetch") / "file"
    path.write_bytes(CONTENT)
    memory = fsspec.filesystem("memory")
    memory.pipe_file("/fetch/file", CONTENT)
    return [
        LocalSource(path),
        BufferSource(CONTENT),
        open_source("/fetch/file", filesystem=memory),
        open_source(str(path), filesystem=arrow_fs.SubTreeFileSystem("/", arrow_fs.LocalFileSystem())),
        MeteredSource(LocalSource(path)),
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, len(CONTENT)), st.integers(0, 5000)).map(
            lambda place: (place[0], min(place[0] + place[1], len(CONTENT)))
        ),
        max_size=20,
    )
)
def test_every_range_lies_at_its_position(sources, places):
    starts = np.array([start for start, _ in places], np.int64)
    stops = np.array([stop for _, stop in places], np.int64)
    for source in sources:
        data, positions = fetch(source, starts, stops)
        for (start, stop), position in zip(places, positions.tolist(), strict=True):
            assert bytes(data[position : position + stop - start]) == CONTENT[start:stop]


def test_metered_arena_counts_joined_requests(sources):
    metered = MeteredSource(BufferSource(CONTENT))
    fetch(metered, np.array([0, 100, 40_000]), np.array([50, 200, 40_010]))
    stats = metered.snapshot()
    assert (stats.waves, stats.requests, stats.ranges_wanted, stats.bytes_wanted) == (1, 2, 3, 160)
    assert stats.bytes_fetched == 210
