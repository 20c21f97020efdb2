"""Written form of stable row ids and row versions: the smallest possible one.

few runs       a range for each
ascending      a bitmap over their range, or the numbers, if these are smaller
otherwise      the numbers, narrowed by a base
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lance_arrow.manifests.row_ids import parse_row_ids
from lance_arrow.proto.rowids_pb2 import EncodedU64Array, RowDatasetVersionSequence, RowIdSequence
from lance_arrow.proto.table_pb2 import DataFragment

Ids = NDArray[np.uint64]
# A range takes about as many bytes as this many numbers of 16 bits.
_NUMBERS_PER_RANGE = 4
_MOST_RANGES = 1024


def encode_row_ids(ids: Ids) -> bytes:
    """Serialize row ids.

    Parameters
    ----------
    ids
        ``(n,) uint64`` in row order.

    Returns
    -------
    bytes
        Source: lance.table.RowIdSequence.
    """
    message = RowIdSequence()
    starts, stops = _runs(ids)
    if len(starts) <= min(_MOST_RANGES, max(1, len(ids) // _NUMBERS_PER_RANGE)):
        for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
            segment = message.segments.add()
            segment.range.start = int(ids[start])
            segment.range.end = int(ids[stop - 1]) + 1
        return message.SerializeToString()
    segment = message.segments.add()
    low, high = int(ids.min()), int(ids.max())
    if not (ids[1:] > ids[:-1]).all():
        segment.array.CopyFrom(_array(ids, low, high))
        return message.SerializeToString()
    numbers = _array(ids, low, high)
    bitmap_bytes = -(-(high + 1 - low) // 8)
    if bitmap_bytes >= numbers.ByteSize():
        segment.sorted_array.CopyFrom(numbers)
        return message.SerializeToString()
    flags = np.zeros(high + 1 - low, bool)
    flags[(ids - np.uint64(low)).astype(np.int64)] = True
    segment.range_with_bitmap.start = low
    segment.range_with_bitmap.end = high + 1
    segment.range_with_bitmap.bitmap = np.packbits(flags, bitorder="little").tobytes()
    return message.SerializeToString()


def encode_row_versions(versions: Ids) -> bytes:
    """Serialize the versions in which rows were created or changed.

    Parameters
    ----------
    versions
        ``(n,) uint64`` in row order.

    Returns
    -------
    bytes
        Source: lance.table.RowDatasetVersionSequence.
    """
    message = RowDatasetVersionSequence()
    borders = np.flatnonzero(np.diff(versions)) + 1
    starts = np.concatenate([np.zeros(1, np.int64), borders]) if len(versions) else borders
    for start, stop in zip(starts.tolist(), [*borders.tolist(), len(versions)], strict=False):
        run = message.runs.add(version=int(versions[start]))
        run.span.range.end = stop - start
    return message.SerializeToString()


def number_rows(fragment: DataFragment, first: int, version: int) -> int:
    """Assign ids to rows of a new fragment without an id; they follow the rows that have one.

    Parameters
    ----------
    fragment
        Changed in place. Rows with existing ids already have them, and the versions in which they were created.
    first
        The first id that was never used.
    version
        Number of the new version.

    Returns
    -------
    int
        Number of assigned ids.
    """
    ids = RowIdSequence.FromString(fragment.inline_row_ids)
    created = RowDatasetVersionSequence.FromString(fragment.inline_created_at_versions)
    num_kept = sum(run.span.range.end for run in created.runs)
    if num_kept:
        parse_row_ids(fragment.inline_row_ids, num_kept)
    num_new = fragment.physical_rows - num_kept
    if num_new or not ids.segments:
        segment = ids.segments.add()
        segment.range.start, segment.range.end = first, first + num_new
        run = created.runs.add(version=version)
        run.span.range.end = num_new
    updated = RowDatasetVersionSequence()
    run = updated.runs.add(version=version)
    run.span.range.end = fragment.physical_rows
    fragment.inline_row_ids = ids.SerializeToString()
    fragment.inline_created_at_versions = created.SerializeToString()
    fragment.inline_last_updated_at_versions = updated.SerializeToString()
    return num_new


def keep_rows(fragments: Iterator[DataFragment] | list[DataFragment], ids: Ids, created: Ids) -> None:
    """Assign ids and creation versions from other fragments to the first rows of new fragments.

    Parameters
    ----------
    fragments
        In row order; changed in place.
    ids, created
        ``(n,) uint64``: values of the first `n` rows of all fragments together.
    """
    start = 0
    for fragment in fragments:
        stop = min(len(ids), start + fragment.physical_rows)
        if start < stop:
            fragment.inline_row_ids = encode_row_ids(ids[start:stop])
            fragment.inline_created_at_versions = encode_row_versions(created[start:stop])
        start = stop


def _runs(ids: Ids) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start and end of runs of consecutive ids."""
    if not len(ids):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    borders = np.flatnonzero(ids[1:] != ids[:-1] + np.uint64(1)) + 1
    return np.concatenate([np.zeros(1, np.int64), borders]), np.append(borders, len(ids))


def _array(ids: Ids, low: int, high: int) -> EncodedU64Array:
    message = EncodedU64Array()
    span = high - low
    if span < 1 << 32:
        narrow = message.u16_array if span < 1 << 16 else message.u32_array
        narrow.base = low
        narrow.offsets = (ids - np.uint64(low)).astype("<u2" if span < 1 << 16 else "<u4").tobytes()
    else:
        message.u64_array.values = ids.astype("<u8").tobytes()
    return message
