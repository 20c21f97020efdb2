"""Numpy twins of ``kernels/symbols.pyx``."""

from __future__ import annotations

import numpy as np

from lance_arrow.errors import CorruptPageError, InternalError
from lance_arrow.kernels.reference.chunks import Bytes, Positions
from lance_arrow.kernels.reference.variable import VariableWriter

_TABLE_BYTES = 8 + 256 * 8 + 256
_ESCAPE = 255


def _open_table(table: Bytes) -> list[bytes] | None:
    """Return the symbols by code, or None when values are stored as they are."""
    if len(table) != _TABLE_BYTES:
        raise CorruptPageError("a symbol table has the wrong size")
    if table[4:8].tobytes() != b"TSSF":
        raise CorruptPageError("a symbol table has the wrong signature")
    if table[3] > 1:
        raise CorruptPageError("a symbol table's switch is neither 0 nor 1")
    if table[3] == 0:
        return None
    num_symbols = int(table[0])
    symbols = []
    for code in range(num_symbols):
        size = int(table[8 + 8 * num_symbols + code])
        if not 1 <= size <= 8:
            raise CorruptPageError("a symbol's length is not 1..8", detail=code)
        symbols.append(table[8 + 8 * code :][:size].tobytes())
    return symbols


def _expand_value(symbols: list[bytes] | None, codes: bytes, value: int) -> bytes:
    if symbols is None:
        return codes
    out = bytearray()
    position = 0
    while position < len(codes):
        code = codes[position]
        literal = code == _ESCAPE
        if (literal and position + 1 == len(codes)) or (not literal and code >= len(symbols)):
            raise CorruptPageError("a value uses codes without a symbol", detail=value)
        out += codes[position + 1 : position + 2] if literal else symbols[code]
        position += 2 if literal else 1
    return bytes(out)


def _codes(data: Bytes, starts: Positions, sizes: Positions, value: int) -> bytes:
    start, size = int(starts[value]), int(sizes[value])
    if start < 0 or size < 0 or start + size > len(data):
        raise CorruptPageError("a value lies outside its page", detail=value)
    return data[start : start + size].tobytes()


def measure_symbols(table: Bytes, data: Bytes, starts: Positions, sizes: Positions) -> int:
    """Return the bytes that `expand_symbols` will write."""
    if len(starts) != len(sizes):
        raise InternalError("starts and sizes have different lengths")
    symbols = _open_table(table)
    return sum(len(_expand_value(symbols, _codes(data, starts, sizes, value), value)) for value in range(len(starts)))


def expand_symbols(
    table: Bytes,
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    out_offsets: Bytes,
    out_offset_bits: int,
    out_data: Bytes,
) -> None:
    """Replace each value's codes by their symbols."""
    if len(starts) != len(sizes):
        raise InternalError("starts and sizes have different lengths")
    if out_offset_bits not in (32, 64):
        raise InternalError("offset_bits is neither 32 nor 64")
    symbols = _open_table(table)
    writer = VariableWriter(out_offsets, out_offset_bits, out_data)
    for value in range(len(starts)):
        codes = _codes(data, starts, sizes, value)
        writer.require(1, 0, value)
        expanded = _expand_value(symbols, codes, value)
        writer.require(1, len(expanded), value)
        writer.append(np.frombuffer(expanded, np.uint8))
