"""`convert`: a Parquet, CSV, Arrow IPC or Lance source becomes one Lance file, streamed, with progress, then verified.

| Source | Recognised by | Read with |
|---|---|---|
| Lance file | its last four bytes | `LanceFile.to_batches` |
| Parquet file or folder | ``PAR1``, or a folder that pyarrow opens as Parquet | `pyarrow.dataset` |
| Arrow IPC file | ``ARROW1`` | `pyarrow.dataset` |
| CSV, also ``.csv.gz`` | its name | `pyarrow.csv` |
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as pads

from lance_arrow.datasets.lance_file import LanceFile
from lance_arrow.datasets.lance_writer import LanceWriter
from lance_arrow.datasets.verifying import verify
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, UnsupportedError

Progress = Callable[[int, int | None], None]
"""Gets how many rows were written, and of how many; None where the source does not tell."""
BATCH_ROWS = 1 << 16
_CSV_ENDINGS = (".csv", ".csv.gz", ".csv.bz2", ".csv.zst")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertReport:
    """What was converted: rows and bytes of the new file, bytes of the source where it is one local file."""

    source: str
    target: str
    kind: str
    file_version: str
    num_rows: int
    num_bytes: int
    source_bytes: int | None
    verified: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class _Source:
    kind: str
    schema: pa.Schema
    num_rows: int | None
    batches: Iterator[pa.RecordBatch]


def convert(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    file_version: str = "2.2",
    preset: str = "default",
    on_progress: Progress | None = None,
) -> ConvertReport:
    """Convert a local file, or a local folder of Parquet files, to one Lance file, and verify what was written.

    Parameters
    ----------
    source
        What to read.
    target
        Path or URL of the new file; an older one is replaced when the new one is complete.
    file_version, preset
        As for `WriteOptions`.
    on_progress
        Called after every batch.

    Raises
    ------
    FileNotFoundError
        There is no source.
    InvalidArgumentError
        The source is of no kind that is known.
    UnsupportedError
        A table, or a column that the format cannot hold.
    CorruptFileError
        What was written does not verify.
    """
    begun = time.perf_counter()
    path = Path(source)
    with (
        _opened(path) as found,
        LanceWriter(target, found.schema, file_version=file_version, preset=preset) as writer,
    ):
        for batch in found.batches:
            writer.write(batch)
            if on_progress is not None:
                on_progress(writer.num_rows, found.num_rows)
    if found.num_rows is not None and writer.num_rows != found.num_rows:
        raise CorruptFileError(f"{found.num_rows:,} rows were announced, {writer.num_rows:,} came", path=str(path))
    report = verify(target)
    if report.errors:
        raise CorruptFileError(f"the new file does not verify: {report.errors[0]}", path=os.fspath(target))
    return ConvertReport(
        source=str(path),
        target=os.fspath(target),
        kind=found.kind,
        file_version=file_version,
        num_rows=writer.num_rows,
        num_bytes=writer.num_bytes,
        source_bytes=path.stat().st_size if path.is_file() else None,
        verified=report.ok,
        seconds=time.perf_counter() - begun,
    )


@contextmanager
def _opened(path: Path) -> Iterator[_Source]:
    if not path.exists():
        raise FileNotFoundError(2, os.strerror(2), str(path))
    if path.is_dir():
        if (path / "_versions").is_dir():
            raise UnsupportedError(
                "a table is no file: table.converting.convert_any makes a table of it", path=str(path)
            )
        yield _of_dataset(pads.dataset(path, format="parquet"), "parquet")
    elif path.name.lower().endswith(_CSV_ENDINGS):
        with pyarrow.csv.open_csv(path) as reader:
            yield _Source("csv", reader.schema, None, iter(reader))
    else:
        kind = _kind(path)
        if kind != "lance":
            yield _of_dataset(pads.dataset(path, format=kind), kind)
            return
        with LanceFile(path) as file:
            batches = file.to_batches(batch_size=BATCH_ROWS)
            yield _Source("lance", file.schema, file.num_rows, batches)


def _of_dataset(dataset: Any, kind: str) -> _Source:
    return _Source(kind, dataset.schema, dataset.count_rows(), dataset.to_batches(batch_size=BATCH_ROWS))


def _kind(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(6)
        file.seek(max(0, path.stat().st_size - 4))
        tail = file.read(4)
    if tail == b"LANC":
        return "lance"
    if head[:4] == b"PAR1" == tail:
        return "parquet"
    if head == b"ARROW1":
        return "ipc"
    raise InvalidArgumentError(
        "neither a Lance, Parquet nor Arrow IPC file, and its name is not that of a CSV", path=str(path)
    )
