"""Fields put together to packed rows, and bits spread over whole bytes. Any mistake is the caller's: InternalError."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def join_rows(fields: Sequence[_Bytes], field_bytes: _Positions, num_rows: int, out: _Bytes) -> None:
    """Write rows of fields of fixed width, back to back: the inverse of `split_rows`.

    Parameters
    ----------
    fields
        For each field its values, back to back.
    field_bytes
        ``(num_fields,) int64``: bytes of a value, at least 1.

    Notes
    -----
    Source: CompressiveEncoding.PackedStruct; spec 5.9.
    """

def join_fields(
    fields: Sequence[_Bytes],
    field_bytes: _Positions,
    offsets: Sequence[_Positions | None],
    out_row_offsets: _Positions,
    out: _Bytes,
) -> None:
    """Write rows of which some fields have no fixed width: their bytes follow their length. Inverse of `locate_fields`.

    Parameters
    ----------
    field_bytes
        ``(num_fields,) int64``: bytes of a value, or minus the bytes of the length (4 or 8).
    offsets
        For each field without a fixed width ``(num_rows + 1,) int64``: where its values lie in its bytes.
    out_row_offsets
        ``(num_rows + 1,) int64``: becomes where each row begins, then where the last ends.

    Notes
    -----
    Source: CompressiveEncoding.VariablePackedStruct; spec 5.9.
    """

def spread_bits(bits: _Bytes, bit_offset: int, num_bits: int, bits_per_run: int, out: _Bytes) -> None:
    """Copy runs of bits, each to a byte border of its own; the last run may be shorter, bits after a run become 0."""
