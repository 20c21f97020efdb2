"""Levels and values entry by entry: the meaning of ``engine/door/encode/zipping.pxi``. Source: spec section 6."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import InternalError


def zip_entries(
    rep: NDArray[np.uint16] | None,
    def_: NDArray[np.uint16] | None,
    num_entries: int,
    bits_rep: int,
    bits_def: int,
    max_rep: int,
    max_visible: int,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64] | None,
    num_values: int,
    value_bytes: int,
    length_bits: int,
    out: NDArray[np.uint8],
    out_row_starts: NDArray[np.int64] | None,
) -> int:
    """Write control words, lengths and values."""
    _check(rep, def_, num_entries, bits_rep, bits_def, data, offsets, num_values, value_bytes, length_bits)
    bits = bits_rep + bits_def
    word_bytes = 0 if bits == 0 else 1 if bits <= 8 else 2 if bits <= 16 else 4
    prefix_bytes = length_bits // 8
    at = value = row = 0
    for entry in range(num_entries):
        r = 0 if rep is None else int(rep[entry])
        d = 0 if def_ is None else int(def_[entry])
        if out_row_starts is not None and (rep is None or r == max_rep):
            if row + 1 >= len(out_row_starts):
                raise InternalError("there are more rows than row starts", detail=entry)
            out_row_starts[row] = at
            row += 1
        if word_bytes + prefix_bytes > len(out) - at:
            raise InternalError("the output is too small for the entries", detail=entry)
        content = ((r << bits_def | d) & ((1 << 8 * word_bytes) - 1)).to_bytes(word_bytes, "little")
        if max_visible < 0 or d <= max_visible:
            if value == num_values:
                raise InternalError("there are more visible entries than values", detail=entry)
            if offsets is None:
                content += data[value * value_bytes : (value + 1) * value_bytes].tobytes()
            elif d == 0:
                content += _with_length(data, int(offsets[value]), int(offsets[value + 1]), length_bits, entry)
            value += 1
        if len(content) > len(out) - at:
            raise InternalError("the output is too small for the entries", detail=entry)
        out[at : at + len(content)] = np.frombuffer(content, np.uint8)
        at += len(content)
    if value != num_values:
        raise InternalError("there are fewer visible entries than values")
    if out_row_starts is not None:
        if row + 1 != len(out_row_starts):
            raise InternalError("there are fewer rows than row starts")
        out_row_starts[row] = at
    return at


def _with_length(data: NDArray[np.uint8], start: int, stop: int, length_bits: int, entry: int) -> bytes:
    if not 0 <= start <= stop <= len(data):
        raise InternalError("a value leaves its data", detail=entry)
    if (stop - start) >> length_bits:
        raise InternalError("a value is too long for its length", detail=entry)
    return (stop - start).to_bytes(length_bits // 8, "little") + data[start:stop].tobytes()


def _check(
    rep: NDArray[np.uint16] | None,
    def_: NDArray[np.uint16] | None,
    num_entries: int,
    bits_rep: int,
    bits_def: int,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64] | None,
    num_values: int,
    value_bytes: int,
    length_bits: int,
) -> None:
    if num_entries < 0 or num_values < 0:
        raise InternalError("negative number of entries or values")
    if rep is not None and len(rep) != num_entries:
        raise InternalError("repetition levels and entries differ in number")
    if def_ is not None and len(def_) != num_entries:
        raise InternalError("definition levels and entries differ in number")
    if offsets is not None and len(offsets) != num_values + 1:
        raise InternalError("offsets are one more than values")
    if not (0 <= bits_rep <= 16 and 0 <= bits_def <= 16):
        raise InternalError("levels have at most 16 bits")
    if length_bits not in (0, 32, 64):
        raise InternalError("lengths have 32 or 64 bits")
    if (length_bits != 0) != (offsets is not None):
        raise InternalError("lengths and offsets belong together")
    if value_bytes < 0 or (length_bits == 0 and num_values * value_bytes > len(data)):
        raise InternalError("the values leave their data")
