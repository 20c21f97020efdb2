"""The historical tables and table scenarios: their files, and the rows that each file must hold.

Nothing here opens a table: the manifest says which fields of which fragment lie in a file, the row addresses in the
Parquet file of a version say which rows of that fragment are alive and where.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lance_arrow.proto.reading import parse
from lance_arrow.proto.table_pb2 import DataFragment, Manifest

FOLDER = Path(os.environ.get("LANCE_ARROW_GOLDEN", Path(__file__).parents[3] / "shared" / "golden"))
SCENARIOS = FOLDER / "scenarios"
FOOTER_VERSIONS = {(0, 1): "0.1", (0, 2): "0.1", (0, 3): "2.0", (2, 0): "2.0"}
OFFSET_BITS = 32
FOOTER = struct.Struct("<HH4s")
MANIFEST_FOOTER = struct.Struct("<QHH4s")
ADDRESS_COLUMNS = ("_rowid", "__addr")


@dataclass(frozen=True)
class Expectation:
    """Rows of one data file as one version of a table shows them.

    Parameters
    ----------
    path
        The data file.
    version
        Version of the table.
    offsets
        Rows of the file that are alive in that version, ``(n,)``.
    names
        Top-level columns of the file, by field id, as that version calls them.
    rows
        What these columns hold at `offsets`.
    """

    path: Path
    version: int
    offsets: np.ndarray
    names: dict[int, str]
    rows: pa.Table


def version_of(path: Path) -> str | None:
    """File version in the footer; None when the file does not end as a Lance file."""
    major, minor, magic = FOOTER.unpack(path.read_bytes()[-FOOTER.size :])
    return FOOTER_VERSIONS.get((major, minor), f"{major}.{minor}") if magic == b"LANC" else None


@cache
def files(under: str = "") -> dict[Path, str]:
    """Every Lance file below a folder, data and index files alike, and its version."""
    found = {path: version_of(path) for path in sorted((FOLDER / under).rglob("*.lance")) if path.is_file()}
    return {path: version for path, version in found.items() if version is not None}


def tables(under: str = "") -> Iterator[tuple[Path, dict[int, Path]]]:
    """Table folders, and by version the Parquet file of its rows."""
    for root in sorted({path.parent.parent for path in (FOLDER / under).rglob("*.manifest")}):
        if root.name == "dataset":
            rows = {int(path.stem[1:]): path for path in root.parent.glob("expected/v*.parquet")}
        else:
            rows = {int(path.stem.rpartition(".v")[2]): path for path in root.parent.glob(f"{root.stem}.v*.parquet")}
        yield root, rows


def manifest(path: Path) -> Manifest:
    """Parse a manifest file."""
    data = path.read_bytes()
    place = MANIFEST_FOOTER.unpack(data[-MANIFEST_FOOTER.size :])[0]
    (size,) = struct.unpack_from("<I", data, place)
    return parse(Manifest, data[place + 4 : place + 4 + size], what=path.name)


def expectations(under: str = "") -> Iterator[Expectation]:
    """What each data file must hold, once for every version of its table that names it."""
    for root, rows in tables(under):
        for path in sorted((root / "_versions").glob("*.manifest")):
            held = manifest(path)
            if held.version in rows:
                expected = pq.read_table(rows[held.version])
                for fragment in held.fragments:
                    yield from _expectations_of(root, held, fragment, expected)


def _expectations_of(root: Path, held: Manifest, fragment: DataFragment, expected: pa.Table) -> Iterator[Expectation]:
    addresses = expected[ADDRESS_COLUMNS[1] if ADDRESS_COLUMNS[1] in expected.column_names else ADDRESS_COLUMNS[0]]
    addresses = addresses.to_numpy()
    (picks,) = np.nonzero(addresses >> OFFSET_BITS == fragment.id)
    offsets = (addresses[picks] & ((1 << OFFSET_BITS) - 1)).astype(np.int64)
    parents = {field.id: field.parent_id for field in held.fields}
    for file in fragment.files:
        tops = {_top(parents, number) for number in file.fields if number in parents}
        names = {field.id: field.name for field in held.fields if field.id in tops}
        # Addresses of one fragment are a slice as long as scans follow the fragments.
        rows = expected.select(list(names.values())).slice(int(picks[0]) if len(picks) else 0, len(picks))
        assert len(picks) == 0 or picks[-1] - picks[0] + 1 == len(picks)
        yield Expectation(root / "data" / file.path, held.version, offsets, names, rows)


def _top(parents: dict[int, int], number: int) -> int:
    while parents[number] >= 0:
        number = parents[number]
    return number
