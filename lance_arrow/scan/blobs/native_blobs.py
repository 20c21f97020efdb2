"""Few blobs of the data file read natively: one call lays them out, another reads them where Arrow wants them.

Other sources, sidecars, addresses, more bytes than one piece, and faulty places are left to `scan.blobs.blob_reader`.
It reads the same blobs and raises the exact errors.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import engine
from lance_arrow.arrays.blob_fields import PLACE_TYPE
from lance_arrow.arrays.column_destination import Allocator
from lance_arrow.arrays.column_tree import storage_type
from lance_arrow.io import MeteredSource, Positional
from lance_arrow.runtime import Runtime

_INT32_MAX = np.iinfo(np.int32).max
# Below this many bytes a second thread costs more than it saves.
_BYTES_PER_PART = 2 << 20

BlobLimits: TypeAlias = tuple[int, int, int]


def blob_limits(data_stop: int, runtime: Runtime) -> BlobLimits:
    """Return the end of a file's values, and the most bytes of blobs for one take and for one thread."""
    settings = runtime.settings
    return data_stop, min(settings.blob_piece_bytes, settings.limits.max_batch_bytes, _INT32_MAX), 2 * _BYTES_PER_PART


def read_blobs(
    descriptors: pa.StructArray,
    type_: pa.DataType,
    source: MeteredSource,
    data_stop: int,
    most_bytes: int,
    runtime: Runtime,
    pool: pa.MemoryPool | None = None,
) -> pa.Array | None:
    """Read the blobs of one column.

    Parameters
    ----------
    descriptors
        Of `PLACE_TYPE` or `DESCRIPTOR_TYPE`.
    type_
        What callers see: a type of bytes of any length.
    source
        The data file.
    data_stop
        Where its values end.
    most_bytes
        More blobs than that are not read here.
    runtime
        Threads and limits.
    pool
        Arrow memory pool of the result; the default one when None.

    Returns
    -------
    Array or None
        None where the blobs are to be read another way, or are refused there.
    """
    place = source.positional()
    if place is None or descriptors.offset:
        return None
    storage = storage_type(type_)
    width = 4 if pa.types.is_binary(storage) else 8
    most = min(most_bytes, runtime.settings.limits.max_batch_bytes, _INT32_MAX if width == 4 else most_bytes)
    allocator = Allocator(runtime.settings.limits, pool)
    first = 0 if descriptors.type == PLACE_TYPE else 1
    positions, sizes = _numbers(descriptors, first), _numbers(descriptors, first + 1)
    kinds = _numbers(descriptors, 0) if first else None
    has_nulls = descriptors.null_count > 0
    validity = descriptors.buffers()[0] if has_nulls else None
    bitmap = None if validity is None else np.frombuffer(validity, np.uint8)
    offset_buffer, offsets = allocator.allocate((len(descriptors) + 1) * width)
    num_bytes = engine.lay_out_blobs(positions, sizes, kinds, bitmap, data_stop, most, offsets, 8 * width)
    if num_bytes < 0:
        return None
    buffer, values = allocator.allocate(num_bytes)
    laid_out = (positions, offsets, 8 * width)
    if num_bytes and not read_laid_out(laid_out, values, place, source, runtime):
        return None
    array = pa.Array.from_buffers(
        storage, len(descriptors), [validity, offset_buffer, buffer], descriptors.null_count if has_nulls else 0
    )
    return type_.wrap_array(array) if isinstance(type_, pa.BaseExtensionType) else array


def _numbers(descriptors: pa.StructArray, field: int) -> NDArray[np.unsignedinteger]:
    """One field, of nulls too: they are told by the bitmap."""
    values: NDArray[np.unsignedinteger] = descriptors.field(field).to_numpy(zero_copy_only=False)
    return values


def read_laid_out(
    laid_out: tuple[NDArray[np.unsignedinteger], NDArray[np.uint8], int],
    values: NDArray[np.uint8],
    place: Positional,
    source: MeteredSource,
    runtime: Runtime,
) -> bool:
    """Read blobs into `values`, by several threads where they are large; False when one was refused.

    `laid_out` are positions, offsets and the width of these.
    """

    def run(part: tuple[int, int]) -> tuple[str | None, int, int, int, int]:
        descriptor, memory, size_bytes, checks = place.descriptor, place.memory, place.size_bytes, place.checks
        return engine.read_blobs(*laid_out, *part, values, descriptor, memory, size_bytes, checks)

    begun = time.perf_counter()
    _, offsets, offset_bits = laid_out
    results = runtime.side_by_side(run, _parts(offsets.view(f"i{offset_bits // 8}"), runtime.settings.num_threads))
    seconds = time.perf_counter() - begun
    for number, (_, requests, ranges, wanted, fetched) in enumerate(results):
        # All parts are one wave: it is counted with the first.
        source.add(requests, ranges, wanted, fetched, seconds if number == 0 else 0.0, waves=int(number == 0))
    return all(refused is None for refused, *_ in results)


def _parts(offsets: NDArray[np.signedinteger], num_threads: int) -> Sequence[tuple[int, int]]:
    """Cut blobs into parts of about the same bytes, where these are worth a thread."""
    num_bytes, last = int(offsets[-1]), len(offsets) - 1
    count = min(num_threads, num_bytes // _BYTES_PER_PART, last)
    if count < 2:
        return [(0, last)]
    cuts = np.searchsorted(offsets, [num_bytes * part // count for part in range(1, count)]).tolist()
    return list(zip([0, *cuts], [*cuts, last], strict=True))
