"""Files that other releases of the reference wrote as 2.3 before that was the planar grammar; 14.0.2 refuses them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from canonical import difference
from values import seeded

import lance_arrow
from lance_arrow.errors import UnknownEncodingError

FOLDER = Path(__file__).parents[1] / "data" / "release_files"
RELEASES = ("4.0.0", "8.0.0", "12.0.0")


@pytest.fixture(scope="module")
def expected() -> pa.Table:
    """What each release reads back from its own file."""
    with pa.ipc.open_stream(FOLDER / "2.3.arrows") as stream:
        return stream.read_all()


def assert_equal(expected: pa.Table, actual: pa.Table, rows: np.ndarray | None = None) -> None:
    actual.validate(full=True)
    assert actual.column_names == expected.column_names
    pairs = zip(expected.column_names, expected.columns, actual.columns, strict=True)
    found = {name: difference(left, right, rows, types=False) for name, left, right in pairs}
    assert not any(found.values()), found


@pytest.mark.parametrize("release", RELEASES)
def test_2_3_of_the_older_grammar(release: str, expected: pa.Table) -> None:
    path = FOLDER / f"{release}-2.3.lance"
    rows = seeded(release).integers(0, expected.num_rows, 60)
    with lance_arrow.LanceFile(path) as file:
        assert (file.version, file.num_rows) == ("2.3", expected.num_rows)
        assert_equal(expected, file.read())
        assert_equal(expected, file.take(rows), rows)
        assert_equal(expected, pa.Table.from_batches(file.to_batches(batch_size=100), file.schema))
    assert_equal(expected, pads.dataset(path, format=lance_arrow.LanceFormat()).to_table())


def test_draft_of_sparse_pages_is_named() -> None:
    """12.0.0 wrote sparse pages as field 5 of `PageLayout`, with other fields than the planar grammar has."""
    with lance_arrow.LanceFile(FOLDER / "12.0.0-2.3-sparse.lance") as file:
        assert file.num_rows == 1500
        for name in file.schema.names:
            with pytest.raises(UnknownEncodingError, match="PageLayout/#5") as caught:
                file.read(columns=[name])
            assert caught.value.column.split(".")[0] == name
