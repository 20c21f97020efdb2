"""Columns of blobs for tests: values, the fields that make the reference write blobs, files without their table."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from values import seeded
from witness import Witness

FIRST = {"lance-encoding:blob": "true"}
SECOND = {"ARROW:extension:name": "lance.blob.v2", "ARROW:extension:metadata": ""}
SECOND_TYPE = pa.struct(
    [("data", pa.large_binary()), ("uri", pa.string()), ("position", pa.uint64()), ("size", pa.uint64())]
)


def payloads(count: int, largest: int = 5000, every_null: int = 7) -> list[bytes | None]:
    """Values of 0 to `largest` bytes, some empty, every seventh null."""
    rng = seeded(f"blobs {count} {largest}")
    sizes = rng.integers(0, largest, count)
    sizes[::5] = 0
    return [None if n % every_null == 3 else rng.bytes(int(size)) for n, size in enumerate(sizes)]


def first_kind(values: Sequence[bytes | None], name: str = "b") -> pa.Table:
    """A column that the reference writes as places within the file, and the numbers of its rows."""
    fields = [pa.field(name, pa.large_binary(), metadata=FIRST), pa.field("n", pa.int64())]
    return pa.table([pa.array(values, pa.large_binary()), range(len(values))], schema=pa.schema(fields))


def second_kind(values: Sequence[bytes | str | tuple[str, int, int] | None]) -> pa.StructArray:
    """What the reference turns into descriptors: bytes, an address, or an address with position and size."""
    rows = []
    for value in values:
        data, uri, position, size = None, None, None, None
        if isinstance(value, bytes):
            data = value
        elif isinstance(value, str):
            uri = value
        elif value is not None:
            uri, position, size = value
        rows.append(None if value is None else {"data": data, "uri": uri, "position": position, "size": size})
    return pa.array(rows, SECOND_TYPE)


def second_table(values: Sequence[bytes | str | tuple[str, int, int] | None]) -> pa.Table:
    """A column of the second kind, and the numbers of its rows."""
    fields = [pa.field("b", SECOND_TYPE, metadata=SECOND), pa.field("n", pa.int64())]
    return pa.table([second_kind(values), range(len(values))], schema=pa.schema(fields))


def write_second(witness: Witness, table: pa.Table, folder: Path, version: str) -> tuple[Path, Path]:
    """Write a table directory; return it, and a copy of its one data file that lies, with its sidecars, alone."""
    root = witness.write_directory(table, folder / "t.lance", version, allow_external_blob_outside_bases=True)
    (written,) = (root / "data").glob("*.lance")
    alone = folder / "alone" / "file.lance"
    alone.parent.mkdir()
    shutil.copy(written, alone)
    if written.with_suffix("").exists():
        shutil.copytree(written.with_suffix(""), alone.with_suffix(""))
    return root, alone
