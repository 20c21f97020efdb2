"""`convert_any`: as `datasets.converting`, and tables too: the rows of the current version as a new table."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from lance_arrow.choices import FileVersionName, Preset
from lance_arrow.datasets.converting import BATCH_ROWS, ConvertReport, Progress, convert
from lance_arrow.datasets.verifying import verify
from lance_arrow.errors import CorruptFileError, TableExistsError
from lance_arrow.manifests.versions import table_location
from lance_arrow.table.lance_table import LanceTable

_VERSIONS = "_versions"


def convert_any(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    file_version: FileVersionName = "2.2",
    preset: Preset = "default",
    on_progress: Progress | None = None,
) -> ConvertReport:
    """Convert a local file or table, and verify what was written.

    Parameters
    ----------
    source
        A file as for `convert`, or the folder of a table of any version.
    target
        Path or URL: of a file, or of a table, of which there must be none.
    file_version, preset
        As for `WriteOptions`.
    on_progress
        Called after every batch.

    Raises
    ------
    TableExistsError
        There is a table at the target.
    CorruptFileError
        What was written does not verify.
    LanceError, OSError
        As `convert` and `LanceTable`.
    """
    if not (Path(source) / _VERSIONS).is_dir():
        return convert(source, target, file_version=file_version, preset=preset, on_progress=on_progress)
    begun = time.perf_counter()
    if (Path(target) / _VERSIONS).is_dir():
        raise TableExistsError("there is a table already", path=os.fspath(target))
    table = LanceTable.open(source)
    num_rows = table.count_rows()
    rows = _rows(table, num_rows, on_progress)
    made = LanceTable.create(target, rows, schema=table.schema, file_version=file_version, preset=preset)
    if made.count_rows() != num_rows:
        raise CorruptFileError(
            f"the new table has {made.count_rows():,} rows, not {num_rows:,}", path=os.fspath(target)
        )
    num_bytes = 0
    filesystem = table_location(target).filesystem
    for fragment in made.manifest.fragments:
        for file in fragment.files:
            path = made.manifest.facts.data_path(file)
            report = verify(path, filesystem=filesystem)
            if report.errors:
                raise CorruptFileError(f"a new file does not verify: {report.errors[0]}", path=path)
            num_bytes += file.size_bytes or 0
    return ConvertReport(
        source=os.fspath(source),
        target=os.fspath(target),
        kind="table",
        file_version=file_version,
        num_rows=num_rows,
        num_bytes=num_bytes,
        source_bytes=None,
        verified=True,
        seconds=time.perf_counter() - begun,
    )


def _rows(table: LanceTable, num_rows: int, on_progress: Progress | None) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in table.to_batches(batch_size=BATCH_ROWS):
        yield batch
        done += batch.num_rows
        if on_progress is not None:
            on_progress(done, num_rows)
