"""Split a leaf into pages of whole rows with limited size; arrays are sliced without a copy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.leaf_path import buffer_view, offsets_of, path_to_leaf, storage_array
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi.leaf_type import NodeKind

DEFAULT_PAGE_BYTES = 8 << 20
MAX_PAGE_BYTES = (1 << 31) - 1
"""Values of one page fit 32-bit offsets, unless a single row does not."""
MAX_PAGE_LEVELS = 1 << 25
"""Most level entries of a page; far below what 32 bits count, to limit memory."""

_OFFSET_BYTES = {pa.string().id: 4, pa.binary().id: 4, pa.large_string().id: 8, pa.large_binary().id: 8}
_VIEWS = (pa.string_view().id, pa.binary_view().id)
ARRAY_BYTES = 512
"""Memory that an array takes beside its buffers: objects of Python, of Arrow, and of the allocator."""
_JOINED_BYTES = 1 << 13
"""Most bytes of arrays that are joined while they wait: longer ones take more time to copy than memory."""
_VIEW_WORDS = 4


class _Extent:
    """Counts bytes and level entries of a leaf in ranges of rows of one array, those under nulls included."""

    def __init__(self, leaf: LeafNode, array: pa.Array) -> None:
        *self._above, last = path_to_leaf(leaf, array)
        self._num_rows = len(array)
        self.leaf_array = last.array
        self._weigh = _weigher(last.array)

    def weigh(self, start: int, stop: int) -> tuple[int, int]:
        """Return bytes and level entries of rows ``start .. stop``."""
        num_levels = stop - start
        for node in self._above:
            first, last = node.items(start, stop)
            num_levels = node.most_levels(num_levels, last - first)
            start, stop = first, last
        return self._weigh(start, stop), num_levels

    def rows_within(self, start: int, max_bytes: int, max_levels: int) -> int:
        """Return how many rows from `start` on stay within both limits; may be 0."""
        low, high = 0, self._num_rows - start
        while low < high:
            middle = (low + high + 1) // 2
            num_bytes, num_levels = self.weigh(start, start + middle)
            if num_bytes <= max_bytes and num_levels <= max_levels:
                low = middle
            else:
                high = middle - 1
        return low


def _weigher(array: pa.Array) -> Callable[[int, int], int]:
    """Return a function that counts the bytes of slots ``start .. stop`` of an array without nested columns."""
    array = storage_array(array)
    type_ = array.type
    if isinstance(type_, pa.DictionaryType):
        return _weigher(array.indices)
    if isinstance(type_, pa.StructType):
        parts = [_weigher(array.field(number)) for number in range(type_.num_fields)]
        return lambda start, stop: sum(part(start, stop) for part in parts)
    if isinstance(type_, pa.FixedSizeListType):
        items = _weigher(array.values)
        base, size = array.offset * type_.list_size, type_.list_size
        return lambda start, stop: items(base + start * size, base + stop * size)
    width_bytes = _OFFSET_BYTES.get(type_.id)
    if width_bytes is not None:
        offsets = offsets_of(array, width_bytes)
        return lambda start, stop: int(offsets[stop]) - int(offsets[start]) + (stop - start) * width_bytes
    if type_.id in _VIEWS:
        ends = _view_ends(array)
        return lambda start, stop: int(ends[stop] - ends[start]) + (stop - start) * 4
    if pa.types.is_null(type_):
        return lambda start, stop: 0
    return lambda start, stop: ((stop - start) * type_.bit_width + 7) // 8


def _view_ends(array: pa.Array) -> np.ndarray:
    """Return cumulative lengths of views, the only type without offsets, which must be scanned."""
    words = buffer_view(array.buffers()[1]).view(np.int32).reshape(-1, _VIEW_WORDS)
    lengths = words[array.offset : array.offset + len(array), 0]
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _is_joined_fast(type_: pa.DataType) -> bool:
    """Return whether Arrow joins arrays of a type by copying their buffers."""
    types = pa.types
    return types.is_primitive(type_) or types.is_fixed_size_binary(type_) or type_.id in _OFFSET_BYTES


def leaf_bytes(leaf: LeafNode, array: pa.Array) -> int:
    """Return the bytes of a leaf in a chunk of its top-level column, without a scan.

    Counts values, and the offsets of variable-width ones, also under nulls; the structure above the leaf is not
    counted.

    Raises
    ------
    InvalidArgumentError
        The nesting of the array differs from the leaf's.
    """
    return _Extent(leaf, array).weigh(0, len(array))[0]


def rows_within(leaf: LeafNode, array: pa.Array, max_bytes: int, max_levels: int = MAX_PAGE_LEVELS) -> int:
    """Return how many leading rows of `array` hold at most `max_bytes` of the leaf and `max_levels` level entries.

    Returns 1 if the first row exceeds a limit, 0 for no rows. O(depth log rows).
    """
    return max(min(1, len(array)), _Extent(leaf, array).rows_within(0, max_bytes, max_levels))


class _HeldDictionaries:
    """Checks whether the dictionaries of a page's chunks certainly fit its index type after they are unified."""

    def __init__(self, leaf: LeafNode) -> None:
        self._most_items = 1 << (
            leaf.storage.index_type.bit_width - pa.types.is_signed_integer(leaf.storage.index_type)
        )
        self._last: pa.Array | None = None
        self._num_items = 0

    def take(self, array: pa.Array, *, anew: bool) -> bool:
        """Count the items of another chunk; returns whether it may share the page with earlier chunks."""
        if not isinstance(array, pa.DictionaryArray):
            raise InvalidArgumentError(f"an array of type {array.type}, expected a dictionary")
        items = array.dictionary
        if anew:
            self._last, self._num_items = items, len(items)
            return True
        if not items.equals(self._last):
            self._last, self._num_items = items, self._num_items + len(items)
        return self._num_items <= self._most_items


