"""Inputs read one after another in batches of bounded size: what one is, and then its rows, with bytes done.

| Format | Read with | In memory at a time |
|---|---|---|
| Parquet | `pyarrow.parquet`, row group by row group, a buffer for each column | a batch, and the pages it cuts |
| Arrow IPC file, stream | `pyarrow.ipc` | a batch as it was written |
| ORC | `pyarrow.orc` | a stripe |
| CSV, JSON | `text_readers` | a block |
| Lance file, table | `LanceFile`, `LanceTable` | windows within ``Settings.memory_budget_bytes`` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem
from pyarrow import orc

from lance_arrow.conversion.sources import Input, open_file
from lance_arrow.conversion.text_readers import csv_batches, csv_types, json_batches, json_types
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, LanceError
from lance_arrow.files.lance_file import LanceFile
from lance_arrow.table.lance_table import LanceTable

BATCH_ROWS = 1 << 16
BATCH_BYTES = 32 << 20
"""What a batch of Parquet should take when it is decoded."""
_BUFFER_BYTES = 1 << 20
_REMOTE_BUFFER_BYTES = 4 << 20
_ALL_BUFFERS_BYTES = 16 << 20
_MIN_BUFFER_BYTES = 64 << 10

Part = tuple[pa.RecordBatch, int]
"""A batch, and how many bytes of the input were read up to its end."""
Types = Mapping[str, pa.DataType]


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Facts about an input before its rows are read.

    Parameters
    ----------
    schema
        Its columns; the types of text are those of the whole file.
    num_rows
        None where only reading tells.
    size_bytes
        Stored bytes.
    version
        Of a table.
    """

    schema: pa.Schema
    num_rows: int | None
    size_bytes: int | None
    version: int | None = None


def inspect(one: Input, asked: Types, on_bytes: Callable[[int], None]) -> Facts:
    """Read what an input is: metadata of binary formats, all of a text.

    Parameters
    ----------
    one
        The input.
    asked
        Types by column that the caller wants: text is parsed as these.
    on_bytes
        Told how many bytes of a text were read.

    Raises
    ------
    CorruptFileError
        The file is not of its format.
    InvalidArgumentError
        Text fits no type.
    """
    with located_arrow(one.name):
        match one.format:
            case "parquet":
                with _parquet(one) as parquet:
                    return Facts(
                        schema=parquet.schema_arrow, num_rows=parquet.metadata.num_rows, size_bytes=one.size_bytes
                    )
            case "ipc":
                with open_file(one.place) as file:
                    return Facts(schema=pa.ipc.open_file(file).schema, num_rows=None, size_bytes=one.size_bytes)
            case "ipc_stream":
                with open_file(one.place) as file:
                    return Facts(schema=pa.ipc.open_stream(file).schema, num_rows=None, size_bytes=one.size_bytes)
            case "orc":
                with open_file(one.place) as file:
                    found = orc.ORCFile(file)
                    return Facts(schema=found.schema, num_rows=found.nrows, size_bytes=one.size_bytes)
            case "csv":
                return Facts(schema=csv_types(one, asked, on_bytes), num_rows=None, size_bytes=one.size_bytes)
            case "json":
                return Facts(schema=json_types(one, asked, on_bytes), num_rows=None, size_bytes=one.size_bytes)
            case "lance":
                with LanceFile(one.place) as lance:
                    return Facts(schema=lance.schema, num_rows=lance.num_rows, size_bytes=one.size_bytes)
            case "table":
                table = open_table(one)
                sizes = [file.size_bytes for fragment in table.manifest.fragments for file in fragment.files]
                return Facts(
                    schema=table.schema,
                    num_rows=table.count_rows(),
                    size_bytes=None if None in sizes else sum(size or 0 for size in sizes),
                    version=table.version,
                )


def read_parts(one: Input, facts: Facts, columns: Sequence[str]) -> Iterator[Part]:
    """Yield the rows of an input in order.

    Parameters
    ----------
    one, facts
        The input, and what `inspect` found.
    columns
        Names of its columns that are wanted; formats that cannot leave others out yield them, too.

    Raises
    ------
    CorruptFileError
        The file is damaged, or became another one since it was inspected.
    """
    readers: dict[str, Callable[[Input, Facts, Sequence[str]], Iterator[Part]]] = {
        "parquet": _read_parquet,
        "ipc": _read_ipc,
        "ipc_stream": _read_stream,
        "orc": _read_orc,
        "csv": _read_csv,
        "json": _read_json,
        "lance": _read_lance,
        "table": _read_table,
    }
    with located_arrow(one.name):
        yield from readers[one.format](one, facts, columns)


@contextmanager
def located_arrow(path: str) -> Iterator[None]:
    """Turn what pyarrow says of a damaged file into `CorruptFileError`, with the file."""
    try:
        yield
    except LanceError as error:
        if error.path is None:
            error.path = path
        raise
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowSerializationError) as error:
        raise CorruptFileError(f"the file cannot be read: {error}", path=path) from error
    except OSError as error:
        # Arrow's own complaints about content have no number; those of a filesystem do.
        if error.errno is not None:
            raise
        raise CorruptFileError(f"the file cannot be read: {error}", path=path) from error


