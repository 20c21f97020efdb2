"""Whole files for `fuzz.py`: large ones of six columns, and small ones, most of one column and 200 to 3,000 bytes.

A mutant of a small file is read in about a millisecond, and most damage meets a number that steers the reader. Codecs
that need many rows are those of the forge, and of the large files.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import columns
import forged
import forged_arrays
import numpy as np
import pyarrow as pa
from witness import Witness, WitnessRefused

import lance_arrow

SMALL = "small"
"""Folder of the small ones."""
ROWS, FEW_ROWS = 300, 40
LARGEST_SMALL_BYTES = 3000
# Arrow calls the values of these invalid by themselves: damaged values are not for us to judge.
_JUDGED = ("time", "date64", "decimal")


def write_seeds(
    folder: Path,
    witness: Witness,
    versions: Sequence[str] = columns.OLD_AND_NEW,
    nulls_of: Sequence[str] = ("some", "none"),
    small_every: int = 1,
) -> int:
    """Write files of the reference, all types and encodings of every version, and of the forge.

    Parameters
    ----------
    small_every
        Small files are written for every so manieth column.
    """
    small, number = folder / SMALL, 0
    small.mkdir()
    for version in versions:
        for group in columns.GROUPS:
            for nulls in nulls_of:
                cases = list(_cases(group, version, nulls))
                for start in range(0, len(cases), 6):
                    path = folder / f"{version}-{group}-{nulls}-{start}.lance"
                    _is_written(cases[start : start + 6], ROWS, nulls, version, path, witness)
                for case in cases:
                    number += 1
                    if number % small_every == 0:
                        _write_small(case, nulls, version, small / f"{version}-{nulls}-{case.name}.lance", witness)
    for version in ("2.1", "2.2", "2.3"):
        _write_ours(folder / f"ours-{version}.lance", version)
    write_forged(small)
    return len(list(folder.rglob("*.lance")))


def write_forged(folder: Path) -> None:
    """Write the files that are made by hand: every layout and codec, 200 to 2,700 bytes each."""
    for name, file in {**forged.GOOD, **forged_arrays.GOOD, **forged_arrays.PRE_RELEASE}.items():
        (folder / f"forged-{name}.lance").write_bytes(file.build())


def _cases(group: str, version: str, nulls: str) -> Iterator[columns.ColumnCase]:
    for case in columns.cases(group, version, ROWS, nulls):
        if not any(word in str(case.build(3, nulls).type) for word in _JUDGED):
            yield case


def _is_written(
    cases: list[columns.ColumnCase], rows: int, nulls: str, version: str, path: Path, witness: Witness
) -> bool:
    arrays = [case.build(rows, nulls) for case in cases]
    fields = [case.field_for(array, nulls) for case, array in zip(cases, arrays, strict=True)]
    try:
        witness.write(pa.table(arrays, schema=pa.schema(fields)), path, version)
    except WitnessRefused:
        path.unlink(missing_ok=True)
    return path.exists()


def _write_small(case: columns.ColumnCase, nulls: str, version: str, path: Path, witness: Witness) -> None:
    """Write as many rows as a small file has room for, if any."""
    for rows in (ROWS, FEW_ROWS):
        if not _is_written([case], rows, nulls, version, path, witness):
            return
        if path.stat().st_size <= LARGEST_SMALL_BYTES:
            return
    path.unlink()


def _write_ours(path: Path, version: str) -> None:
    """A file with zone maps and checksums, in pages of a few rows."""
    rng = np.random.default_rng(18)
    numbers = np.sort(rng.integers(-1000, 1000, 600))
    table = pa.table(
        {
            "number": pa.array(numbers, mask=rng.random(600) < 0.1),
            "text": [f"text {number}" for number in numbers],
            "real": numbers / 7,
            "lists": [[int(number)] * (row % 4) for row, number in enumerate(numbers)],
        }
    )
    lance_arrow.write_table(table, path, file_version=version, rows_per_zone=128, page_bytes=2048)
