"""Rows of many columns by the native engine: one call finds, reads, opens and lays out all of them, without Python.

Leaves whose schema nodes, pages and codecs the engine knows are read here, from sources that native code can read. Of
rows that it refuses it says why and where, see `refused_rows`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import engine
from lance_arrow.arrays.arrow_arrays import DecodedLeaf
from lance_arrow.arrays.blob_fields import PLACE_TYPE
from lance_arrow.arrays.column_destination import LeafBuffers
from lance_arrow.arrays.column_tree import ItemJudge, LeafNode, storage_type
from lance_arrow.arrays.unravel import NodeStructure
from lance_arrow.io import MeteredSource, Positional, RangeSource
from lance_arrow.pages.value_rows import NO_VALUES, has_rows_of_any_length, list_parts, row_bits, struct_field_bytes
from lance_arrow.runtime import Runtime
from lance_arrow.scan.blobs.native_blobs import BlobLimits, read_laid_out
from lance_arrow.settings import Limits
from lance_arrow.spi import BlockShape, FixedSizeList, FixedWidth, PackedStruct, VariableWidth
from lance_arrow.spi.rows import RowRanges

if TYPE_CHECKING:
    from lance_arrow.scan.read_plan import ReadPlan

# Below this many rows of leaves a second thread costs more than it saves.
_ROWS_PER_PART = 1500

Pages: TypeAlias = list[
    tuple[engine.NativePage | None, int, NDArray[np.int64] | list[int], NDArray[np.int64] | list[int]]
]
"""Of the pages that hold wanted rows: the page, its first row, places and sizes of its buffers."""

Done: TypeAlias = tuple[int, Any, Any, list[Any]]
"""What the engine laid out of a leaf: `engine.ReadForms.take` says what each part is."""

Taken: TypeAlias = pa.RecordBatch | list[Done | None] | engine.Refusal
"""A batch. Or what was laid out of each leaf, None of those that could not be read. Or why rows were refused."""


# Not frozen: thousands are made of wide files, and making them so takes three times as long.
@dataclass(slots=True, eq=False)
class TakePlan:
    """Schema of a leaf, as the engine needs it.

    Parameters
    ----------
    leaf
        The leaf.
    value_bits, value_offset_bits
        Bits of a value, or 0 and the width of its offsets; `NO_VALUES` for leaves without values.
    item_validity
        One None for each fixed-size list around its items. Lists whose pages have bitmaps come as parts.
    field_bytes
        Of each field of a packed struct; nothing for others.
    plain_type
        The type of a column that is one array of values, with nothing around or inside; else None.
    blobs
        For a column of blobs that is taken as its bytes: its `BlobLimits`, and the width of offsets.
    kind
        Of `engine.KINDS`, where values are one buffer, or one with offsets, under their validity; else None.
    is_text
        Whether values, or items of dictionaries, are checked as UTF-8.
    form
        The form of its values, as `engine.ReadForms` takes it.
    list_parts
        Of fixed-size lists: bits of each part of a value, see `lance_arrow.pages.list_parts`.
    """

    leaf: LeafNode
    value_bits: int
    value_offset_bits: int
    item_validity: tuple[None, ...]
    field_bytes: tuple[int, ...]
    plain_type: pa.DataType | None
    blobs: tuple[int, int, int, int] | None = None
    kind: str | None = None
    is_text: bool = False
    form: str | ItemJudge | tuple[int, int, int] = "plain"
    list_parts: tuple[int, ...] = ()

    @classmethod
    def of(cls, leaf: LeafNode, blob_limits: BlobLimits | None = None) -> TakePlan | None:
        """Look at a leaf.

        Parameters
        ----------
        leaf
            The leaf.
        blob_limits
            As for `ReadPlan.of`.

        Returns
        -------
        TakePlan or None
            None for leaves that the engine does not read: fixed-size lists of structs, dictionaries of these. Also for
            blobs below other columns or in other files.
        """
        shape = leaf.leaf.shape
        bits = NO_VALUES if shape is None else row_bits(shape)
        if bits is None or leaf.refusal:
            return None
        if leaf.lengths_per_row != 1 and leaf.list_columns:
            return None
        form = _form_of(leaf)
        if form is None:
            return None
        is_column = len(leaf.offset_bits) == 1
        if blob_limits is not None and leaf.bytes_field is not None:
            if not is_column or leaf.field.type != PLACE_TYPE:
                return None
            type_ = leaf.bytes_field.type
            blobs = (*blob_limits, 32 if pa.types.is_binary(storage_type(type_)) else 64)
            return cls(leaf, bits, 0, (), (), type_, blobs)
        layers, type_ = _no_bitmaps(shape), leaf.field.type
        is_plain = bits > 0 and isinstance(shape, FixedWidth) and is_column and type_ == leaf.storage
        offset_bits = shape.offset_bits if isinstance(shape, VariableWidth) else 0
        offset_bits = 64 if has_rows_of_any_length(shape) else offset_bits
        is_bytes = offset_bits > 0 and is_column and (pa.types.is_binary(type_) or pa.types.is_large_binary(type_))
        plain_type = type_ if is_plain or is_bytes else None
        kind = None
        is_kept = leaf.leaf.items is not None
        if not leaf.is_json and not leaf.has_form and not is_kept and isinstance(shape, FixedWidth | VariableWidth):
            kind = "strings" if offset_bits else "values"
        # JSON is shown as text, and is stored in another form.
        stored = leaf.storage.value_type if isinstance(leaf.storage, pa.DictionaryType) else leaf.storage
        is_text = not leaf.is_json and (pa.types.is_string(stored) or pa.types.is_large_string(stored))
        fields = struct_field_bytes(shape)
        parts = list_parts(shape)
        return cls(leaf, bits, offset_bits, layers, fields, plain_type, None, kind, is_text, form, parts)

    @classmethod
    def all_of(cls, leaves: Sequence[LeafNode], blob_limits: BlobLimits | None = None) -> list[TakePlan | None]:
        """Look at leaves, as `of` does; of many columns of one type once."""
        found: list[TakePlan | None] = []
        known: dict[tuple[int, pa.DataType], TakePlan] = {}
        for leaf in leaves:
            type_ = leaf.field.type
            # Extension types that are defined in Python need not be hashable.
            is_special = leaf.bytes_field is not None or leaf.list_columns or isinstance(type_, pa.BaseExtensionType)
            has_form = leaf.is_coded or leaf.is_viewed or leaf.may_be_coded or leaf.judge is not None
            has_form = has_form or leaf.leaf.items is not None
            if len(leaf.offset_bits) > 1 or is_special or leaf.is_json or has_form:
                found.append(cls.of(leaf, blob_limits))
                continue
            kind = id(leaf.leaf), type_
            like = known.get(kind)
            if like is not None:
                found.append(
                    cls(
                        leaf,
                        like.value_bits,
                        like.value_offset_bits,
                        like.item_validity,
                        like.field_bytes,
                        like.plain_type,
                        None,
                        like.kind,
                        like.is_text,
                        list_parts=like.list_parts,
                    )
                )
                continue
            plan = cls.of(leaf, blob_limits)
            if plan is not None:
                known[kind] = plan
            found.append(plan)
        return found

    def decoded(self, done: Done) -> DecodedLeaf | pa.Array:
        """Take over what the engine laid out; bytes of a plain type are the column already.

        `ReadPlan.decoded` makes columns of values of one width itself.
        """
        num_values, values, offsets, nodes = done
        if self.blobs is not None and isinstance(values, tuple):
            values, _ = values
        if offsets is True:
            return pa.Array.from_buffers(pa.bool_(), num_values, [None, values], 0)
        if isinstance(offsets, list):
            from lance_arrow.arrays.dictionaries import kept_dictionary  # noqa: PLC0415 - for dictionaries alone

            structure = tuple(map(NodeStructure._make, nodes))
            return DecodedLeaf(kept_dictionary(self.leaf, values, structure[0], offsets), structure)
        if isinstance(offsets, tuple) and not self.leaf.is_viewed:
            from lance_arrow.arrays.coded_leaves import coded_type, from_codes  # noqa: PLC0415 - for dictionaries alone

            num_slots, validity, null_count, *_ = nodes[0]
            type_ = self.leaf.field.type
            type_ = type_ if self.leaf.is_coded else coded_type(type_)
            coded = from_codes(type_, values, validity, (num_slots, null_count), offsets)
            return coded if len(nodes) == 1 else DecodedLeaf(coded, tuple(map(NodeStructure._make, nodes)))
        if self.leaf.is_viewed:
            from lance_arrow.arrays.viewed_leaves import from_views  # noqa: PLC0415 - for views alone

            num_slots, validity, null_count, *_ = nodes[0]
            views = from_views(self.leaf.field.type, values, validity, (num_slots, null_count), offsets)
            return views if len(nodes) == 1 else DecodedLeaf(views, tuple(map(NodeStructure._make, nodes)))
        if self.plain_type is not None and offsets is not None and nodes[0][0] == num_values:
            _, validity, null_count, *_ = nodes[0]
            type_ = self.plain_type
            is_extended = isinstance(type_, pa.BaseExtensionType)
            storage = type_.storage_type if is_extended else type_
            array = pa.Array.from_buffers(storage, num_values, [validity, offsets, values], null_count)
            return type_.wrap_array(array) if is_extended else array
        shape = self.leaf.leaf.shape
        if has_rows_of_any_length(shape):
            from lance_arrow.arrays.packed_fields import packed_fields  # noqa: PLC0415 - for such structs alone

            assert isinstance(shape, PackedStruct)
            buffers = packed_fields(shape, num_values, values, offsets)
        elif isinstance(shape, PackedStruct):
            fields = tuple(
                LeafBuffers(field, num_values, buffer, None, _no_bitmaps(field))
                for field, buffer in zip(shape.fields, values, strict=True)
            )
            buffers = LeafBuffers(shape, num_values, fields=fields)
        elif isinstance(shape, FixedSizeList) and isinstance(values, tuple):
            *bitmaps, items = values
            buffers = LeafBuffers(shape, num_values, items, None, tuple(bitmaps))
        else:
            buffers = LeafBuffers(shape, num_values, values, offsets, self.item_validity, is_checked=self.is_text)
        return DecodedLeaf(buffers, tuple(map(NodeStructure._make, nodes)))


def _form_of(leaf: LeafNode) -> str | ItemJudge | tuple[int, int, int] | None:
    """Return the form of values, None where the engine has none for them."""
    items = leaf.leaf.items
    if items is not None:
        most_items: int = 1 << min(
            62, leaf.storage.index_type.bit_width - pa.types.is_signed_integer(leaf.storage.index_type)
        )
        if isinstance(items, VariableWidth):
            return 0, items.offset_bits, most_items
        return (items.bits, 0, most_items) if isinstance(items, FixedWidth) else None
    if leaf.judge is not None:
        return leaf.judge
    if leaf.is_coded:
        return "codes"
    if leaf.may_be_coded:
        return "stored"
    if leaf.is_viewed:
        return "text_views" if pa.types.is_string_view(leaf.field.type) else "views"
    return "plain"


def _no_bitmaps(shape: BlockShape | None) -> tuple[None, ...]:
    """One None for each fixed-size list around the items of a shape."""
    layers = 0
    while isinstance(shape, FixedSizeList):
        layers, shape = layers + 1, shape.items
    return (None,) * layers


def take_leaves(
    wanted: ReadPlan,
    pages: engine.PagesWithRows,
    rows: tuple[RowRanges, int],
    source: tuple[RangeSource, Positional],
    runtime: Runtime,
    pool: pa.MemoryPool | None,
    num_threads: int,
    largest_offset: int,
) -> Taken:
    """Read rows of leaves natively.

    Parameters
    ----------
    wanted, pages
        Leaves, and the pages of each that hold wanted rows.
    rows
        Rows of the file, not empty, and their number.
    source
        Where the file is, and how native code reads it.
    runtime
        Threads and limits.
    pool
        Arrow memory pool of the result; the default one when None.
    num_threads
        Threads that may share the rows.
    largest_offset
        What 32 bits of an offset hold.
    """
    counted, place = source
    limits = runtime.settings.limits
    is_native = wanted.forms.makes_batches and pages.are_all_read and pool is None
    memory = limits.max_batch_bytes, largest_offset, pool, None if is_native else _allocator(limits, pool)
    # Parts would have dictionaries, or bytes behind views, of their own.
    if num_threads > 1 and rows[1] * len(wanted.plans) >= 2 * _ROWS_PER_PART and not wanted.has_forms:
        parts = _parts(*rows, len(wanted.plans), num_threads)
        if len(parts) > 1:
            return _take_parts(wanted.forms, pages, parts, memory, source, runtime)
    begun = time.perf_counter()
    done, requests, ranges, wanted_bytes, read_bytes = wanted.forms.take(
        pages,
        rows[0].starts,
        rows[0].stops,
        rows[1],
        place.descriptor,
        place.memory,
        place.size_bytes,
        place.checks,
        place.segments,
        *memory,
        place.files,
    )
    seconds = time.perf_counter() - begun
    # What was fetched was counted then.
    if place.segments is None and isinstance(counted, MeteredSource):
        counted.add(requests, ranges, wanted_bytes, read_bytes, seconds)
    if (
        wanted.has_blob_bytes
        and isinstance(done, list)
        and isinstance(counted, MeteredSource)
        and not all(
            _read_large(plan, one, (counted, place), runtime)
            for plan, one in zip(wanted.plans, done, strict=True)
            if one
        )
    ):
        return engine.Refusal("blobs were refused", -1, engine.Blame.CALLER)
    taken: Taken = done
    return taken


def take_noted(
    wanted: ReadPlan,
    opened: engine.OpenPages,
    rows: tuple[Any, int, int],
    source: tuple[RangeSource, Positional],
    runtime: Runtime,
    largest_offset: int,
    schema: pa.Schema,
    state: engine.FileState | None,
) -> pa.Table | engine.Refusal | None:
    """Read rows of pages that were opened, as `take_leaves` does with one thread; None where it has to do it.

    Parameters
    ----------
    wanted, opened
        Leaves, and where their pages are noted.
    rows
        Row numbers of any kind, the number of the file's first row, and how many the file has.
    source, runtime, largest_offset
        As for `take_leaves`.
    schema
        Of the table.
    state
        What tells that the file at its path is still the one that is open; None if that is not compared.
    """
    counted, place = source
    most_rows = (2 * _ROWS_PER_PART - 1) // len(wanted.plans)
    begun = time.perf_counter()
    done = opened.take(
        *rows,
        most_rows,
        place.descriptor,
        place.memory,
        place.size_bytes,
        place.checks,
        runtime.settings.limits.max_batch_bytes,
        largest_offset,
        schema,
        state,
    )
    if done is None:
        return None
    seconds = time.perf_counter() - begun
    table: pa.Table | engine.Refusal
    table, requests, ranges, wanted_bytes, read_bytes = done
    if isinstance(counted, MeteredSource):
        counted.add(requests, ranges, wanted_bytes, read_bytes, seconds)
    return table


def _read_large(plan: TakePlan, done: Done, source: tuple[MeteredSource, Positional], runtime: Runtime) -> bool:
    """Read the blobs that the engine left to several threads; False when one was refused."""
    num_values, values, offsets, _ = done
    if plan.blobs is None or not isinstance(values, tuple):
        return True
    buffer, positions = values
    laid_out = np.frombuffer(positions, np.uint64)[:num_values], np.frombuffer(offsets, np.uint8), plan.blobs[-1]
    return read_laid_out(laid_out, np.frombuffer(buffer, np.uint8), source[1], source[0], runtime)


def _allocator(limits: Limits, pool: pa.MemoryPool | None) -> Callable[[int], pa.Buffer]:
    ceiling = limits.max_batch_bytes

    def allocate(size: int) -> pa.Buffer:
        if size > ceiling:
            limits.check("max_batch_bytes", size)
        return pa.allocate_buffer(size, pool)

    return allocate


def _parts(rows: RowRanges, num_rows: int, num_leaves: int, num_threads: int) -> list[RowRanges]:
    """Cut the rows into about equal parts, one per thread, where there are enough of them."""
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


def _take_parts(
    forms: engine.ReadForms,
    pages: engine.PagesWithRows,
    parts: Sequence[RowRanges],
    memory: tuple[int, int, pa.MemoryPool | None, Callable[[int], pa.Buffer] | None],
    source: tuple[RangeSource, Positional],
    runtime: Runtime,
) -> Taken:
    """Read all parts of all leaves, side by side."""
    counted, place = source
    begun = time.perf_counter()
    making = forms.begin(pages, tuple([part.num_rows for part in parts]), *memory)
    if isinstance(making, engine.Refusal):
        return making

    def run(number: int) -> tuple[engine.Refusal | None, int, int, int, int]:
        part = parts[number]
        done: tuple[engine.Refusal | None, int, int, int, int] = making.run(
            number,
            part.starts,
            part.stops,
            place.descriptor,
            place.memory,
            place.size_bytes,
            place.checks,
            place.segments,
            place.files,
        )
        return done

    results = runtime.side_by_side(run, range(len(parts)))
    seconds = time.perf_counter() - begun
    for number, (_, requests, ranges, wanted, fetched) in enumerate(results):
        if place.segments is not None or not isinstance(counted, MeteredSource):
            break  # what was fetched was counted then
        # All parts are one wave: it is counted with the first.
        counted.add(requests, ranges, wanted, fetched, seconds if number == 0 else 0.0, waves=int(number == 0))
    refused = next((refusal for refusal, *_ in results if refusal is not None), None)
    if refused is not None:
        return refused
    finished: Taken = making.finish()
    return finished
