"""Zone maps of one zone in packed form: small files have such a map for each column, so each byte counts.

    8 bytes   "LAZ", flags, bytes of `min` and of `max`, whether each is exact (0 or 1)
    8 or 16   strings and binary: offsets of `min`; again for `max`
    any       bytes of `min`; again for `max`
    4 each    rows; nulls, NaNs and values, if the flags say so

The head tells where everything lies, so that readers treat it as the messages of a stream (`zone_streams`). Readers
that do not know this form ignore the map. `engine/encode/leaves/zone_records.cpp` writes the same bytes
for values of one width.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_arrow.errors import CorruptFileError
from lance_arrow.statistics.zone_types import is_large, is_variable

if TYPE_CHECKING:
    from lance_arrow.statistics.zone_bounds import Bounds

MAGIC = b"LAZ"
HEAD_BYTES = 8
_HAS_MIN, _HAS_MAX, _HAS_NULLS, _HAS_NANS, _HAS_VALUES, _IS_INEXACT = (1 << bit for bit in range(6))
_ALL_FLAGS = (1 << 6) - 1
_MIN_BYTES, _MAX_BYTES = 4, 5
_MIN_EXACT, _MAX_EXACT = 6, 7
_COUNT = struct.Struct("<I")
_MOST_COUNT = (1 << 32) - 1
_MOST_BOUND_BYTES = 255

_Place = tuple[int, int] | None
Arrays = tuple[tuple[str, pa.DataType, tuple[_Place, ...]], ...]
Counts = tuple[tuple[str, "np.dtype[np.unsignedinteger]", int], ...]


def encode_packed(bounds: Bounds, num_rows: int, num_slots: int) -> bytes | None:
    """Serialize the map of one zone; None if a bound or a count has too many bytes.

    Parameters
    ----------
    bounds
        Bounds of the zone.
    num_rows, num_slots
        Its rows, and its items.
    """
    type_ = bounds.mins.type
    sides = [_bytes_of(side) for side in (bounds.mins, bounds.maxs)]
    nulls, nans = int(bounds.num_nulls[0]), int(bounds.num_nans[0])
    if max(num_rows, num_slots) > _MOST_COUNT or any(len(one or b"") > _MOST_BOUND_BYTES for one in sides):
        return None
    exact = [bool(bounds.min_exact[0]), bool(bounds.max_exact[0])]
    given = [one is not None for one in sides]
    counts = [(True, num_rows), (nulls > 0, nulls), (nans > 0, nans), (num_slots != num_rows, num_slots)]
    bits = (*given, *(is_there for is_there, _ in counts[1:]), exact != given)
    flags = sum(1 << bit for bit, is_set in enumerate(bits) if is_set)
    # Bounds that are not there take the bytes of a value, if values have one width.
    nothing = b"" if is_variable(type_) else bytes((type_.bit_width + 7) // 8)
    low, high = (nothing if one is None else one for one in sides)
    parts = [MAGIC, bytes((flags, len(low), len(high), *exact))]
    if is_variable(type_):
        width = 8 if is_large(type_) else 4
        parts += [bytes(width) + len(one).to_bytes(width, "little") for one in (low, high)]
    parts += [low, high, *(_COUNT.pack(count) for is_there, count in counts if is_there)]
    return b"".join(parts)


def packed_places(raw: bytes, bounds: pa.DataType) -> tuple[Arrays, Counts]:
    """Return where the columns of a map lie, as `zone_streams.StreamLayout` has them.

    Raises
    ------
    CorruptFileError
        Its head contradicts its size, or the type of the bounds.
    """
    if len(raw) < HEAD_BYTES or raw[3] > _ALL_FLAGS or max(raw[_MIN_EXACT], raw[_MAX_EXACT]) > 1:
        raise CorruptFileError("the packed zone map has no readable head")
    flags, sizes = raw[3], (raw[_MIN_BYTES], raw[_MAX_BYTES])
    place = HEAD_BYTES
    offsets: list[_Place] = [None, None]
    if is_variable(bounds):
        width = 16 if is_large(bounds) else 8
        offsets = [(place, width), (place + width, width)]
        place += 2 * width
    arrays = []
    expected = None if is_variable(bounds) else (bounds.bit_width + 7) // 8
    parts = (("min", _HAS_MIN, _MIN_EXACT), ("max", _HAS_MAX, _MAX_EXACT))
    for (name, has, exact), size, own in zip(parts, sizes, offsets, strict=True):
        is_given = bool(flags & has)
        if size != expected and (expected is not None or (size and not is_given)):
            raise CorruptFileError(f"the packed zone map has {name} of {size} bytes for values of {bounds}")
        if raw[exact] and not is_given:
            raise CorruptFileError(f"the packed zone map has an exact {name}, but none at all")
        # The flag of a bound that is not there is 0: it is a bitmap of the only slot.
        validity = None if is_given else (exact, 1)
        buffers = (validity, (place, size)) if own is None else (validity, own, (place, size))
        arrays.append((name, bounds, buffers))
        place += size
    if flags & _IS_INEXACT:
        arrays += [
            ("min_exact", pa.bool_(), (None, (_MIN_EXACT, 1))),
            ("max_exact", pa.bool_(), (None, (_MAX_EXACT, 1))),
        ]
    names = ["row_count"]
    names += [
        name
        for name, flag in (("null_count", _HAS_NULLS), ("nan_count", _HAS_NANS), ("value_count", _HAS_VALUES))
        if flags & flag
    ]
    counts = [(name, np.dtype("<u4"), place + 4 * number) for number, name in enumerate(names)]
    if place + 4 * len(names) != len(raw):
        raise CorruptFileError(f"the packed zone map has {len(raw)} bytes, expected {place + 4 * len(names)}")
    for own, size in zip(offsets, sizes, strict=True):
        if own is not None and raw[own[0] : sum(own)] != bytes(own[1] // 2) + size.to_bytes(own[1] // 2, "little"):
            raise CorruptFileError("the packed zone map's offsets contradict the sizes of its bounds")
    return tuple(arrays), tuple(counts)


def _bytes_of(side: pa.Array) -> bytes | None:
    """Return the bytes of the only value of an array; None if it is null."""
    if side.null_count:
        return None
    _, *buffers = side.buffers()
    if not is_variable(side.type):
        return bytes(memoryview(buffers[0])[: (side.type.bit_width + 7) // 8])
    width = 8 if is_large(side.type) else 4
    end = int.from_bytes(memoryview(buffers[0])[width : 2 * width], "little")
    return b"" if buffers[1] is None else bytes(memoryview(buffers[1])[:end])
