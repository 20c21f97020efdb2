"""Checks of the native side of a codec, which `CodecSuite` runs for every codec.

A codec without a native side passes. With one, every selection of values must equal the values of `decode`. Damaged
bytes must be rejected, unless `decode` accepts them too and the values are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lance_arrow import engine
from lance_arrow.errors import LanceError
from lance_arrow.pages.packed_rows import joined_fields
from lance_arrow.pages.value_rows import has_rows_of_any_length, row_bits, row_parts
from lance_arrow.spi import BlockSlice, ChunkBatch, DecodeContext, ValueBatch, VariableWidth, new_block
from lance_arrow.spi.native import native_side

_LIMIT_BYTES = 1 << 26


def native_differences(
    bound: Any, context: DecodeContext, units: Any, counts: Any, may_refuse: bool = False
) -> Iterator[str]:
    """Yield the errors of the native side: for each unit, of all values and of a few selections.

    Parameters
    ----------
    bound
        A bound codec; nothing is yielded if it has no native side.
    context
        Context in which it is bound.
    units, counts
        Buffers of each chunk (or the single buffer of each zipped value), and values of each.
    may_refuse
        Whether the native side may reject bytes that `decode` accepts, such as damaged ones.
    """
    capsule = native_side(bound)
    bits = row_bits(bound.shape)
    if capsule is None or bits is None:
        return
    if context is DecodeContext.PER_VALUE:
        yield from _values(bound, capsule, bits, [unit[0] for unit in units], may_refuse)
        return
    for number, (buffers, count) in enumerate(zip(units, counts, strict=True)):
        arrays = [np.frombuffer(buffer, np.uint8) for buffer in buffers]
        expected = decoded_values(bound, arrays, count)
        for starts, stops in chunk_selections(count):
            found = _selected(capsule, bits, arrays, count, starts, stops)
            if isinstance(found, LanceError):
                if expected is not None and not may_refuse:
                    yield f"unit {number}: refused {found}"
                continue
            whole = len(starts) == 1 and stops[0] - starts[0] == count
            if expected is None:
                if whole:
                    yield f"unit {number}: accepted bytes that decode rejects"
            elif _without_padding(bound.shape, found) != _cut(expected, starts, stops):
                yield f"unit {number}: other values at {starts.tolist()[:4]}"


def chunk_selections(count: int) -> Iterator[tuple[Any, Any]]:
    """Yield all values, the first, the last, every seventh, and a long run with single values around it."""
    if count < 1:
        return
    yield np.array([0]), np.array([count])
    yield np.array([0]), np.array([1])
    yield np.array([count - 1]), np.array([count])
    sparse = np.arange(0, count, 7)
    yield sparse, sparse + 1
    if count > 20:
        yield np.array([1, 5, count - 2]), np.array([2, count - 5, count - 1])


def _selected(
    capsule: Any, bits: int, arrays: list[Any], count: int, starts: Any, stops: Any
) -> list[bytes] | LanceError:
    selected = int((stops - starts).sum())
    try:
        values, ends = engine.select_values(capsule, arrays, count, starts, stops, _LIMIT_BYTES)
    except LanceError as error:
        return error
    return _split(values, ends, selected, bits)


def _split(values: bytes, ends: list[int] | None, count: int, bits: int) -> list[bytes]:
    if ends is not None:
        return [values[start:stop] for start, stop in zip([0, *ends][:-1], ends, strict=True)]
    if bits == 1:
        each = np.unpackbits(np.frombuffer(values, np.uint8), count=count, bitorder="little")
        return [bytes([bit]) for bit in each]
    width = len(values) // max(count, 1)
    return [values[at * width : (at + 1) * width] for at in range(count)]


def decoded_values(bound: Any, arrays: list[Any], count: int) -> list[bytes] | None:
    """Return the values of the chunk from `decode`; None if it raises."""
    data = np.concatenate([*arrays, np.zeros(1, np.uint8)])
    sizes = np.array([[len(array)] for array in arrays], np.int64).reshape(len(arrays), 1)
    starts = np.cumsum(sizes, axis=0) - sizes
    batch = ChunkBatch(data, starts, sizes, np.array([0, count], np.int64))
    try:
        block = new_block(_wide(bound.shape), count, bound.measure(batch))
        block.values[:] = 0
        bound.decode(batch, block)
    except LanceError:
        return None
    return _block_values(block)


def _values(bound: Any, capsule: Any, bits: int, parts: list[bytes], may_refuse: bool) -> Iterator[str]:
    data = np.frombuffer(b"".join([*parts, b"\0"]), np.uint8)
    sizes = np.array([len(part) for part in parts], np.int64)
    starts = np.cumsum(sizes) - sizes
    expected: list[bytes] | None = None
    try:
        batch = ValueBatch(data, starts, sizes)
        block = new_block(_wide(bound.shape), len(parts), bound.measure(batch))
        bound.decode(batch, block)
        expected = _block_values(block)
        if has_rows_of_any_length(bound.shape):
            # A row without any bytes is null.
            expected = [value if part else b"" for value, part in zip(expected, parts, strict=True)]
    except LanceError:
        expected = None
    if not parts:
        return
    try:
        values, ends = engine.expand_values(capsule, data, starts, sizes, _LIMIT_BYTES)
    except LanceError as error:
        if expected is not None and not may_refuse:
            yield f"refused {error}"
        return
    if expected is None:
        yield "accepted bytes that decode rejects"
    elif _without_padding(bound.shape, _split(values, ends, len(parts), bits)) != expected:
        yield "other values"


def _wide(shape: Any) -> Any:
    return VariableWidth(64) if isinstance(shape, VariableWidth) else shape


def _block_values(block: BlockSlice) -> list[bytes]:
    if has_rows_of_any_length(block.shape):
        rows, offsets = joined_fields(block)
        return _split(rows.tobytes(), offsets[1:].tolist(), block.num_values, 0)
    if block.fields:
        # The native side returns a packed struct as the bytes of its fields, one after the other.
        each = [_block_values(field) for field in block.fields]
        return [b"".join(row) for row in zip(*each, strict=True)]
    if row_parts(block.shape):
        return _rows(block)
    ends = block.offsets.view(np.int64)[1:].tolist() if isinstance(block.shape, VariableWidth) else None
    return _split(block.values.tobytes(), ends, block.num_values, row_bits(block.shape) or 0)


def _rows(block: BlockSlice) -> list[bytes]:
    """Return lists as rows of their parts, each in whole bytes."""
    *bitmaps, item_bits = row_parts(block.shape)
    held = iter(block.validity)
    sources = [(next(held), bits) for bits in bitmaps if bits]
    flags = [(np.unpackbits(one.values, bitorder="little")[one.bit_offset :], bits) for one, bits in sources]
    flags.append((np.unpackbits(block.values, bitorder="little")[block.bit_offset :], item_bits))
    return [
        b"".join(np.packbits(part[row * bits :][:bits], bitorder="little").tobytes() for part, bits in flags)
        for row in range(block.num_values)
    ]


def _without_padding(shape: Any, values: list[bytes]) -> list[bytes]:
    """Clear the bits behind each part of a row, which mean nothing."""
    parts = row_parts(shape)
    if not parts:
        return values
    mask = b"".join(np.packbits(np.ones(bits, np.uint8), bitorder="little").tobytes() for bits in parts)
    return [bytes(one & kept for one, kept in zip(value, mask, strict=True)) for value in values]


def _cut(values: list[bytes], starts: Any, stops: Any) -> list[bytes]:
    return [value for start, stop in zip(starts, stops, strict=True) for value in values[start:stop]]
