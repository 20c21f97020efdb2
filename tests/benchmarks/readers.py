"""The readers that are compared, each over its own open file: ours, the reference's two, Vortex.

Ours and the reference's file reader share one file, which the reference wrote; its dataset holds the same table in the
same file version; Vortex has a file in its own format. A reader without a way to do a case has no entry for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import lance
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import vortex
from lance.file import LanceFileReader, LanceFileWriter
from numpy.typing import NDArray

from lance_arrow import LanceFile, LanceFormat

OURS = "LanceFile"
OUR_MAPPED = "LanceFile, mapped"
OUR_DATASET = "LanceFormat dataset"
ALL_OURS = (OURS, OUR_MAPPED, OUR_DATASET)
REFERENCE_FILE = "reference file"
REFERENCE_DATASET = "reference dataset"
VORTEX = "vortex"
REFERENCES = (REFERENCE_FILE, REFERENCE_DATASET)

Scan: TypeAlias = Callable[[], pa.Table]
Take: TypeAlias = Callable[[Any], pa.Table]


@dataclass(frozen=True)
class Readers:
    """What each reader calls for a case, by name.

    Parameters
    ----------
    scans
        Read all rows, from opening on.
    opens
        Open the file and tell how many rows it has.
    takes
        Read rows of an open file; the argument is what `prepared` makes of the offsets.
    """

    scans: dict[str, Scan]
    opens: dict[str, Callable[[], int]]
    takes: dict[str, Take]


def readers(table: pa.Table, folder: Path, version: str) -> Readers:
    """Write `table` for every reader into `folder`, and open it."""
    path, root, other = (str(folder / name) for name in (f"{version}.lance", f"{version}-table", "table.vortex"))
    with LanceFileWriter(path, table.schema, version=version) as writer:
        writer.write_batch(table)
    lance.write_dataset(table, root, data_storage_version=version)
    vortex.io.write(table, other)
    ours, mapped = LanceFile(path), LanceFile(path, memory_map=True)
    file, dataset, vortex_file = LanceFileReader(path), lance.dataset(root), vortex.open(other)
    has_blobs = any("lance-encoding:blob" in _metadata(field) for field in table.schema)
    takes: dict[str, Take] = {
        OURS: ours.take,
        OUR_MAPPED: mapped.take,
        REFERENCE_FILE: lambda rows: file.take_rows(rows).to_table(),
        VORTEX: lambda rows: vortex_file.scan(indices=rows).read_all().to_arrow_table(),
    }
    # A dataset's take yields descriptors in place of blobs.
    blobs_as_bytes = {"blob_handling": "all_binary"} if has_blobs else {}
    if not has_blobs:
        takes[REFERENCE_DATASET] = dataset.take
    return Readers(
        scans={
            OURS: lambda: LanceFile(path).read(),
            OUR_MAPPED: lambda: LanceFile(path, memory_map=True).read(),
            OUR_DATASET: lambda: pads.dataset(path, format=LanceFormat()).to_table(),
            REFERENCE_FILE: lambda: LanceFileReader(path).read_all().to_table(),
            REFERENCE_DATASET: lambda: dataset.to_table(**blobs_as_bytes),
            VORTEX: lambda: vortex.open(other).scan().read_all().to_arrow_table(),
        },
        opens={
            OURS: lambda: LanceFile(path).num_rows,
            OUR_MAPPED: lambda: LanceFile(path, memory_map=True).num_rows,
            REFERENCE_FILE: lambda: LanceFileReader(path).num_rows(),
            VORTEX: lambda: len(vortex.open(other)),
        },
        takes=takes,
    )


def prepared(rows: NDArray[np.int64]) -> dict[str, Any]:
    """Row offsets as each reader's take wants them: made outside the time that is taken."""
    as_list = rows.tolist()
    return {
        OURS: rows,
        OUR_MAPPED: rows,
        REFERENCE_FILE: as_list,
        REFERENCE_DATASET: as_list,
        VORTEX: vortex.array(pa.array(rows, pa.uint64())),
    }


def check(table: pa.Table, found: Readers, rows: NDArray[np.int64]) -> None:
    """Refuse to measure a reader of ours that is wrong, or another that does not return the rows.

    Raises
    ------
    SystemExit
        Other rows came back.
    """
    taken, arguments = table.take(rows), prepared(rows)
    for name in ALL_OURS:
        if not found.scans[name]().equals(table):
            raise SystemExit(f"{name}: a scan returns other rows; no figures")
    for name in (OURS, OUR_MAPPED):
        if not found.takes[name](rows).equals(taken):
            raise SystemExit(f"{name}: a take returns other rows; no figures")
    for name, scan in found.scans.items():
        if scan().num_rows != table.num_rows or scan().num_columns != table.num_columns:
            raise SystemExit(f"{name}: a scan returns another table; no figures")
    for name, take in found.takes.items():
        if _keys(take(arguments[name])) != _keys(taken):
            raise SystemExit(f"{name}: a take returns other rows; no figures")


def _keys(table: pa.Table) -> list[Any]:
    """What tells one row from another: the key where there is one."""
    return table.column("id" if "id" in table.column_names else 0).to_pylist()


def _metadata(field: pa.Field) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