def open_table(one: Input, version: int | None = None) -> LanceTable:
    """Open a table that is an input."""
    return LanceTable.open(one.place.path, version=version, filesystem=one.place.filesystem)


def _same(found: pa.Schema, facts: Facts, one: Input) -> None:
    if not found.equals(facts.schema):
        raise CorruptFileError("the file became another one while it was converted", path=one.name)


@contextmanager
def _parquet(one: Input) -> Iterator[pq.ParquetFile]:
    is_local = isinstance(one.place.filesystem, LocalFileSystem)
    most = _BUFFER_BYTES if is_local else _REMOTE_BUFFER_BYTES
    with open_file(one.place) as file:
        metadata = pq.read_metadata(file)
        buffer_bytes = max(_MIN_BUFFER_BYTES, min(most, _ALL_BUFFERS_BYTES // max(1, metadata.num_columns)))
        with pq.ParquetFile(file, metadata=metadata, buffer_size=buffer_bytes, pre_buffer=False) as parquet:
            yield parquet


def _read_parquet(one: Input, facts: Facts, columns: Sequence[str]) -> Iterator[Part]:
    with _parquet(one) as parquet:
        _same(parquet.schema_arrow, facts, one)
        metadata = parquet.metadata
        stored_rows = max(1, metadata.num_rows)
        # Encoded text is shorter than decoded text: what a batch took before is the better guide.
        row_bytes = 1.0
        done_rows = 0
        for group in range(metadata.num_row_groups):
            about = metadata.row_group(group)
            row_bytes = max(row_bytes, about.total_byte_size / max(1, about.num_rows))
            rows = max(1, min(BATCH_ROWS, int(BATCH_BYTES / row_bytes)))
            for batch in parquet.iter_batches(rows, row_groups=[group], columns=list(columns)):
                done_rows += batch.num_rows
                row_bytes = max(row_bytes, batch.nbytes / max(1, batch.num_rows))
                yield batch, _share(one.size_bytes, done_rows, stored_rows)


def _read_ipc(one: Input, facts: Facts, columns: Sequence[str]) -> Iterator[Part]:
    with open_file(one.place) as file:
        found = pa.ipc.open_file(file)
        _same(found.schema, facts, one)
        for number in range(found.num_record_batches):
            done = _share(one.size_bytes, number + 1, found.num_record_batches)
            for piece in _pieces(found.get_batch(number)):
                yield piece, done


def _read_stream(one: Input, facts: Facts, columns: Sequence[str]) -> Iterator[Part]:
    with open_file(one.place) as file:
        found = pa.ipc.open_stream(file)
        _same(found.schema, facts, one)
        for batch in found:
            done = file.tell()
            for piece in _pieces(batch):
                yield piece, done


def _read_orc(one: Input, facts: Facts, columns: Sequence[str]) -> Iterator[Part]:
    with open_file(one.place) as file:
        found = orc.ORCFile(file)
        _same(found.schema, facts, one)
        for number in range(found.nstripes):
            done = _share(one.size_bytes, number + 1, found.nstripes)
            for piece in _pieces(found.read_stripe(number)):
                yield piece, done


def _read_csv(one: Input, facts: Facts, columns: Sequence[str]) -> Iterator[Part]:
    return csv_batches(one, facts.schema)


def _read_json(one: Input, facts: Facts, columns: Sequence[str]) -> Iterator[Part]:
    return json_batches(one, facts.schema)


def _read_lance(one: Input, facts: Facts, columns: Sequence[str]) -> Iterator[Part]:
    with LanceFile(one.place) as found:
        _same(found.schema, facts, one)
        done = 0
        for batch in found.to_batches(_top_level(found.schema, columns), BATCH_ROWS):
            done += batch.num_rows
            yield batch, _share(one.size_bytes, done, found.num_rows)


def _read_table(one: Input, facts: Facts, columns: Sequence[str]) -> Iterator[Part]:
    table = open_table(one, facts.version)
    done = 0
    for batch in table.to_batches(_top_level(table.schema, columns), batch_size=BATCH_ROWS):
        done += batch.num_rows
        yield batch, _share(facts.size_bytes, done, max(1, facts.num_rows or 0))


def _top_level(schema: pa.Schema, columns: Sequence[str]) -> list[str] | None:
    return None if list(columns) == schema.names else list(columns)


def _pieces(rows: Any) -> Iterator[pa.RecordBatch]:
    for start in range(0, rows.num_rows, BATCH_ROWS):
        yield rows.slice(start, BATCH_ROWS)


def _share(size_bytes: int | None, done: int, of: int) -> int:
    return 0 if size_bytes is None else size_bytes * done // max(1, of)


def check_names(schema: pa.Schema, *, path: str) -> None:
    """Refuse a name that two columns have.

    Raises
    ------
    InvalidArgumentError
        There is one.
    """
    seen: set[str] = set()
    for name in schema.names:
        if name in seen:
            raise InvalidArgumentError(f"two columns have the name {name!r}", column=name, path=path)
        seen.add(name)
