"""`text_array`: values of columns of binary JSON (``lance.json``) as text."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_destination import LeafBuffers
from lance_arrow.arrays.unravel import NodeStructure
from lance_arrow.engine import JsonTexts
from lance_arrow.errors import ResourceLimitError
from lance_arrow.spi import NO_BYTES

_MOST_BYTES = (1 << 31) - 1


def text_array(values: LeafBuffers, own: NodeStructure) -> pa.Array:
    """Convert binary JSON to its text.

    Parameters
    ----------
    values
        One value for each slot.
    own
        The slots; values of null slots are ignored.

    Returns
    -------
    pyarrow.Array
        Strings.

    Raises
    ------
    CorruptPageError
        A value is not binary JSON; `detail` is its slot.
    ResourceLimitError
        The texts take more than 2 GiB.
    """
    data = values.values if values.values.size else None
    buffers = _texts(values.offsets, values.shape.offset_bits, data, own.validity, values.num_values)
    return pa.Array.from_buffers(pa.string(), own.num_slots, [own.validity, *buffers], own.null_count)


def text_of(array: pa.Array) -> pa.Array:
    """Convert an array of binary JSON, as rows hold it, to strings; errors are those of `text_array`."""
    array = array.cast(pa.large_binary())
    offsets = array.buffers()[1].slice(8 * array.offset, 8 * (len(array) + 1)) if len(array) else pa.py_buffer(bytes(8))
    validity = pc.is_valid(array).buffers()[1] if array.null_count else None
    buffers = _texts(offsets, 64, array.buffers()[2] if len(array) else None, validity, len(array))
    return pa.Array.from_buffers(pa.string(), len(array), [validity, *buffers], array.null_count)


def _texts(
    offsets: pa.Buffer, offset_bits: int, data: pa.Buffer | None, validity: pa.Buffer | None, num_values: int
) -> tuple[pa.Buffer, pa.Buffer]:
    """Return the buffers of a string array."""
    texts = JsonTexts(
        np.frombuffer(offsets, np.uint8),
        offset_bits,
        NO_BYTES if data is None or not data.size else np.frombuffer(data, np.uint8),
        None if validity is None else np.frombuffer(validity, np.uint8),
    )
    num_bytes = texts.num_bytes
    if num_bytes > _MOST_BYTES:
        raise ResourceLimitError(f"JSON texts of one batch take {num_bytes} bytes: read fewer rows at once")
    buffers = pa.allocate_buffer(4 * (num_values + 1)), pa.allocate_buffer(num_bytes)
    texts.copy(*[np.frombuffer(one, np.uint8) if one.size else NO_BYTES for one in buffers])
    return buffers