class LeafPages:
    """Collects chunks of a top-level column into the pages of one leaf.

    Parameters
    ----------
    leaf
        The leaf.
    page_bytes
        Most bytes of the leaf in a page, 1 to 2^31 - 1; a single row that holds more is a page of its own.
    max_levels
        Most level entries in a page, with the same exception.

    Raises
    ------
    InvalidArgumentError
        A limit is out of range.
    """

    def __init__(self, leaf: LeafNode, page_bytes: int = DEFAULT_PAGE_BYTES, max_levels: int = MAX_PAGE_LEVELS) -> None:
        if not 1 <= page_bytes <= MAX_PAGE_BYTES:
            raise InvalidArgumentError(f"page_bytes is {page_bytes}, expected 1 to {MAX_PAGE_BYTES}")
        if not 1 <= max_levels <= MAX_PAGE_LEVELS:
            raise InvalidArgumentError(f"max_levels is {max_levels}, expected 1 to {MAX_PAGE_LEVELS}")
        self._leaf, self._page_bytes, self._max_levels = leaf, page_bytes, max_levels
        self._held: list[pa.Array] = []
        self._held_bytes = self._held_levels = 0
        self._dictionaries = _HeldDictionaries(leaf) if leaf.leaf.items is not None else None
        self._may_join = leaf.leaf.nodes == (NodeKind.ITEM,) and _is_joined_fast(leaf.field.type)

    @property
    def held_bytes(self) -> int:
        """Bytes of the leaf that are not in a full page yet."""
        return self._held_bytes

    @property
    def memory_bytes(self) -> int:
        """Memory of the rows that are not in a full page yet, the objects of their arrays included."""
        return self._held_bytes + ARRAY_BYTES * len(self._held)

    @property
    def held_rows(self) -> int:
        """Rows that are not in a full page yet."""
        return sum(map(len, self._held))

    def add(self, array: pa.Array) -> list[list[pa.Array]]:
        """Add a chunk; returns the pages that became full, each as slices of consecutive chunks.

        Raises
        ------
        InvalidArgumentError
            The nesting of the array differs from the leaf's.
        """
        if len(array) == 0:
            return []
        extent = _Extent(self._leaf, array)
        pages: list[list[pa.Array]] = []
        if self._dictionaries is not None and not self._dictionaries.take(extent.leaf_array, anew=not self._held):
            pages.append(self.rest())
            self._dictionaries.take(extent.leaf_array, anew=True)
        start = 0
        while start < len(array):
            room_bytes, room_levels = self._page_bytes - self._held_bytes, self._max_levels - self._held_levels
            num_bytes, num_levels = extent.weigh(start, len(array))
            if num_bytes <= room_bytes and num_levels <= room_levels:
                self._hold(array.slice(start), num_bytes, num_levels)
                break
            num_rows = extent.rows_within(start, room_bytes, room_levels)
            if num_rows == 0 and not self._held:
                num_rows = 1
            if num_rows:
                self._hold(array.slice(start, num_rows), 0, 0)
                start += num_rows
            pages.append(self.rest())
        return pages

    def join(self) -> None:
        """Join short arrays that wait, if their type allows it: each takes `ARRAY_BYTES` beside its values.

        Each value is copied a few times at most: an array is joined with the one before it if that is not much longer.
        """
        held = self._held
        if not self._may_join or len(held) < 2:
            return
        sizes = [array.nbytes for array in held[-2:]]
        while len(held) > 1 and sizes[-2] <= 2 * sizes[-1] and sum(sizes[-2:]) <= _JOINED_BYTES:
            held[-2:] = [pa.concat_arrays(held[-2:])]
            sizes = [held[-2].nbytes if len(held) > 1 else 0, sum(sizes[-2:])]

    def _hold(self, array: pa.Array, num_bytes: int, num_levels: int) -> None:
        self._held.append(array)
        self._held_bytes += num_bytes
        self._held_levels += num_levels

    def rest(self) -> list[pa.Array]:
        """Return the remaining rows as a last page, which may be empty, and reset."""
        page, self._held = self._held, []
        self._held_bytes = self._held_levels = 0
        return page
