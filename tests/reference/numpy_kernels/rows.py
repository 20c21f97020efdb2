"""Numpy twins of ``engine/door/encode/rows.pxi``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lance_arrow.errors import InternalError
from numpy_kernels.chunks import Bytes, Positions

_WIDEST_FIELD_BYTES = 1 << 40


def join_rows(fields: Sequence[Bytes], field_bytes: Positions, num_rows: int, out: Bytes) -> None:
    """Write rows of fields of fixed width."""
    widths = field_bytes.tolist()
    if len(fields) != len(widths):
        raise InternalError("fields and widths differ in number")
    for field, width in enumerate(widths):
        if not 1 <= width <= _WIDEST_FIELD_BYTES:
            raise InternalError("a packed field has no bytes", detail=field)
    if num_rows < 0:
        raise InternalError("a negative number of rows")
    for field, (values, width) in enumerate(zip(fields, widths, strict=True)):
        if len(values) // width < num_rows:
            raise InternalError("a field has too few values", detail=field)
    row_bytes = sum(widths)
    if row_bytes < 1:
        raise InternalError("packed rows have no bytes")
    if len(out) // row_bytes < num_rows:
        raise InternalError("the output is too small")
    parts = [values[: num_rows * width].reshape(num_rows, width) for values, width in zip(fields, widths, strict=True)]
    out[: num_rows * row_bytes] = np.concatenate(parts, axis=1).reshape(-1)


def join_fields(
    fields: Sequence[Bytes],
    field_bytes: Positions,
    offsets: Sequence[Positions | None],
    out_row_offsets: Positions,
    out: Bytes,
) -> None:
    """Write rows of which some fields follow their length."""
    widths = field_bytes.tolist()
    num_rows = len(out_row_offsets) - 1
    if len(fields) != len(widths) or len(offsets) != len(widths):
        raise InternalError("fields and widths differ in number")
    for field, (width, ends) in enumerate(zip(widths, offsets, strict=True)):
        if width <= 0 and (ends is None or len(ends) != num_rows + 1):
            raise InternalError("a field has too few values", detail=field)
    for field, (values, width, ends) in enumerate(zip(fields, widths, offsets, strict=True)):
        _check_field(values, width, ends, field, num_rows)
    position = 0
    for row in range(num_rows):
        out_row_offsets[row] = position
        for values, width, ends in zip(fields, widths, offsets, strict=True):
            value = values[row * width : (row + 1) * width].tobytes()
            if ends is not None and width < 0:
                value = values[ends[row] : ends[row + 1]].tobytes()
                value = len(value).to_bytes(-width, "little") + value
            if len(value) > len(out) - position:
                raise InternalError("the output is too small", detail=row)
            out[position : position + len(value)] = np.frombuffer(value, np.uint8)
            position += len(value)
    out_row_offsets[num_rows] = position


def _check_field(values: Bytes, width: int, ends: Positions | None, field: int, num_rows: int) -> None:
    if width > 0:
        if len(values) // width < num_rows:
            raise InternalError("a field has too few values", detail=field)
        return
    if width not in (-4, -8) or ends is None:
        raise InternalError("a packed field has neither a width nor lengths of 4 or 8 bytes", detail=field)
    found = ends.tolist()
    if found[0] < 0:
        raise InternalError("offsets of a field leave its data", detail=field)
    for before, after in pairwise(found):
        if after < before:
            raise InternalError("offsets of a field descend", detail=field)
        if width == -4 and after - before >= 1 << 32:
            raise InternalError("a value is too long for its length", detail=field)
    if found[-1] > len(values):
        raise InternalError("offsets of a field leave its data", detail=field)


def spread_bits(bits: Bytes, bit_offset: int, num_bits: int, bits_per_run: int, out: Bytes) -> None:
    """Copy runs of bits, each to a byte border of its own."""
    if bits_per_run < 1:
        raise InternalError("a run has no bits")
    if bit_offset < 0 or num_bits < 0 or bit_offset + num_bits > 8 * len(bits):
        raise InternalError("bits leave their memory")
    run_bytes = -(-bits_per_run // 8)
    runs, rest = divmod(num_bits, bits_per_run)
    if len(out) < runs * run_bytes + (rest + 7) // 8:
        raise InternalError("the output is too small")
    plain = np.unpackbits(bits, bitorder="little")[bit_offset : bit_offset + num_bits]
    for run in range(runs + (rest > 0)):
        packed = np.packbits(plain[run * bits_per_run : (run + 1) * bits_per_run], bitorder="little")
        out[run * run_bytes : run * run_bytes + len(packed)] = packed
