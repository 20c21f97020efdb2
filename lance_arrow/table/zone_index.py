"""`create_zone_index`: a ZONEMAP index as the reference writes it: bounds of a column, zone by zone of each fragment.

Source: table-format 12.1. Zones hold live rows; a zone's span may hold rows that were deleted before.
"""

from __future__ import annotations

import posixpath
import time
import uuid
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyroaring
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import storage_type
from lance_arrow.choices import FileVersionName
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.lance_writer import LanceWriter
from lance_arrow.io import make_folder
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.zone_indices import INDICES, ZONE_FILE
from lance_arrow.proto.table_pb2 import IndexMetadata, ZoneMapIndexDetails
from lance_arrow.scan.fragments.fragment_rows import ADDRESS_BITS
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.statistics.zone_types import has_order
from lance_arrow.table.field_paths import field_at
from lance_arrow.table.operations.indices import CreateIndex
from lance_arrow.table.row_deletion import ADDRESS, check_addresses_shown
from lance_arrow.table.writable_branch import ReaderOf, WritableBranch
from lance_arrow.table.written_files import WrittenFiles

_TYPE_URL = "/lance.table.ZoneMapIndexDetails"
ZONE_FILE_VERSION: FileVersionName = "2.1"


def create_zone_index(
    target: WritableBranch,
    base: ManifestMeta,
    reader_of: ReaderOf,
    column: str,
    *,
    rows_per_zone: int,
    name: str | None,
    message: str | None,
) -> ManifestMeta:
    """Make an index; arguments are those of `LanceTable.create_zone_map`."""
    if not isinstance(rows_per_zone, int) or isinstance(rows_per_zone, bool) or rows_per_zone < 1:
        raise InvalidArgumentError(f"rows_per_zone is {rows_per_zone!r}, expected an integer, at least 1")
    if name is not None and (not isinstance(name, str) or not name):
        raise InvalidArgumentError(f"name is {name!r}, expected text")

    def attempt(base: ManifestMeta, files: WrittenFiles) -> CreateIndex:
        field = field_at(base.fields, column)
        reader = reader_of(base)
        check_addresses_shown(reader)
        bounds = bounds_type(reader, column)
        own = uuid.uuid4()
        folder = posixpath.join(target.line.path, INDICES, str(own))
        make_folder(target.line.given, folder)
        place = target.line.at(posixpath.join(folder, ZONE_FILE))
        files.add(place)
        schema = zone_schema(bounds, rows_per_zone)
        with LanceWriter(place, schema, file_version=ZONE_FILE_VERSION, rows_per_zone=None) as writer:
            for rows in _zones(reader, column, rows_per_zone, schema):
                writer.write(rows)
        index = IndexMetadata(
            fields=[field.id],
            name=name or f"{column}_idx",
            dataset_version=base.version,
            fragment_bitmap=bytes(pyroaring.BitMap(fragment.id for fragment in base.fragments).serialize()),
            index_version=0,
            created_at=time.time_ns() // 1_000_000,
        )
        index.uuid.uuid = own.bytes
        index.index_details.type_url = _TYPE_URL
        index.index_details.value = ZoneMapIndexDetails(rows_per_zone=rows_per_zone).SerializeToString()
        index.files.add(path=ZONE_FILE, size_bytes=writer.num_bytes)
        replaced = [
            one for one in read_indices(target.line, base, target.settings.limits).indices if one.name == index.name
        ]
        return CreateIndex(new=[index], removed=replaced)

    return target.retried(base, attempt, message)


def drop_index(target: WritableBranch, base: ManifestMeta, name: str, message: str | None) -> ManifestMeta:
    """Drop an index; arguments are those of `LanceTable.drop_index`."""

    def attempt(base: ManifestMeta, files: WrittenFiles) -> CreateIndex:
        known = read_indices(target.line, base, target.settings.limits).indices
        found = [one for one in known if one.name == name]
        if not found:
            names = sorted({one.name for one in known})
            raise InvalidArgumentError(f"the table has no index {name!r}; indices: {names}", detail=name)
        return CreateIndex(removed=found)

    return target.retried(base, attempt, message)


def bounds_type(reader: TableReader, column: str) -> pa.DataType:
    """Return the type that bounds of a column have.

    Raises
    ------
    InvalidArgumentError
        Its values have none.
    """
    type_ = storage_type(reader.projection([column]).schema.field(0).type)
    if not has_order(type_) or pa.types.is_fixed_size_binary(type_) or pa.types.is_float16(type_):
        raise InvalidArgumentError(f"values of type {type_} have no zone map", column=column)
    return type_


