"""Columns of extension types, alone and nested, written in every version: read equal by us and by the reference."""

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
