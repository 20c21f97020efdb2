"""What the reference wrote as 2.1 and 2.2 we read equal: every flat type, null density, row count and codec."""

from __future__ import annotations

from pathlib import Path

import columns
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from same import assert_same, taken
from values import seeded
from witness import Witness

import lance_arrow

pytestmark = pytest.mark.interop

FILES = [
    pytest.param(group, version, num_rows, nulls, id=f"{group}-{version}-{num_rows}-{nulls}")
    for group in columns.GROUPS
    for version in columns.OLD_AND_NEW
    for num_rows in columns.ROW_COUNTS
    for nulls in columns.NULLS
]


def some_indices(name: str, num_rows: int) -> np.ndarray:
    """Row numbers in no order, with duplicates, first and last row and both sides of a chunk border."""
    rng = seeded(name)
    picks = rng.integers(0, num_rows, 40)
    borders = np.array([0, num_rows - 1, num_rows - 1, 0, 1023, 1024, 4095, 4096]) % num_rows
    return rng.permutation(np.concatenate([picks, picks[:7], borders]))


@pytest.mark.cover(2)
@pytest.mark.parametrize(("group", "version", "num_rows", "nulls"), FILES)
def test_read_equal(witness: Witness, tmp_path: Path, group: str, version: str, num_rows: int, nulls: str) -> None:
    expected = columns.table(group, version, num_rows, nulls)
    path = witness.write(expected, tmp_path / "file.lance", version)
    reference_schema = witness.schema(path)

    with lance_arrow.LanceFile(path) as file:
        assert file.num_rows == num_rows
        assert file.schema.equals(reference_schema, check_metadata=True)
        actual = file.read()
        assert actual.schema.equals(reference_schema, check_metadata=True)
        assert_same(expected, actual)
        if num_rows:
            indices = some_indices(path.as_posix()[-60:], num_rows)
            assert_same(taken(expected, indices), file.take(indices))

    dataset = pads.dataset(path, format=lance_arrow.LanceFormat())
    assert dataset.schema.equals(reference_schema, check_metadata=True)
    assert dataset.count_rows() == num_rows
    if num_rows <= 1024 or group in ("fixed", "text"):
        assert_same(expected, dataset.to_table())
    path.unlink()


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", columns.OLD_AND_NEW)
@pytest.mark.parametrize("group", columns.GROUPS)
def test_batches_and_projection(witness: Witness, tmp_path: Path, group: str, version: str) -> None:
    expected = columns.table(group, version, 5_000, "some")
    path = witness.write(expected, tmp_path / "file.lance", version)
    names = [expected.column_names[-1], *expected.column_names[1::9]]
    with lance_arrow.LanceFile(path) as file:
        for batch_size in (1000, 4096):
            batches = list(file.to_batches(batch_size=batch_size))
            assert max(batch.num_rows for batch in batches) <= batch_size
            assert_same(expected, pa.Table.from_batches(batches, file.schema))
        assert_same(expected.select(names), file.read(columns=names))
        indices = some_indices(group, 5_000)
        assert_same(taken(expected.select(names), indices), file.take(indices, columns=names))
    dataset = pads.dataset(path, format=lance_arrow.LanceFormat())
    batches = list(dataset.to_batches(columns=names, batch_size=777))
    assert max(batch.num_rows for batch in batches) <= 777
    assert_same(expected.select(names), pa.Table.from_batches(batches))
    assert_same(expected.select(names).slice(0, 1100), dataset.head(1100, columns=names))


@pytest.mark.parametrize("version", columns.VERSIONS)
def test_nested_projection(witness: Witness, tmp_path: Path, version: str) -> None:
    expected = columns.table("nested", version, 3_000, "some")
    path = witness.write(expected, tmp_path / "file.lance", version)
    wanted = ["struct_some.b", "struct_deep.c.d.a", "fsl_fsl", "struct_everything.fsl"]
    reference = pads.dataset(expected).to_table(columns=wanted)
    dataset = pads.dataset(path, format=lance_arrow.LanceFormat())
    assert_same(reference, dataset.to_table(columns=wanted))
    with lance_arrow.LanceFile(path) as file:
        assert_same(reference, file.read(columns=wanted))
        indices = some_indices("nested projection", 3_000)
        assert_same(taken(reference, indices), file.take(indices, columns=wanted))