def zone_schema(bounds: pa.DataType, rows_per_zone: int) -> pa.Schema:
    """Return the columns of the index's file."""
    counts = [("null_count", pa.uint32()), ("nan_count", pa.uint32()), ("fragment_id", pa.uint64()),
              ("zone_start", pa.uint64()), ("zone_length", pa.uint64())]  # fmt: skip
    return pa.schema(
        [("min", bounds), ("max", bounds), *(pa.field(name, type_, nullable=False) for name, type_ in counts)],
        metadata={"rows_per_zone": str(rows_per_zone)},
    )


def _zones(reader: TableReader, column: str, rows_per_zone: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the zones of each fragment."""
    batches = reader.batches(reader.projection([column, ADDRESS]), None, None, wants_all=True)
    for fragment, parts in groupby(_by_fragment(batches), key=itemgetter(0)):
        rows = []
        for values, offsets in _cut((part for _, part in parts), rows_per_zone):
            start = int(offsets[0])
            rows.append(zone_row(values, fragment, start, int(offsets[-1]) + 1 - start))
        yield zone_batch(rows, schema)


def _by_fragment(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Cut batches where fragments end; yield the id of the fragment with each part."""
    for batch in batches:
        owners = batch.column(1).to_numpy(zero_copy_only=False) >> np.uint64(ADDRESS_BITS)
        borders = np.flatnonzero(np.diff(owners)) + 1
        for start, stop in pairwise([0, *borders.tolist(), len(owners)]):
            if start < stop:
                yield int(owners[start]), batch.slice(start, stop - start)


def zone_row(values: pa.Array, fragment: int, start: int, length: int) -> list[object]:
    """Return the entry of a zone.

    Parameters
    ----------
    values
        Of its rows.
    fragment
        Id of its fragment.
    start, length
        Its span: physical rows of the fragment.
    """
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    return [*_bounded(values), fragment, start, length]


def zone_batch(rows: Sequence[Sequence[object]], schema: pa.Schema) -> pa.RecordBatch:
    """Return zones as rows of the index's file."""
    columns = list(zip(*rows, strict=True))
    arrays = [_scalars(columns[at], schema.field("min").type) for at in (0, 1)]
    arrays += [pa.array(one, field.type) for one, field in zip(columns[2:], list(schema)[2:], strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cut(batches: Iterator[pa.RecordBatch], rows_per_zone: int) -> Iterator[tuple[pa.Array, NDArray[np.int64]]]:
    """Yield values and offsets of as many rows as a zone has."""
    held: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            piece = batch.slice(start, rows_per_zone - count)
            held.append(piece)
            start += piece.num_rows
            count += piece.num_rows
            if count == rows_per_zone:
                yield _together(held)
                held, count = [], 0
    if count:
        yield _together(held)


def _together(held: list[pa.RecordBatch]) -> tuple[pa.Array, NDArray[np.int64]]:
    values = pa.concat_arrays([batch.column(0) for batch in held])
    addresses = np.concatenate([batch.column(1).to_numpy(zero_copy_only=False) for batch in held])
    return values, (addresses & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _bounded(values: pa.Array) -> tuple[pa.Scalar, pa.Scalar, int, int]:
    """Return bounds as the reference has them: where there is NaN, it is the upper one."""
    type_ = values.type
    nans = 0
    known = values
    if pa.types.is_floating(type_):
        is_nan = pc.fill_null(pc.is_nan(values), False)
        nans = int(pc.sum(is_nan).as_py() or 0)
        known = values.filter(pc.invert(is_nan)) if nans else values
    # Arrow has no bounds of durations.
    is_duration = pa.types.is_duration(type_)
    found = pc.min_max(known.cast(pa.int64()) if is_duration else known)
    low, high = (found[name].cast(type_) if is_duration else found[name] for name in ("min", "max"))
    if pa.types.is_floating(type_):
        # Zeros of both signs are equal, but not where bounds are compared bit by bit.
        low = pa.scalar(-0.0, type_) if low.as_py() == 0 else low
        high = pa.scalar(0.0, type_) if high.as_py() == 0 else high
    if nans:
        high = pa.scalar(float("nan"), type_)
    return low, high, values.null_count, nans


def _scalars(values: tuple[object, ...], type_: pa.DataType) -> pa.Array:
    parts = [pa.array([one], type_) if not isinstance(one, pa.Scalar) else pa.repeat(one, 1) for one in values]
    return pa.concat_arrays(parts)
