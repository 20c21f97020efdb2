"""Convert encodings of the drafts to those of 2.1, whose codecs read the same bytes.

Encodings that no release wrote in such a page, or wrote with another meaning, are rejected. Source:
lance.encodings.ArrayEncoding with the numbers of releases 0.19 to 0.25 (`encodings_drafts_pb2`) and 0.26 to 0.32
(`encodings_v20_pb2`).
"""

from __future__ import annotations

from typing import Any

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto.encodings_v21_pb2 import (
    LZ4,
    ZSTD,
    BufferCompression,
    ByteStreamSplit,
    CompressiveEncoding,
    FixedSizeList,
    Flat,
    Fsst,
    General,
    InlineBitpacking,
    PackedStruct,
    Rle,
    Variable,
)

_LEVEL_BITS = 16
_RUN_LENGTH_BITS = 8
_FIRST_OFFSET_BITS = 32
"""Width of offsets before 0.23, which did not store it."""
_SCHEMES = {"lz4": LZ4, "zstd": ZSTD}
_VARINT_BITS = 7


def levels(message: Any) -> CompressiveEncoding | None:
    """Convert the encoding of levels; None if a constant 0 marks their absence.

    Raises
    ------
    UnsupportedError
        The encoding is neither flat words nor that constant.
    """
    case = message.WhichOneof("array_encoding")
    if case is None or (case == "constant" and not any(message.constant.value)):
        return None
    found = flat(message.flat) if case == "flat" else None
    if found is None or found.flat.bits_per_value != _LEVEL_BITS:
        raise UnsupportedError(f"levels in the encoding {case}: releases only wrote flat words of 16 bits")
    return found


def early(message: Any, length_bits: int | None = None) -> CompressiveEncoding:
    """Convert an encoding of releases 0.19 to 0.25; `late` documents the parameters and errors.

    A list becomes its items, as one value with the width of a list: only these releases' zipped pages have lists.
    """
    case = _case(message)
    if case == "flat":
        return flat(message.flat)
    if case == "bitpack2":
        return _packed_bits(message.bitpack2)
    if case in ("variable", "binary_block"):
        bits = message.variable.bits_per_offset if case == "variable" else 0
        return variable(bits or _FIRST_OFFSET_BITS)
    if case == "fsst":
        return _fsst(message.fsst.symbol_table, early(message.fsst.binary))
    if case == "fsst_or_packed":
        return _fsst_or_packed(message.fsst_or_packed)
    if case == "packed_struct":
        return _packed_struct(message.packed_struct.bits_per_values, early(message.packed_struct.flat))
    raise UnsupportedError(f"the encoding {case} in a draft page of 0.19 to 0.25: no release wrote it there")


def late(message: Any, length_bits: int | None = None) -> CompressiveEncoding:
    """Convert an encoding of releases 0.26 to 0.32.

    Parameters
    ----------
    message
        The draft's ``ArrayEncoding``.
    length_bits
        In zipped pages, the width of lengths, which values that are compressed one by one do not store.

    Raises
    ------
    UnsupportedError
        No release wrote it in a draft page.
    CorruptFileError
        It contradicts itself.
    """
    case = _case(message)
    if case == "flat":
        return flat(message.flat)
    if case == "inline_bitpacking":
        return _packed_bits(message.inline_bitpacking)
    if case == "variable":
        return variable(message.variable.bits_per_offset)
    if case == "fsst":
        return _fsst(message.fsst.symbol_table, late(message.fsst.binary))
    if case == "fixed_size_list":
        lists = message.fixed_size_list
        restated = FixedSizeList(
            items_per_value=lists.dimension, values=late(lists.items), has_validity=lists.has_validity
        )
        return CompressiveEncoding(fixed_size_list=restated)
    if case == "packed_struct_fixed_width_mini_block":
        packed = message.packed_struct_fixed_width_mini_block
        return _packed_struct(packed.bits_per_values, late(packed.Flat))
    if case == "block" and length_bits is not None:
        return _general(_scheme(message.block), variable(length_bits))
    if case == "general_mini_block":
        general = message.general_mini_block
        return _general(_scheme(general.compression), late(general.inner))
    if case == "rle":
        runs = Rle(values=_flat(message.rle.bits_per_value), run_lengths=_flat(_RUN_LENGTH_BITS))
        return CompressiveEncoding(rle=runs)
    if case == "byte_stream_split":
        split = ByteStreamSplit(values=_flat(message.byte_stream_split.bits_per_value))
        return CompressiveEncoding(byte_stream_split=split)
    raise UnsupportedError(f"the encoding {case} in a draft page of 0.26 to 0.32: no release wrote it there")


def flat(message: Any) -> CompressiveEncoding:
    """Convert flat values; the buffer in the message is not used in these pages."""
    if message.HasField("compression"):
        raise UnsupportedError("compressed flat values in a draft page: no release wrote them there")
    return _flat(message.bits_per_value)


def variable(offset_bits: int) -> CompressiveEncoding:
    """Describe byte strings with flat offsets."""
    return CompressiveEncoding(variable=Variable(offsets=_flat(offset_bits)))


def _case(message: Any) -> str:
    case: str | None = message.WhichOneof("array_encoding")
    if case is None:
        raise CorruptFileError("an encoding of a draft page is empty, or has an unknown case")
    return case


def _flat(bits: int) -> CompressiveEncoding:
    return CompressiveEncoding(flat=Flat(bits_per_value=bits))


def _packed_bits(message: Any) -> CompressiveEncoding:
    bits = message.uncompressed_bits_per_value
    return CompressiveEncoding(inline_bitpacking=InlineBitpacking(uncompressed_bits_per_value=bits))


def _fsst(symbol_table: bytes, values: CompressiveEncoding) -> CompressiveEncoding:
    if values.WhichOneof("compression") != "variable":
        raise CorruptFileError("FSST in a draft page encodes values that are not byte strings")
    return CompressiveEncoding(fsst=Fsst(symbol_table=symbol_table, values=values))


def _fsst_or_packed(message: Any) -> CompressiveEncoding:
    """Distinguish the two encodings with number 16 by their children."""
    inner = early(message.inner)
    if inner.WhichOneof("compression") == "variable":
        return _fsst(message.rest, inner)
    return _packed_struct(_varints(message.rest), inner)


def _varints(data: bytes) -> list[int]:
    """Decode packed varints."""
    found, value, shift = [], 0, 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += _VARINT_BITS
        if byte < 0x80:
            found.append(value)
            value = shift = 0
        elif shift > 28:
            raise CorruptFileError("a width of a packed struct does not fit 32 bits")
    if shift:
        raise CorruptFileError("the widths of a packed struct end within a number")
    return found


def _packed_struct(widths: Any, rows: CompressiveEncoding) -> CompressiveEncoding:
    return CompressiveEncoding(packed_struct=PackedStruct(bits_per_value=widths, values=rows))


def _scheme(message: Any) -> BufferCompression:
    found = _SCHEMES.get(message.scheme)
    if found is None:
        raise UnsupportedError(f"the compression {message.scheme[:40]!r} in a draft page: no release wrote it there")
    return BufferCompression(scheme=found)


def _general(compression: BufferCompression, values: CompressiveEncoding) -> CompressiveEncoding:
    return CompressiveEncoding(general=General(compression=compression, values=values))
