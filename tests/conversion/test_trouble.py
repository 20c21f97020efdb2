"""Parquet files made for trouble convert to what pyarrow itself reads, or are refused with file and column."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from same import assert_same
from trouble import CASES, Case

import lance_arrow


def test_there_are_enough(tmp_path: Path) -> None:
    assert sum(case.write(tmp_path / str(at)) for at, case in enumerate(CASES.values())) >= 60


def own_reading(case: Case, folder: Path, schema: pa.Schema) -> pa.Table:
    """What pyarrow reads, in the types of the target."""
    if case.own_reading is not None:
        return case.own_reading([pq.read_table(folder / name) for name in sorted(case.files)]).cast(schema)
    # A schema that names types only: nulls of a missing column are no matter here.
    wanted = pa.schema([field.with_nullable(True) for field in schema])
    return pads.dataset(folder, format="parquet", partitioning="hive", schema=wanted).to_table()


@pytest.mark.parametrize("name", CASES)
def test_a_file(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    folder = tmp_path / "given"
    case.write(folder)
    target = tmp_path / "made.lance"
    if case.refusal is not None:
        with pytest.raises(case.refusal.error) as caught:
            lance_arrow.convert(folder, target)
        assert type(caught.value) is case.refusal.error
        assert caught.value.column == case.refusal.column
        assert caught.value.path == str(folder / case.refusal.file)
        assert all(word in str(caught.value) for word in case.refusal.words), str(caught.value)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["given"]
        return
    report = lance_arrow.convert(folder, target)
    made = lance_arrow.read_table(target)
    expected = own_reading(case, folder, made.schema)
    assert made.column_names == expected.column_names
    # pyarrow lists files by name of folder and file, as this does.
    assert_same(expected, made.cast(expected.schema))
    assert report.num_rows == expected.num_rows == report.checked.rows
    if len(case.files) == 1:
        (name,) = case.files
        # Without any cast between.
        assert str(made.to_pylist()) == str(pq.read_table(folder / name).to_pylist())
