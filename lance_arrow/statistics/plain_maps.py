"""`encode_plain`: encode zone maps of values and nulls by filling a template.

Arrow writes the same bytes for all maps of one type and size, except in their few columns. Small files have a map of
one zone for each column: encoding it with Arrow takes longer than computing the bounds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.statistics.zone_streams import COUNT_TYPES, StreamLayout
from lance_arrow.statistics.zone_types import is_large, is_variable

_BOOLEAN = pa.bool_()
_MAX_FORMS = 256
_MAX_ZONES = 64
_COUNT_TYPES = tuple((type_.bit_width, np.dtype(str(type_))) for type_ in COUNT_TYPES)


@dataclass(frozen=True, slots=True)
class _Form:
    """A template: a serialized map, and the places of its columns."""

    data: bytes
    starts: tuple[int, ...]


_forms: OrderedDict[Hashable, _Form] = OrderedDict()
_lock = Lock()


def encode_plain(
    mins: pa.Array, maxs: pa.Array, nulls: NDArray[np.int64], rows: NDArray[np.int64], encode: Callable[[], bytes]
) -> bytes:
    """Serialize a zone map without NaN, without zones of only nulls, and with one item per row.

    Parameters
    ----------
    mins, maxs
        ``(num_zones,)`` bounds, all of them exact values of their zones.
    nulls, rows
        ``(num_zones,) int64``: nulls and rows of the zones.
    encode
        Serializes the map if there is no template for it.

    Returns
    -------
    bytes
        The same bytes as `encode` returns.
    """
    if len(rows) > _MAX_ZONES or mins.type == _BOOLEAN:
        return encode()
    counts = {"row_count": _narrow(rows)}
    if any(nulls.tolist()):
        counts = {"null_count": _narrow(nulls), **counts}
    parts = [*_parts(mins), *_parts(maxs), *(memoryview(one).cast("B") for one in counts.values())]
    key = mins.type, len(rows), tuple(map(len, parts)), *((name, one.dtype) for name, one in counts.items())
    with _lock:
        form = _forms.get(key)
        if form is not None:
            _forms.move_to_end(key)
    if form is None:
        data = encode()
        _remember(key, data, mins.type, list(counts), len(parts))
        return data
    filled = bytearray(form.data)
    for start, part in zip(form.starts, parts, strict=True):
        filled[start : start + len(part)] = part
    return bytes(filled)


def _remember(key: Hashable, data: bytes, bounds: pa.DataType, counts: list[str], num_parts: int) -> None:
    batch = pa.ipc.open_stream(pa.py_buffer(data)).read_next_batch()
    layout = StreamLayout.of(data, bounds, batch)
    if layout is None or batch.schema.names != ["min", "max", *counts]:
        return
    starts = [place[0] for _, _, places in layout.arrays for place in places if place is not None]
    starts += [start for _, _, start in layout.counts]
    if len(starts) == num_parts:
        with _lock:
            _forms[key] = _Form(data, tuple(starts))
            while len(_forms) > _MAX_FORMS:
                _forms.popitem(last=False)


def _parts(array: pa.Array) -> list[memoryview]:
    """Return the bytes of an array without nulls that is not a slice."""
    _, *buffers = array.buffers()
    if not is_variable(array.type):
        return [memoryview(buffers[0])[: len(array) * array.type.bit_width // 8]]
    width = 8 if is_large(array.type) else 4
    offsets = memoryview(buffers[0])[: (len(array) + 1) * width]
    end = int.from_bytes(offsets[-width:], "little")
    return [offsets, memoryview(b"") if buffers[1] is None else memoryview(buffers[1])[:end]]


def _narrow(counts: NDArray[np.int64]) -> NDArray[np.unsignedinteger]:
    largest = max(counts.tolist(), default=0)
    return counts.astype(next(type_ for bits, type_ in _COUNT_TYPES if largest < 1 << bits))
