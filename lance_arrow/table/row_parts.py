"""`parted_rows`: rows in parts that fit in memory; each part has a range of the values of a column to itself.

fits ──► one part, in memory
else ──► temporary file ──► borders from a sample of the column ──► a file for each range of values ──► parts
"""

from __future__ import annotations

import posixpath
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.files.batch_inputs import Rows
from lance_arrow.scan.predicates import all_of
from lance_arrow.statistics.zone_types import has_order

_SAMPLED_ROWS = 1 << 16
_MOST_PARTS = 512
"""Most files that are written at once."""


@dataclass(frozen=True, slots=True)
class RowPart:
    """Rows whose values of a column no other part has.

    Parameters
    ----------
    within
        Condition that holds exactly for the rows with a value of the part's range; None if there is one part. Parts
        ascend; NaN and nulls are in the last one.
    held
        The rows in one chunk, or the path of a file in Arrow's stream format that holds them.
    """

    within: pc.Expression | None
    held: pa.Table | str

    def rows(self) -> pa.Table:
        """Return the rows in one chunk, in their order."""
        if isinstance(self.held, pa.Table):
            return self.held
        with pa.OSFile(self.held) as file, pa.ipc.open_stream(file) as stream:
            return stream.read_all().combine_chunks()


@contextmanager
def parted_rows(
    rows: Iterator[Rows], schema: pa.Schema, by: str | None, most_bytes: int
) -> Iterator[Sequence[RowPart]]:
    """Hold rows in memory, or in temporary files that are removed at the end.

    Parameters
    ----------
    rows, schema
        The rows; they are read once.
    by
        Column of a type that `parts_rows` accepts; its ranges divide rows that take more memory. None: one part in
        memory, of any size.
    most_bytes
        Most bytes of a part, about. Rows of one value stay together, in their order.

    Raises
    ------
    OSError
        The temporary files cannot be written.
    """
    batches = _batches(rows)
    held: list[pa.RecordBatch] = []
    num_bytes = 0
    for batch in batches:
        held.append(batch)
        num_bytes += batch.nbytes
        if num_bytes > most_bytes and by is not None:
            break
    else:
        yield [RowPart(None, pa.Table.from_batches(held, schema).combine_chunks())]
        return
    with tempfile.TemporaryDirectory(prefix="lance-arrow-rows-") as folder:
        # Batches are freed one by one, while they are written.
        held.reverse()
        whole = posixpath.join(folder, "whole")
        num_bytes, sample = _spill(_drained(held, batches), schema, whole, by)
        borders = _borders(sample, min(_MOST_PARTS, -(-num_bytes // most_bytes)))
        yield _parted(folder, whole, schema, by, borders)


def parts_rows(type_: pa.DataType) -> bool:
    """Whether ranges of values of a type can part rows."""
    return not isinstance(type_, pa.BaseExtensionType | pa.DictionaryType) and has_order(type_)


def _batches(rows: Iterator[Rows]) -> Iterator[pa.RecordBatch]:
    for one in rows:
        yield from one.to_batches() if isinstance(one, pa.Table) else (one,)


def _drained(held: list[pa.RecordBatch], following: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, the last of `held` first, and forget them."""
    while held:
        yield held.pop()
    yield from following


def _spill(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, path: str, by: str
) -> tuple[int, pa.Array | pa.ChunkedArray]:
    """Write rows to a file; return their bytes in memory, and a sample of a column without nulls."""
    random = np.random.default_rng(0)
    sample = pa.chunked_array([], schema.field(by).type)
    num_bytes = num_rows = 0
    with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
            num_bytes += batch.nbytes
            num_rows += batch.num_rows
            values = batch.column(by)
            # Of each batch as many as its share of the rows so far: every row is as likely to stay.
            share = min(len(values), -(-_SAMPLED_ROWS * len(values) // max(1, num_rows)))
            chosen = values.take(pa.array(random.choice(len(values), share, replace=False)))
            kept = min(len(sample), _SAMPLED_ROWS - share)
            stays = pa.array(random.choice(len(sample), kept, replace=False), pa.int64())
            sample = pa.chunked_array([sample.take(stays).combine_chunks(), chosen])
    return num_bytes, sample.drop_null()


def _borders(sample: pa.Array | pa.ChunkedArray, num_parts: int) -> list[pa.Scalar]:
    """Return different values, ascending, that cut a sample into parts of about as many rows."""
    if not len(sample):
        return []
    ordered = sample.take(pc.sort_indices(sample))
    places = np.arange(1, num_parts) * len(ordered) // num_parts
    return list(pc.unique(ordered.take(pa.array(places)))) if len(places) else []


def _parted(folder: str, whole: str, schema: pa.Schema, by: str, borders: Sequence[pa.Scalar]) -> list[RowPart]:
    """Write the rows of a file into one for each range of values: up to a border, that included; nulls to the last."""
    paths = [posixpath.join(folder, str(number)) for number in range(len(borders) + 1)]
    with ExitStack() as opened:
        streams = [
            opened.enter_context(pa.ipc.new_stream(opened.enter_context(pa.OSFile(path, "wb")), schema))
            for path in paths
        ]
        with pa.OSFile(whole) as file, pa.ipc.open_stream(file) as stream:
            for batch in stream:
                _part(batch, by, borders, streams)
    field = pc.field(by)
    parts = []
    for number, path in enumerate(paths):
        above = field > borders[number - 1] if number else None
        below = field <= borders[number] if number < len(borders) else None
        within = all_of([above, below])
        if within is not None and below is None:
            within |= field.is_null()
        parts.append(RowPart(within, path))
    return parts


def _part(
    batch: pa.RecordBatch, by: str, borders: Sequence[pa.Scalar], streams: Sequence[pa.ipc.RecordBatchStreamWriter]
) -> None:
    """Write the rows of a batch to the streams of their ranges."""
    number = np.zeros(batch.num_rows, np.int64)
    for border in borders:
        number += ~pc.less_equal(batch.column(by), border).fill_null(False).to_numpy(zero_copy_only=False)
    for part in np.unique(number).tolist():
        streams[part].write_batch(batch.filter(pa.array(number == part)))
