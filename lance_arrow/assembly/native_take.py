"""Few rows of many columns by the native engine: one call reads and opens all of them, without a Python object per page.

Leaves whose pages, codecs and schema nodes the engine knows are read here, from sources that native code can read
itself; whatever it refuses is left to `RowReader.read`, which reads the same rows and can name what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.assembly.arrays import DecodedLeaf
from lance_arrow.assembly.column_destination import LeafBuffers
from lance_arrow.assembly.column_tree import LeafNode
from lance_arrow.assembly.unravel import NodeStructure
from lance_arrow.io import MeteredSource, Positional, ReadStats
from lance_arrow.kernels import native
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Limits
from lance_arrow.spi import FixedSizeList, HasNativePage, PageIndex, RowRanges, VariableWidth
from lance_arrow.spi.pages import value_bits

# Below this many rows of leaves a second thread costs more than it saves.
_ROWS_PER_PART = 1500


@dataclass(frozen=True, slots=True, eq=False)
class LeafPages:
    """A leaf, and of its pages that hold wanted rows: first row, place and size of each buffer, and index."""

    leaf: LeafNode
    pages: list[tuple[int, NDArray[np.int64], NDArray[np.int64], PageIndex | None]]


def engine_reads(leaf: LeafNode) -> bool:
    """Whether the schema side of a leaf is one the engine knows; its pages may still not be."""
    return (
        leaf.refusal is None
        and leaf.leaf.items is None
        and leaf.lengths_per_row == 1
        and leaf.tells_ancestors
        and value_bits(leaf.leaf.shape) is not None
    )


def take_leaves(
    wanted: Sequence[LeafPages], rows: RowRanges, source: MeteredSource, runtime: Runtime, pool: pa.MemoryPool | None
) -> dict[int, DecodedLeaf]:
    """Read rows of leaves natively.

    Parameters
    ----------
    wanted
        Leaves that `engine_reads`, with their pages.
    rows
        Rows of the file, not empty.
    source
        Where the file is.
    runtime
        Threads and limits.
    pool
        Arrow memory pool of the result; the default one when None.

    Returns
    -------
    dict
        Leaves by physical column: those that could be read.
    """
    place = source.positional()
    if place is None:
        return {}
    limits = runtime.settings.limits
    parts = _parts(rows, len(wanted), runtime.settings.num_threads)
    takes = []
    for one in wanted:
        take = _leaf_take(one, parts, limits, pool)
        if take is not None:
            takes.append((one.leaf, take))
    leaves = [take for _, take in takes]
    if not leaves or not _run(leaves, parts, place, source, runtime):
        return {}
    decoded = {}
    for leaf, take in takes:
        done = _finished(leaf, take, limits, pool)
        if done is not None:
            decoded[leaf.column] = done
    return decoded


def _leaf_take(
    wanted: LeafPages, parts: Sequence[RowRanges], limits: Limits, pool: pa.MemoryPool | None
) -> native.LeafTake | None:
    bits = value_bits(wanted.leaf.leaf.shape)
    pages = []
    for first_row, offsets, sizes, index in wanted.pages:
        page = index.native if isinstance(index, HasNativePage) else None
        if page is None or page.value_bits != bits:
            return None
        buffer = page.data_buffer
        pages.append((page, first_row, int(offsets[buffer]), int(sizes[buffer])))
    take = native.LeafTake(pages, wanted.leaf.offset_bits, bits, limits.max_batch_bytes, len(parts))
    if bits and bits % 8 == 0 and not any(wanted.leaf.offset_bits):
        # Every row is a value of known size: it is decoded where Arrow wants it.
        width = bits // 8
        stops = np.cumsum([part.num_rows for part in parts]).tolist()
        limits.check("max_batch_bytes", stops[-1] * width)
        buffer = pa.allocate_buffer(stops[-1] * width, memory_pool=pool)
        start = 0
        for number, stop in enumerate(stops):
            take.lend(number, buffer, start * width, stop * width)
            start = stop
    return take


def _parts(rows: RowRanges, num_leaves: int, num_threads: int) -> list[RowRanges]:
    """Cut the rows into about equal parts, one per thread, where there are enough of them."""
    num_rows = rows.num_rows
    count = min(num_threads, num_rows * num_leaves // _ROWS_PER_PART, num_rows)
    if count < 2:
        return [rows]
    before = np.concatenate(([0], np.cumsum(rows.stops - rows.starts)))
    parts = []
    start = 0
    for number in range(count):
        stop = num_rows * (number + 1) // count
        first = int(np.searchsorted(before, start, side="right")) - 1
        last = int(np.searchsorted(before, stop, side="left"))
        starts, stops = rows.starts[first:last].copy(), rows.stops[first:last].copy()
        starts[0] += start - before[first]
        stops[-1] -= before[last] - stop
        parts.append(RowRanges(starts, stops))
        start = stop
    return parts


def _run(
    leaves: list[native.LeafTake],
    parts: Sequence[RowRanges],
    place: Positional,
    source: MeteredSource,
    runtime: Runtime,
) -> bool:
    """Read all parts of all leaves; False when one was refused."""

    def run(number: int) -> tuple[str | None, NDArray[np.int64]]:
        counts = np.zeros(4, np.int64)
        part = parts[number]
        refusal = native.run_leaves(
            leaves, number, part.starts, part.stops, place.descriptor, place.memory, place.size_bytes, counts
        )
        return refusal, counts

    results = runtime.side_by_side(run, range(len(parts)))
    requests, ranges, wanted, fetched = (sum(counts[n] for _, counts in results) for n in range(4))
    source.add(
        ReadStats(
            waves=1,
            requests=int(requests),
            ranges_wanted=int(ranges),
            bytes_wanted=int(wanted),
            bytes_fetched=int(fetched),
        )
    )
    return all(refusal is None for refusal, _ in results)


def _finished(leaf: LeafNode, take: native.LeafTake, limits: Limits, pool: pa.MemoryPool | None) -> DecodedLeaf | None:
    def allocate(size: int) -> pa.Buffer:
        return pa.allocate_buffer(limits.check("max_batch_bytes", size), memory_pool=pool)

    shape = leaf.leaf.shape
    done = native.finish_leaf(take, shape.offset_bits if isinstance(shape, VariableWidth) else 0, allocate)
    if isinstance(done, str):
        return None
    num_values, values, offsets, nodes = done
    layers = 0
    inner = shape
    while isinstance(inner, FixedSizeList):
        layers, inner = layers + 1, inner.items
    buffers = LeafBuffers(shape, num_values, values, offsets, (None,) * layers)
    return DecodedLeaf(buffers, tuple(NodeStructure(*node) for node in nodes))