@pytest.mark.share(2)
@pytest.mark.cover(1)
@pytest.mark.parametrize("version", columns.OLD_AND_NEW)
@pytest.mark.parametrize("group", columns.GROUPS)
def test_pages_of_different_kinds(witness: Witness, tmp_path: Path, group: str, version: str) -> None:
    """Pages of one column differ in nulls, length and codec; each call of the writer ends a page."""
    chosen = columns.cases(group, version, 5_000, "some")
    chosen = [case for case in chosen if "none" in case.nulls and "all" in case.nulls]
    if version == "2.0":
        # Its writer fails to find symbols for nothing but nulls.
        chosen = [case for case in chosen if case.options.get("compression") != "fsst"]
    parts = [(1500, "none"), (700, "all"), (3, "some"), (2600, "some"), (1, "none"), (150, "some"), (1024, "all")]
    arrays = {case.name: [case.build(rows, nulls) for rows, nulls in parts] for case in chosen}
    expected = pa.table(
        {name: pa.chunked_array(chunks) for name, chunks in arrays.items()},
        schema=pa.schema([case.field_for(arrays[case.name][0], "some") for case in chosen]),
    )
    path = witness.write(expected, tmp_path / "file.lance", version, data_cache_bytes=1)
    assert {len(pages) for pages in witness.describe(path)["columns"]} == {len(parts)}
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected, file.read())
        indices = some_indices(group, expected.num_rows)
        assert_same(taken(expected, indices), file.take(indices))
        batches = list(file.to_batches(batch_size=999))
        assert_same(expected, pa.Table.from_batches(batches, file.schema))
    assert_same(expected, pads.dataset(path, format=lance_arrow.LanceFormat()).to_table())


@pytest.mark.parametrize("version", columns.OLD_AND_NEW)
def test_pages_of_default_size(witness: Witness, tmp_path: Path, version: str) -> None:
    """More than 8 MiB per column, as a writer without options cuts it."""
    rng = seeded("default pages")
    num_rows = 1_200_000
    expected = pa.table(
        {
            "id": pa.array(np.arange(num_rows)),
            "x": pa.array(rng.standard_normal(num_rows), mask=rng.random(num_rows) < 0.1),
            "s": pa.array(rng.integers(0, 900, num_rows)).cast(pa.string()),
        }
    )
    slices = [(start, min(start + 300_000, num_rows)) for start in range(0, num_rows, 300_000)]
    path = witness.write(expected, tmp_path / "file.lance", version, slices=slices)
    assert len(witness.describe(path)["columns"][0]) > 1
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected, file.read())
        indices = some_indices("default pages", num_rows)
        assert_same(taken(expected, indices), file.take(indices))


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", columns.OLD_AND_NEW)
@pytest.mark.parametrize("group", ["fixed", "temporal", "text", "dictionary"])
def test_sliced_input(witness: Witness, tmp_path: Path, group: str, version: str) -> None:
    """The writer was given arrays with offsets: validity and booleans do not start at a byte."""
    expected = columns.table(group, version, 3_000, "some")
    slices = [(13, 1000), (1000, 1001), (1001, 2999)]
    path = witness.write(expected, tmp_path / "file.lance", version, slices=slices)
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected.slice(13, 2986).combine_chunks(), file.read())


@pytest.mark.parametrize("version", columns.OLD_AND_NEW)
def test_list_items_that_are_not_nullable(witness: Witness, tmp_path: Path, version: str) -> None:
    """The wire loses the name and nullability of fixed-size list items: both readers give a nullable ``item``."""
    data_type = pa.list_(pa.field("element", pa.int32(), nullable=False), 2)
    values = pa.FixedSizeListArray.from_arrays(pa.array(range(20), pa.int32()), type=data_type)
    path = witness.write(pa.table({"a": values}), tmp_path / "file.lance", version)
    with lance_arrow.LanceFile(path) as file:
        assert file.schema == witness.schema(path)
        assert_same(witness.read(path), file.read())


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", columns.VERSIONS)
@pytest.mark.parametrize("name", ["string_few", "large_string_long", "string_wide", "binary_constant"])
def test_nulls_take_no_bytes(witness: Witness, tmp_path: Path, name: str, version: str) -> None:
    """Null rows of a dictionary or constant page hold nothing: memory is that of the values."""
    expected = columns.table("text", version, 20_000, "some").select([name])
    path = witness.write(expected, tmp_path / "file.lance", version)
    num_bytes = pc.sum(pc.binary_length(expected[name])).as_py()
    with lance_arrow.LanceFile(path) as file:
        for actual in (file.read(), pads.dataset(path, format=lance_arrow.LanceFormat()).to_table()):
            assert_same(expected, actual)
            assert sum(chunk.buffers()[2].size for chunk in actual[name].chunks) <= num_bytes + 4096


@pytest.mark.parametrize("version", columns.VERSIONS)
def test_structs_without_fields(witness: Witness, tmp_path: Path, version: str) -> None:
    """The reference writes them as a column of their own, and its reader then takes the next one's rows for another's.

    So the expectation is what was written, not what the reference reads.
    """
    empty = pa.array([{}] * 5, pa.struct([]))
    nested = pa.StructArray.from_arrays([empty, pa.array(range(5)), empty], ["e", "i", "f"])
    expected = pa.table({"a": empty, "b": [1, 2, 3, 4, 5], "c": nested, "d": ["x", "y", "z", None, ""], "e": empty})
    path = witness.write(expected, tmp_path / "file.lance", version)
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected, file.read())
        assert_same(taken(expected, [4, 0, 4]), file.take([4, 0, 4]))
        assert_same(expected.select(["d", "a"]), file.read(columns=["d", "a"]))
    assert_same(expected, pads.dataset(path, format=lance_arrow.LanceFormat()).to_table())
