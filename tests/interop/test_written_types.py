"""Columns of extension types and packed structs as we write them: read equal by us and by the reference."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from witness import Witness

import lance_arrow

pytestmark = pytest.mark.interop

IDS = pa.array([b"0" * 16, None, bytes(range(16))], pa.uuid())
TENSORS = pa.ExtensionArray.from_storage(
    pa.fixed_shape_tensor(pa.float32(), [2, 2]), pa.array([[1.0] * 4, [2.0] * 4, [3.5] * 4], pa.list_(pa.float32(), 4))
)
TABLE = pa.table(
    {
        "id": IDS,
        "tensor": TENSORS,
        "flag": pa.array([1, None, 0], pa.bool8()),
        "struct": pa.StructArray.from_arrays([IDS, TENSORS], ["id", "tensor"]),
        "list": pa.ListArray.from_arrays(pa.array([0, 2, 2, 3], pa.int32()), IDS),
    }
)


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_extension_types_survive(witness: Witness, tmp_path: Path, version: str) -> None:
    path = tmp_path / "file.lance"
    lance_arrow.write_table(TABLE, path, file_version=version)
    with lance_arrow.LanceFile(path) as file:
        assert file.schema.equals(TABLE.schema)
        assert file.read().equals(TABLE)
        assert file.take([2, 0, 2]).equals(TABLE.take(pa.array([2, 0, 2])))
    for name in TABLE.column_names:
        theirs = witness.read(path, [name])
        assert theirs.schema.field(name).type == TABLE.schema.field(name).type
        assert theirs.column(name).to_pylist() == TABLE.column(name).to_pylist()


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_rows_without_a_packed_struct_are_taken(witness: Witness, tmp_path: Path, version: str) -> None:
    """Wished to be zipped; of zipped ones the reference aborts where no row that it takes has any."""
    metadata = {"lance-encoding:packed": "true", "lance-encoding:structural-encoding": "fullzip"}
    struct = pa.struct([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.int16(), nullable=False)])
    type_ = pa.list_(pa.field("item", struct, metadata=metadata))
    rows = [None if n % 5 == 0 else [{"a": n, "b": k} for k in range(n % 4)] for n in range(200)]
    table = pa.table({"c": pa.array(rows, type_)})
    path = tmp_path / "file.lance"
    lance_arrow.write_table(table, path, file_version=version)
    empty = [n for n, row in enumerate(rows) if not row]
    assert witness.take(path, empty).equals(table.take(pa.array(empty)))
    assert witness.read(path).equals(table)
